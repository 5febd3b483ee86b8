// SPDX-License-Identifier: Apache-2.0
#include "system/due_queue.h"

#include <utility>

namespace oomw {

DueQueue::DueQueue(EventLoop& loop, const Clock& clock, std::size_t max_size)
    : clock_(clock), max_size_(max_size), alarm_(loop, clock, [this] { run_due(); }) {}

bool DueQueue::push(Nanoseconds delay, std::function<void()> task) {
  if (tasks_.size() >= max_size_) {
    ++dropped_;
    return false;
  }
  tasks_.emplace(round_up(clock_.now() + delay, kSlot), std::move(task));
  arm();
  return true;
}

void DueQueue::arm() {
  if (!tasks_.empty()) alarm_.ring_by(tasks_.begin()->first);
}

// Each task is removed before it runs, because it may push more.
void DueQueue::run_due() {
  const MonotonicTime now = clock_.now();
  while (!tasks_.empty() && tasks_.begin()->first <= now) {
    auto node = tasks_.extract(tasks_.begin());
    node.mapped()();
  }
  arm();
}

}  // namespace oomw
