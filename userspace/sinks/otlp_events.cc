// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_events.h"

#include <algorithm>
#include <utility>

namespace oomw {
namespace {

constexpr Nanoseconds kMostWait = std::chrono::minutes(1);

}  // namespace

OtlpEvents::OtlpEvents(bool is_json, Post post, std::shared_ptr<std::atomic<bool>> stopping, Nanoseconds first_wait)
    : is_json_(is_json), post_(std::move(post)), stopping_(std::move(stopping)), first_wait_(first_wait) {}

OtlpEvents::~OtlpEvents() {
  thread_.close();
  const std::lock_guard lock(mutex_);
  *stopping_ = true;
  stopped_.notify_all();
}

void OtlpEvents::offer(OtlpRecord record) {
  if (thread_.post([this, record = std::move(record)] { send(record); })) return;
  const std::lock_guard lock(mutex_);
  ++stats_.dropped["full"];
}

OtlpEvents::Stats OtlpEvents::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void OtlpEvents::send(const OtlpRecord& record) {
  const std::string body = is_json_ ? to_otlp_json(record) : to_otlp_protobuf(record);
  Nanoseconds wait = first_wait_;
  for (unsigned tries = 1; !*stopping_; ++tries) {
    const Delivery delivery = post_(body);
    if (*stopping_) return;  // given up because this ends
    if (delivery.outcome != Delivery::Outcome::kRetry || tries == kMaxTries) return count(delivery);
    rest(std::max(wait, delivery.retry_after));
    wait = std::min(wait * 2, kMostWait);
  }
}

void OtlpEvents::count(const Delivery& delivery) {
  const std::lock_guard lock(mutex_);
  if (delivery.outcome == Delivery::Outcome::kSent) {
    ++stats_.sent;
  } else {
    ++stats_.dropped[std::string(to_string(delivery.reason))];
  }
}

void OtlpEvents::rest(Nanoseconds wait) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, wait, [this] { return stopping_->load(); });
}

}  // namespace oomw
