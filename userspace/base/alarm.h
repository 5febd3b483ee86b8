// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/event_loop.h"

namespace oomw {

// One timer for whatever is due next, however often that changes: add_once() at each change would leave
// the timers of before behind, each of which sets the next again (1,000 kills: a million timers run).
// The task asks for what is due and sets the alarm anew. Owner thread of the loop, which outlives it.
class Alarm {
 public:
  Alarm(EventLoop& loop, const Clock& clock, EventLoop::Task task);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Rings then, at once if that is past; where it is to ring earlier already, then and not again.
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
