// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "base/clock.h"
#include "events/ids.h"

namespace oomw {

// The victims already reported, so that each counts once: two sources (BPF, kernel log) report the same kill, and the
// kernel marks a victim again if it is still exiting at the next OOM.
//   - one process is one (pid, start_ticks); a report without start_ticks is the same process as
//     any report of that pid within kPidOnlyWindow;
//   - bounded: the next add() drops entries older than kMemory, and at most kMax stay.
class VictimSet {
 public:
  // Two reports of one kill are milliseconds apart; pids are reused after minutes at the earliest. It applies in both
  // directions: a kill that the kernel log reports afterwards may be hours older than one of the same pid.
  static constexpr Nanoseconds kPidOnlyWindow = std::chrono::seconds(60);
  static constexpr Nanoseconds kMemory = std::chrono::minutes(10);
  static constexpr std::size_t kMax = 65'536;

  // True if it was new.
  bool add(ProcessKey victim, MonotonicTime now);
  [[nodiscard]] bool contains(ProcessKey victim, MonotonicTime now) const;
  [[nodiscard]] std::size_t size() const { return by_key_.size(); }

 private:
  void expire(MonotonicTime now);
  std::map<ProcessKey, MonotonicTime> by_key_;
  std::deque<std::pair<MonotonicTime, ProcessKey>> by_age_;
};

}  // namespace oomw
