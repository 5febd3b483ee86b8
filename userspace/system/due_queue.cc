// SPDX-License-Identifier: Apache-2.0
#include "system/due_queue.h"

#include <algorithm>
#include <utility>

namespace oomw {
namespace {

MonotonicTime next_slot(MonotonicTime time) {
  constexpr std::int64_t kSlotNs = DueQueue::kSlot.count();
  return {(time.ns + kSlotNs - 1) / kSlotNs * kSlotNs};
}

}  // namespace

DueQueue::DueQueue(EventLoop& loop, const Clock& clock, std::size_t max_size)
    : loop_(loop), clock_(clock), max_size_(max_size) {}

DueQueue::~DueQueue() { loop_.remove(timer_); }

bool DueQueue::push(Nanoseconds delay, std::function<void()> task) {
  if (tasks_.size() >= max_size_) {
    ++dropped_;
    return false;
  }
  tasks_.emplace(next_slot(clock_.now() + delay), std::move(task));
  arm();
  return true;
}

void DueQueue::arm() {
  if (tasks_.empty()) return;
  const MonotonicTime first = tasks_.begin()->first;
  if (armed_for_ && *armed_for_ <= first) return;
  loop_.remove(timer_);
  armed_for_ = first;
  timer_ = loop_.add_once(std::max(first - clock_.now(), Nanoseconds(0)), [this] { run_due(); });
}

// Each task is taken out before it runs: it may push more.
void DueQueue::run_due() {
  armed_for_.reset();
  const MonotonicTime now = clock_.now();
  while (!tasks_.empty() && tasks_.begin()->first <= now) {
    auto node = tasks_.extract(tasks_.begin());
    node.mapped()();
  }
  arm();
}

}  // namespace oomw
