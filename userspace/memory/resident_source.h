// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "memory/byte_source.h"

namespace oomw {

// Of a process's memory, only the anonymous pages that it has in memory or in swap. A page of a file, or one that was
// never touched, may belong to a file system or a userfaultfd that never answers, and no signal ends the process that
// reads it. The page map is asked right before each read, so what is left is the moment between the two.
// Without a page map everything is read. Borrows memory and descriptor; any thread, one at a time.
class ResidentSource final : public ByteSource {
 public:
  enum class Absent {
    kZeros,    // what an untouched page holds: for searches
    kNothing,  // as memory that is not mapped: for data that must be there
  };

  // page_map_fd: /proc/PID/pagemap of the same process; -1: this kernel has none. pid: whose, for VictimMarks; 0 where
  // that is not known.
  ResidentSource(const ByteSource& memory, int page_map_fd, Absent absent, int pid = 0)
      : memory_(memory), page_map_(page_map_fd), absent_(absent), pid_(pid) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;

 private:
  [[nodiscard]] Result<std::size_t> read_pages(std::uint64_t address, std::span<std::byte> out,
                                               std::span<const std::uint64_t> entries) const;

  const ByteSource& memory_;
  const int page_map_;
  const Absent absent_;
  const int pid_;
};

}  // namespace oomw
