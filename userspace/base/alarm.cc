// SPDX-License-Identifier: Apache-2.0
#include "base/alarm.h"

#include <algorithm>
#include <utility>

namespace oomw {

Alarm::Alarm(EventLoop& loop, const Clock& clock, EventLoop::Task task)
    : loop_(loop), clock_(clock), task_(std::move(task)) {}

Alarm::~Alarm() { loop_.remove(timer_); }

void Alarm::ring_by(MonotonicTime time) {
  if (set_for_ && *set_for_ <= time) return;
  loop_.remove(timer_);
  set_for_ = time;
  timer_ = loop_.add_once(std::max(time - clock_.now(), Nanoseconds(0)), [this] { ring(); });
}

void Alarm::ring() {
  set_for_.reset();
  task_();
}

}  // namespace oomw
