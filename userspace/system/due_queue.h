// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/alarm.h"

namespace oomw {

// Tasks that run a little later, many of them on one timer of the loop.
//   - bounded: when max_size tasks wait, push() returns false and dropped() grows;
//   - deadlines are rounded up to kSlot, so that a burst of execs costs one wake-up;
//   - tasks that wait at destruction never run. Owner thread of the loop only.
class DueQueue {
 public:
  static constexpr Nanoseconds kSlot = std::chrono::milliseconds(10);

  DueQueue(EventLoop& loop, const Clock& clock, std::size_t max_size);
  DueQueue(const DueQueue&) = delete;
  DueQueue& operator=(const DueQueue&) = delete;

  bool push(Nanoseconds delay, std::function<void()> task);
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }

 private:
  void arm();
  void run_due();

  const Clock& clock_;
  std::size_t max_size_;
  std::uint64_t dropped_ = 0;
  std::multimap<MonotonicTime, std::function<void()>> tasks_;
  Alarm alarm_;
};

}  // namespace oomw
