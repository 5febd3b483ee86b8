// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>

#include "base/result.h"

namespace oomw {

// The address space of this process: 60 to 100 MiB of libraries for a small program, most of it never touched.
[[nodiscard]] Result<std::uint64_t> own_address_space();

// While it lives, this process gets at most so much memory more than it has; beyond that allocations fail, and the
// program ends with a message that says what for. For programs that read one foreign file. One at a time.
class MemoryLimit {
 public:
  MemoryLimit(std::uint64_t more_bytes, const char* what);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  std::optional<rlimit> before_;  // none: no limit could be set
};

}  // namespace oomw
