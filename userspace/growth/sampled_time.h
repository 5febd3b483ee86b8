// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/clock.h"

namespace oomw {

// How long a process has been sampled: ms from its first sample on, without the rests between bursts. Pure.
class SampledTime {
 public:
  // Of a sample. One that was taken before a rest may come after rest(), so its time is held to before it.
  std::uint32_t at(MonotonicTime sample) {
    if (!since_) since_ = sample;
    const MonotonicTime end = rested_ ? std::min(sample, *rested_) : sample;
    const auto ms = (before_ + std::max(end - *since_, Nanoseconds(0))) / std::chrono::milliseconds(1);
    return static_cast<std::uint32_t>(std::min<std::int64_t>(ms, std::numeric_limits<std::uint32_t>::max()));
  }
  void rest(MonotonicTime now) {
    if (!rested_) rested_ = now;
  }
  // Nothing happens where it does not rest.
  void resume(MonotonicTime now) {
    if (!rested_) return;
    if (since_) before_ += std::max(*rested_ - *since_, Nanoseconds(0)), since_ = now;
    rested_.reset();
  }

 private:
  std::optional<MonotonicTime> since_, rested_;  // of this burst
  Nanoseconds before_{0};                        // in earlier bursts
};

}  // namespace oomw
