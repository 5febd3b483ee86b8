// SPDX-License-Identifier: Apache-2.0
#include "daemon/step_queue.h"

#include <utility>

#include "base/result.h"

namespace oomw {

void StepQueue::push(Event event) {
  if (waiting_.size() >= kMax) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(event));
}

// A step inside a step is a bug: the outer one would continue with iterators and facts that the inner one changed.
void StepQueue::run() {
  OOMW_CHECK(!std::exchange(is_running_, true));
  for (; !waiting_.empty(); waiting_.pop_front()) step_(waiting_.front());
  is_running_ = false;
}

void StepQueue::run_and_settle() {
  do {
    run();
    is_running_ = true;
    settle_();
    is_running_ = false;
  } while (!waiting_.empty());
}

}  // namespace oomw
