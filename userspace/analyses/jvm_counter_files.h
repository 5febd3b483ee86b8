// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/ids.h"

namespace oomw {

// "JVMC"; every kind of job differs.
inline constexpr std::uint32_t kReadJvmCountersJob = 0x434d564a;

// Runs in the reader. files: that of one JVM's counters. The answer is a HeapAnalysed (analysis_wire.h) with the
// figures, and a note of them for people. kNotFound: none are known.
[[nodiscard]] Result<std::string> read_jvm_counters_job(std::string_view parameters, std::span<const UniqueFd> files);

// The files in which JVMs publish their counters (/tmp/hsperfdata_USER/PID), held open while their containers are near
// a limit: a killed JVM leaves its last values in there, although the name is gone with the container.
//   - One process of each cgroup, the largest when it was looked at. Its file is 32 KiB of the container's page cache,
//     which stays as long as it is held.
//   - At most kMaxCgroups, of which kMaxFiles with a file; the oldest makes room, and its file is counted.
// Any thread.
class JvmCounterFiles {
 public:
  static constexpr std::size_t kMaxCgroups = 256, kMaxFiles = 64;
  static constexpr std::size_t kMaxMaps = 2u << 20;
  static constexpr Nanoseconds kPatience = std::chrono::seconds(10);  // a kill is reported after the process's end

  // Whether a process of this cgroup was looked at that still lives.
  [[nodiscard]] bool knows(CgroupId cgroup) const;
  // Remembers the process, with its file if it is a JVM that has one. Reads its maps; a file on a file system that
  // hangs blocks the caller.
  void open(const std::string& proc_root, CgroupId cgroup, ProcessKey process);
  // Once; invalid: none is held. start_ticks 0: not known.
  [[nodiscard]] UniqueFd take(ProcessKey process);
  // Drops those of processes that ended a while ago.
  void forget_gone(MonotonicTime now);
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  struct Held {
    CgroupId cgroup;
    ProcessKey process;
    UniqueFd file;
    MonotonicTime gone_since;  // 0: it lives
  };
  void make_room(bool for_file);

  mutable std::mutex mutex_;
  std::vector<Held> held_;  // oldest first
  std::uint64_t dropped_ = 0;
};

}  // namespace oomw
