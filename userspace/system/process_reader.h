// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/event.h"
#include "system/cgroup_fs.h"

namespace oomw {

struct MappedMemory {
  std::uint64_t virtual_bytes = 0, resident_bytes = 0;
};

// Readers of /proc/PID. Stateless; any thread; a vanished pid is kNotFound.
class ProcessReader {
 public:
  explicit ProcessReader(std::string proc_root = "/proc") : proc_root_(std::move(proc_root)) {}

  [[nodiscard]] Result<ProcessKey> key_of(std::int32_t pid) const;         // reads stat
  [[nodiscard]] Result<std::int32_t> group_of(std::int32_t thread) const;  // the process it is a thread of
  // Everything of ProcessSeen but cgroup, cmdline and go, read through one /proc/PID dir fd so that a recycled
  // pid cannot mix two processes. Kernel threads: kUnsupported. None of its files takes the process's mmap_lock.
  [[nodiscard]] Result<ProcessSeen> read(std::int32_t pid, MonotonicTime now) const;
  // The same, and cmdline and go, which lie in the process's memory: this may take for ever. See ArgumentReader.
  [[nodiscard]] Result<ProcessSeen> read_with_arguments(std::int32_t pid, MonotonicTime now) const;
  // Of statm, which takes no lock of the process's memory. kNotFound also where another process has the pid now.
  [[nodiscard]] Result<MappedMemory> memory_of(ProcessKey process) const;
  [[nodiscard]] Result<std::string> memory_cgroup_path(std::int32_t pid, const CgroupFs& cgroups) const;
  [[nodiscard]] std::vector<std::int32_t> list(std::size_t max) const;  // all thread group leaders
  [[nodiscard]] const std::string& root() const { return proc_root_; }

 private:
  std::string proc_root_;
};

}  // namespace oomw
