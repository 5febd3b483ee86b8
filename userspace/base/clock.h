// SPDX-License-Identifier: Apache-2.0
// Two clocks, two types. Everything inside runs on CLOCK_MONOTONIC, the clock of the kernel's
// events. Wall time appears only in what people see and in files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace oomw {

using Nanoseconds = std::chrono::nanoseconds;

// CLOCK_MONOTONIC, nanoseconds.
struct MonotonicTime {
  std::int64_t ns = 0;
  friend auto operator<=>(const MonotonicTime&, const MonotonicTime&) = default;
  friend MonotonicTime operator+(MonotonicTime t, Nanoseconds d) { return {t.ns + d.count()}; }
  friend MonotonicTime operator-(MonotonicTime t, Nanoseconds d) { return {t.ns - d.count()}; }
  friend Nanoseconds operator-(MonotonicTime a, MonotonicTime b) { return Nanoseconds(a.ns - b.ns); }
};

// CLOCK_REALTIME, nanoseconds since 1970-01-01T00:00:00Z.
struct WallTime {
  std::int64_t ns = 0;
  friend auto operator<=>(const WallTime&, const WallTime&) = default;
};

// Rounds up to a multiple of `step`: everything due within one step costs one wake-up. For times from 0 on.
[[nodiscard]] inline MonotonicTime round_up(MonotonicTime t, Nanoseconds step) {
  return {(t.ns + step.count() - 1) / step.count() * step.count()};
}

[[nodiscard]] inline double to_seconds(Nanoseconds d) { return static_cast<double>(d.count()) / 1e9; }

// Thread-safe. Virtual so that replay and tests can own time.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual MonotonicTime now() const = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  // The wall time of a monotonic instant, by the present offset between the clocks.
  [[nodiscard]] WallTime wall_of(MonotonicTime t) const { return {wall_now().ns - (now().ns - t.ns)}; }
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override;
  [[nodiscard]] WallTime wall_now() const override;
};

// "2026-11-21T03:04:05.123456789Z"
[[nodiscard]] std::string to_rfc3339(WallTime t);
[[nodiscard]] std::string to_rfc3339_seconds(WallTime t);  // "2026-11-21T03:04:05Z"
// 0 to 9 decimals, years 1970 to 2261; nullopt otherwise.
[[nodiscard]] std::optional<WallTime> parse_rfc3339(std::string_view text);

// "45 s", "12 min", "3 h", "4 d": one unit, rounded down; never negative.
[[nodiscard]] std::string human_duration(Nanoseconds duration);
// "4 min ago", "just now", "3 d ago"; a time in the future is "just now".
[[nodiscard]] std::string age_text(WallTime time, WallTime now);

}  // namespace oomw
