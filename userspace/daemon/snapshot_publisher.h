// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/event_loop.h"
#include "export/metrics_snapshot.h"

namespace oomw {

// Hands the core's state to the HTTP pool as an immutable snapshot.
//   - request() (core thread): a kill must be visible at /metrics in < 100 ms, yet a storm must
//     not build a snapshot per event, so builds are at least kMinGap apart, and take a tenth of the
//     core thread's time at most (5 ms each with 1,000 containers), kMaxGap permitting;
//   - current() (any thread): never blocks for longer than a pointer copy.
class SnapshotPublisher {
 public:
  static constexpr Nanoseconds kMinGap = std::chrono::milliseconds(20);
  static constexpr Nanoseconds kMaxGap = std::chrono::milliseconds(80);
  using Build = std::function<MetricsSnapshot()>;

  SnapshotPublisher(EventLoop& loop, const Clock& clock, Build build);
  void request();
  void publish();  // now
  [[nodiscard]] std::shared_ptr<const MetricsSnapshot> current() const;

 private:
  EventLoop& loop_;
  const Clock& clock_;
  Build build_;
  MonotonicTime last_;
  Nanoseconds gap_ = kMinGap;
  bool is_armed_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const MetricsSnapshot> current_;
};

}  // namespace oomw
