// SPDX-License-Identifier: Apache-2.0
#include "daemon/step_queue.h"

#include <utility>

#include "base/result.h"

namespace oomw {

// A step inside a step is a bug: the outer one would go on with iterators and facts that the inner one changed.
class StepQueue::Running {
 public:
  explicit Running(StepQueue& queue) : queue_(queue) {
    OOMW_CHECK(!queue.is_running_);
    queue.is_running_ = true;
  }
  ~Running() { queue_.is_running_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  StepQueue& queue_;
};

void StepQueue::push(Event event) {
  if (waiting_.size() >= kMax) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(event));
}

void StepQueue::run() {
  const Running running(*this);
  while (!waiting_.empty()) {
    const Event event = std::move(waiting_.front());
    waiting_.pop_front();
    step_(event);
  }
}

void StepQueue::run_and_settle() {
  do {
    run();
    const Running running(*this);
    settle_();
  } while (!waiting_.empty());
}

}  // namespace oomw
