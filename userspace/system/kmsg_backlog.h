// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "system/kmsg_source.h"

namespace oomw {

// The kernel log's figures for the cgroup whose limit was hit.
struct KmsgMemory {
  std::uint64_t usage_bytes = 0;
  std::uint64_t limit_bytes = 0;
};

// One kill, with the stamp of its "Killed process" line. The log has a clock of its own: see
// measure_log_clock().
struct LoggedKill {
  Nanoseconds stamp{};
  KmsgKill kill;
  std::optional<KmsgMemory> memory;  // none: rate-limited, a group's further victim, or node-wide
};

struct KmsgBacklog {
  std::deque<LoggedKill> kills;      // oldest first
  std::optional<Nanoseconds> reach;  // stamp of the oldest record that the kernel still has
  std::uint64_t lost = 0;            // gaps, kills beyond the bound, and the rest of a log that is too long
};

// Kills from records of /dev/kmsg, oldest first. Pure. Keeps at most the newest kMaxKills.
class KmsgBacklogParser {
 public:
  static constexpr std::size_t kMaxKills = 4'096;

  void on_record(std::string_view record);
  void on_gap();  // the kernel overwrote records before they were read
  // The log continues but is not read any further.
  void on_cut() { ++backlog_.lost; }
  [[nodiscard]] KmsgBacklog take() { return std::move(backlog_); }

 private:
  void add(LoggedKill kill);

  KmsgJoiner joiner_;
  std::optional<KmsgMemory> memory_;  // of the decision whose other lines are still to come
  KmsgBacklog backlog_;
};

// Reads all that `path` holds now, without waiting for more. For a worker: 1 us per record where it is fast, and at
// most kMaxBacklogRecords or kMaxBacklogTime.
inline constexpr std::size_t kMaxBacklogRecords = 1'000'000;  // 64 MiB of log, the largest that kernels are built with
inline constexpr Nanoseconds kMaxBacklogTime = std::chrono::seconds(5);
[[nodiscard]] Result<KmsgBacklog> read_kmsg_backlog(const std::string& path, const Clock& clock);

// "memory: usage 65536kB, limit 65536kB, failcnt 24"; nullopt = another line.
[[nodiscard]] std::optional<KmsgMemory> parse_kmsg_memory(std::string_view message);
// "priority,sequence,microseconds,..."
[[nodiscard]] std::optional<Nanoseconds> stamp_of_record(std::string_view record);

}  // namespace oomw
