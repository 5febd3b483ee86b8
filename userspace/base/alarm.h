// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/event_loop.h"

namespace oomw {

// One timer for whatever is due next, however often that changes. With add_once() at each change, the earlier timers
// would stay and each would set the next one again (1,000 kills: a million timers run).
// The task determines what is due and sets the alarm again. Owner thread of the loop, which outlives the alarm.
class Alarm {
 public:
  Alarm(EventLoop& loop, const Clock& clock, EventLoop::Task task);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Rings at `time`, at once if that is past. If the alarm is already set for earlier, it rings only then.
  void ring_by(MonotonicTime time);

 private:
  void ring();

  EventLoop& loop_;
  const Clock& clock_;
  EventLoop::Task task_;
  WatchId timer_;
  std::optional<MonotonicTime> set_for_;
};

}  // namespace oomw
