// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot_publisher.h"

#include <algorithm>
#include <utility>

namespace oomw {

SnapshotPublisher::SnapshotPublisher(EventLoop& loop, const Clock& clock, Build build)
    : loop_(loop), clock_(clock), build_(std::move(build)), current_(std::make_shared<MetricsSnapshot>()) {}

void SnapshotPublisher::request() {
  if (is_armed_) return;
  const Nanoseconds since = clock_.now() - last_;
  if (since >= gap_) return publish();
  is_armed_ = true;
  (void)loop_.add_once(gap_ - since, [this] { publish(); });
}

void SnapshotPublisher::publish() {
  is_armed_ = false;
  last_ = clock_.now();
  auto next = std::make_shared<const MetricsSnapshot>(build_());
  gap_ = std::clamp(10 * (clock_.now() - last_), kMinGap, kMaxGap);
  const std::lock_guard lock(mutex_);
  current_ = std::move(next);
}

std::shared_ptr<const MetricsSnapshot> SnapshotPublisher::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

}  // namespace oomw
