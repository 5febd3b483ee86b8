// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "memory/byte_source.h"
#include "process/target_process.h"

namespace oomw {

// The memory of a process through its open /proc/PID/mem. Unlike a pid, the descriptor belongs to one address space:
// after an exec or the end of the process every read gives nothing. Borrows the descriptor.
class MemorySource final : public ByteSource {
 public:
  // pid: whose memory it is, for VictimMarks; 0 where that is not known.
  explicit MemorySource(int fd, int pid = 0) : fd_(fd), pid_(pid) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;

 private:
  int fd_, pid_;
};

// The memory of a living process as open files, which belong to one execution of one program: after an exec or the end
// of the process reads give nothing.
struct OpenMemory {
  UniqueFd memory;    // /proc/PID/mem
  UniqueFd page_map;  // /proc/PID/pagemap; none on kernels without it
  int pid = 0;        // for VictimMarks; 0: not known

  // Reads no memory. kNotFound: the process has been chosen by the OOM killer.
  [[nodiscard]] static Result<OpenMemory> open(const TargetProcess& process);
};

}  // namespace oomw
