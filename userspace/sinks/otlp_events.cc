// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_events.h"

#include <algorithm>
#include <utility>

#include "base/thread_setup.h"

namespace oomw {
namespace {

constexpr Nanoseconds kMostWait = std::chrono::minutes(1);

}  // namespace

OtlpEvents::OtlpEvents(bool is_json, Post post, std::shared_ptr<std::atomic<bool>> stopping, Nanoseconds first_wait)
    : is_json_(is_json),
      post_(std::move(post)),
      stopping_(std::move(stopping)),
      first_wait_(first_wait),
      thread_([this] { run(); }) {}

OtlpEvents::~OtlpEvents() {
  {
    const std::lock_guard lock(mutex_);
    *stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void OtlpEvents::offer(OtlpRecord record) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMax) {
      ++stats_.dropped["full"];
      return;
    }
    waiting_.push_back(std::move(record));
  }
  changed_.notify_all();
}

OtlpEvents::Stats OtlpEvents::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void OtlpEvents::run() {
  set_up_thread("oomw-events");
  while (true) {
    OtlpRecord record;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return *stopping_ || !waiting_.empty(); });
      if (*stopping_) return;
      record = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (!send(record)) return;
  }
}

// False: this ends.
bool OtlpEvents::send(const OtlpRecord& record) {
  const std::string body = is_json_ ? to_otlp_json(record) : to_otlp_protobuf(record);
  Nanoseconds wait = first_wait_;
  for (unsigned tries = 1;; ++tries) {
    const Delivery delivery = post_(body);
    if (*stopping_) return false;
    const bool is_final = delivery.outcome != Delivery::Outcome::kRetry || tries == kMaxTries;
    if (is_final) {
      const std::lock_guard lock(mutex_);
      if (delivery.outcome == Delivery::Outcome::kSent) {
        ++stats_.sent;
      } else {
        ++stats_.dropped[std::string(to_string(delivery.reason))];
      }
      return true;
    }
    if (!rest(std::max(wait, delivery.retry_after))) return false;
    wait = std::min(wait * 2, kMostWait);
  }
}

bool OtlpEvents::rest(Nanoseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return stopping_->load(); });
  return !*stopping_;
}

}  // namespace oomw
