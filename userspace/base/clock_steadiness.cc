// SPDX-License-Identifier: Apache-2.0
#include "base/clock_steadiness.h"

#include <ctime>

namespace oomw {
namespace {

constexpr Nanoseconds kTolerance = std::chrono::seconds(60);
constexpr int kDrift = 1'000;  // one part in so many

}  // namespace

Nanoseconds time_since_boot() {
  timespec now{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

bool ClockSteadiness::observe(const ClockReading& now, std::optional<WallTime> newest) {
  new_jump_ = jump_to(now, newest);
  std::optional<Nanoseconds> doubted_since = state_ ? state_->doubted_since : std::nullopt;
  const bool is_other_boot = state_ && state_->last.boot_id != now.boot_id;
  if (new_jump_ || (doubted_since && is_other_boot)) doubted_since = now.since_boot;
  if (doubted_since && now.since_boot - *doubted_since >= kSteady) doubted_since.reset();
  state_ = State{now, doubted_since};
  return !doubted_since;
}

std::optional<Nanoseconds> ClockSteadiness::jump_to(const ClockReading& now, std::optional<WallTime> newest) const {
  if (state_ && state_->last.boot_id == now.boot_id) {
    const Nanoseconds elapsed = now.since_boot - state_->last.since_boot;
    const Nanoseconds moved = Nanoseconds(now.wall.ns - state_->last.wall.ns) - elapsed;
    const bool is_steady = std::chrono::abs(moved) <= kTolerance + std::chrono::abs(elapsed) / kDrift;
    return is_steady ? std::nullopt : std::optional(moved);
  }
  const std::optional<WallTime> reference = state_ ? std::optional(state_->last.wall) : newest;
  if (!reference) return std::nullopt;
  const Nanoseconds gap(now.wall.ns - reference->ns);
  return gap > kPlausibleGap || gap < -kTolerance ? std::optional(gap) : std::nullopt;
}

}  // namespace oomw
