// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/event_queue.h"

#include <algorithm>
#include <utility>

namespace oomw {

bool EventQueue::add(PodEvent event) {
  if (waiting_.size() >= kMax) {
    drop("queue_full");
    return false;
  }
  waiting_.push_back(std::move(event));
  return true;
}

void EventQueue::drop(const char* reason) { ++counts_[reason]; }

std::optional<PodEvent> EventQueue::take(MonotonicTime now) {
  if (waiting_.empty() || now < paused_until_ || !pace_.take(now)) return std::nullopt;
  PodEvent event = std::move(waiting_.front());
  waiting_.pop_front();
  return event;
}

std::optional<MonotonicTime> EventQueue::due(MonotonicTime now) const {
  if (waiting_.empty()) return std::nullopt;
  return std::max({now, pace_.next(), paused_until_});
}

void EventQueue::on_outcome(PodEvent event, const ApiOutcome& outcome, MonotonicTime now, double random) {
  ++tries_;
  // kConflict: the Event exists already, because the answer to an earlier try was lost.
  if (outcome.error == ApiError::kNone || outcome.error == ApiError::kConflict) {
    ++counts_["posted"];
    backoff_.reset();
  } else if (outcome.error == ApiError::kForbidden) {
    drop("forbidden");
    paused_until_ = now + kForbiddenPause;
  } else if (outcome.error == ApiError::kHttp || outcome.error == ApiError::kRedirect) {
    drop("refused");  // 403, 404: its namespace goes or is gone; 422: the server rejects it
  } else if (tries_ >= kMaxTries) {
    drop("given_up");
  } else {
    paused_until_ = now + std::max(backoff_.next(random), outcome.retry_after);
    waiting_.push_front(std::move(event));
    return;
  }
  tries_ = 0;
}

}  // namespace oomw
