// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"

namespace oomw {

// The wall clock beside one that nobody sets.
struct ClockReading {
  WallTime wall;
  Nanoseconds since_boot{};  // CLOCK_BOOTTIME: goes on while the machine is suspended
  std::string boot_id;       // readings of different boots compare by wall time only
};

// CLOCK_BOOTTIME now.
[[nodiscard]] Nanoseconds time_since_boot();

// Decides whether the wall clock may be believed where a wrong answer destroys something: a clock that is set 40 days
// ahead makes every file look old. Pure; for one thread.
//   - while the wall clock advances as CLOCK_BOOTTIME does, it is believed: 60 s and 0.1 % are allowed for steps and
//     slewing of NTP;
//   - a jump casts doubt on it until it has been steady for kSteady, across restarts as long as the machine runs;
//   - after a reboot, and when nothing is known, it is believed if it is at most kPlausibleGap ahead of the newest time
//     on disk, and not behind it.
class ClockSteadiness {
 public:
  static constexpr Nanoseconds kSteady = std::chrono::hours(24);
  static constexpr Nanoseconds kPlausibleGap = std::chrono::hours(24);

  struct State {
    ClockReading last;
    std::optional<Nanoseconds> doubted_since;  // by CLOCK_BOOTTIME of `last.boot_id`; nullopt: believed
  };

  explicit ClockSteadiness(std::optional<State> restored = std::nullopt) : state_(std::move(restored)) {}

  // Whether the wall clock may be believed. newest: the latest time that files carry, for when nothing is restored.
  bool observe(const ClockReading& now, std::optional<WallTime> newest);
  // By how much the wall clock moved against the other at the jump that observe() has just found; nullopt: none.
  [[nodiscard]] std::optional<Nanoseconds> new_jump() const { return new_jump_; }
  [[nodiscard]] const std::optional<State>& state() const { return state_; }

 private:
  [[nodiscard]] std::optional<Nanoseconds> jump_to(const ClockReading& now, std::optional<WallTime> newest) const;

  std::optional<State> state_;  // nullopt: nothing was observed yet
  std::optional<Nanoseconds> new_jump_;
};

}  // namespace oomw
