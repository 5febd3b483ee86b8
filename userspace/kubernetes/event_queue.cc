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

void EventQueue::refill(MonotonicTime now) {
  if (tokens_ >= kBurst) refilled_at_ = now;
  while (tokens_ < kBurst && now - refilled_at_ >= kEvery) {
    ++tokens_;
    refilled_at_ = refilled_at_ + kEvery;
  }
}

std::optional<PodEvent> EventQueue::take(MonotonicTime now) {
  refill(now);
  if (waiting_.empty() || tokens_ == 0 || now < paused_until_) return std::nullopt;
  --tokens_;
  PodEvent event = std::move(waiting_.front());
  waiting_.pop_front();
  return event;
}

std::optional<MonotonicTime> EventQueue::due(MonotonicTime now) const {
  if (waiting_.empty()) return std::nullopt;
  const MonotonicTime by_pace = tokens_ > 0 ? now : refilled_at_ + kEvery;
  return std::max(by_pace, paused_until_);
}

void EventQueue::on_outcome(PodEvent event, const ApiOutcome& outcome, MonotonicTime now, double random) {
  ++tries_;
  // There already: an answer to the first try was lost.
  if (outcome.error == ApiError::kNone || outcome.error == ApiError::kConflict) {
    ++counts_["posted"];
    backoff_.reset();
  } else if (outcome.error == ApiError::kForbidden) {
    drop("forbidden");
    paused_until_ = now + kForbiddenPause;
  } else if (outcome.error == ApiError::kHttp || outcome.error == ApiError::kRedirect) {
    drop("refused");  // 404: its namespace is gone; 422: the server does not like it
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
