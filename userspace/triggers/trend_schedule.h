// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/clock.h"
#include "events/ids.h"

namespace oomw {

struct TrendScheduleConfig {
  Nanoseconds min_interval = std::chrono::seconds(10);
  Nanoseconds max_interval = std::chrono::minutes(10);
  // A reading each eighth of a process's age: as many in its first hour as in the ten after it.
  double age_share = 1.0 / 8;
  // Of one core, for all processes together; the bar is 0.001, and the first round comes on top. Each gets an equal
  // part and is read the less often the more a reading of it takes, max_interval permitting.
  double max_core_share = 0.0007;
  std::size_t max_due = 4;  // at one call, that is a second
};

// When to read which Go process for its trend. Pure: the same calls give the same schedule; jitter (a
// tenth) comes from the pid, so that a hundred replicas started at once are not read at once.
// Core thread.
class TrendSchedule {
 public:
  struct Process {
    ProcessKey key;
    MonotonicTime started;
  };

  explicit TrendSchedule(TrendScheduleConfig config) : config_(config) {}

  // All that can be read now: new ones join, missing ones leave.
  void set_processes(const std::vector<Process>& processes, MonotonicTime now);
  // Whom to read now, the longest overdue first, at most max_due. Each is under way until
  // done(), or given up after twice the longest interval.
  [[nodiscard]] std::vector<ProcessKey> take_due(MonotonicTime now);
  // The reading of it ended, whatever came of it; `cost` is the CPU time that it took.
  void done(ProcessKey process, Nanoseconds cost, MonotonicTime now);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    MonotonicTime started;
    MonotonicTime due;  // while a reading is under way: when it must have been lost
  };
  [[nodiscard]] Nanoseconds interval(const Entry& entry, Nanoseconds cost, MonotonicTime now) const;

  const TrendScheduleConfig config_;
  std::map<ProcessKey, Entry> entries_;
};

}  // namespace oomw
