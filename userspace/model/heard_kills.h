// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "events/event.h"

namespace oomw {

// A kill that is in the ledger's counts.
struct HeardKill {
  std::int32_t pid = 0;
  MonotonicTime time;
  bool is_written = false;  // its incident was seen on disk
};

// How far an earlier run of this boot came: it had counted every kill up to `until`, and of later kills those listed.
// A listed kill that is not written may lack its incident.
struct HeardUntil {
  MonotonicTime until;
  std::vector<HeardKill> kills;
};

// What is still to be done about a kill.
enum class KillStanding { kNew, kCounted, kDone };

// The tolerance between two clocks: the log's and CLOCK_MONOTONIC drift apart, and the log is stamped a moment later.
// `now` is when the difference of the two clocks was measured.
[[nodiscard]] Nanoseconds slack_of(MonotonicTime kill, MonotonicTime now);
// A kill within the slack before `until` is new unless it is listed: there the list decides, not the time.
[[nodiscard]] KillStanding standing_of(std::int32_t pid, MonotonicTime time, const HeardUntil& heard,
                                       Nanoseconds slack);

// The newest kills that this run has counted, for the ledger. At most kMax. Pure, core thread.
class HeardKills {
 public:
  static constexpr std::size_t kMax = 4'096;
  // More than the slack of a start within ten hours, see slack_of().
  static constexpr Nanoseconds kKept = std::chrono::seconds(10);

  // Keeps the previous run's list: its listed kills must stay distinguishable from the unlisted ones.
  void restore(const std::vector<HeardKill>& kills) { kills_.assign(kills.begin(), kills.end()); }
  void add(const HeardKill& kill);  // a known kill is replaced
  // An incident of these victims, killed between from and to, is on disk; it has further victims if not `is_all`.
  void on_written(const std::set<std::int32_t>& pids, bool is_all, MonotonicTime from, MonotonicTime to);
  // The kills since kKept before `until`, and all that are not written.
  [[nodiscard]] std::vector<HeardKill> recent(MonotonicTime until) const;

 private:
  std::deque<HeardKill> kills_;  // in the order of counting
};

}  // namespace oomw
