// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "memory/byte_source.h"

namespace oomw {

// The memory of a live process through process_vm_readv: the process is not stopped and nothing is allocated in its
// cgroup, except that a swapped-out page is brought back.
// A /proc mounted elsewhere may show the numbers of another pid namespace, while system calls accept only ours; there
// the memory is read through PROC_ROOT/PID/mem.
class ProcessMemory final : public ByteSource {
 public:
  explicit ProcessMemory(int pid, const std::string& proc_root = "/proc");
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;

 private:
  [[nodiscard]] Result<std::size_t> read_file(std::uint64_t address, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::size_t> read_call(std::uint64_t address, std::span<std::byte> out) const;

  int pid_;
  bool is_by_file_;
  UniqueFd file_;  // invalid if it could not be opened: the process is gone
  int open_error_ = 0;
};

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

}  // namespace oomw
