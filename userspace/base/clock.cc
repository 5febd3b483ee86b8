// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {
namespace {

std::int64_t read_clock_ns(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// The fraction in "Z", ".5Z" or ".123456789Z".
std::optional<std::uint64_t> nanoseconds_of(std::string_view fraction) {
  constexpr std::size_t kDigits = 9;
  if (fraction == "Z") return 0;
  if (fraction.size() < 3 || fraction.size() > kDigits + 2) return std::nullopt;
  if (!fraction.starts_with('.') || !fraction.ends_with('Z')) return std::nullopt;
  std::string digits(fraction.substr(1, fraction.size() - 2));
  digits.resize(kDigits, '0');
  return parse_u64(digits);
}

}  // namespace

MonotonicTime SystemClock::now() const { return {read_clock_ns(CLOCK_MONOTONIC)}; }
WallTime SystemClock::wall_now() const { return {read_clock_ns(CLOCK_REALTIME)}; }

std::string to_rfc3339(WallTime t) {
  std::int64_t seconds = t.ns / kNanosecondsPerSecond;
  std::int64_t fraction = t.ns % kNanosecondsPerSecond;
  if (fraction < 0) {
    fraction += kNanosecondsPerSecond;
    --seconds;
  }
  const time_t as_time_t = seconds;
  tm utc{};
  gmtime_r(&as_time_t, &utc);
  char buffer[80];
  std::snprintf(buffer, sizeof(buffer), "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", utc.tm_year + 1900, utc.tm_mon + 1,
                utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, static_cast<long long>(fraction));
  return buffer;
}

std::string to_rfc3339_seconds(WallTime t) { return to_rfc3339(t).substr(0, 19) + "Z"; }

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  constexpr std::size_t kWhole = std::string_view("2026-11-21T03:04:05").size();
  if (text.size() <= kWhole) return std::nullopt;
  const std::string whole(text.substr(0, kWhole));
  const auto fraction = nanoseconds_of(text.substr(kWhole));
  std::tm tm{};
  const char* end = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &tm);
  if (!fraction || end != whole.c_str() + kWhole || tm.tm_year < 70 || tm.tm_year > 361) return std::nullopt;
  const WallTime seconds{::timegm(&tm) * kNanosecondsPerSecond};
  // strptime() accepts white space and single digits, timegm() 30 February: all of these would print differently.
  if (to_rfc3339(seconds).substr(0, kWhole) != whole) return std::nullopt;
  return WallTime{seconds.ns + static_cast<std::int64_t>(*fraction)};
}

std::string human_duration(Nanoseconds duration) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  const std::int64_t seconds = std::max<std::int64_t>(duration.count() / 1'000'000'000, 0);
  if (seconds < 2 * kMinute) return fmt::format("{} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{} min", seconds / kMinute);
  return seconds < 2 * kDay ? fmt::format("{} h", seconds / kHour) : fmt::format("{} d", seconds / kDay);
}

std::string age_text(WallTime time, WallTime now) {
  const Nanoseconds age(now.ns - time.ns);
  return age < std::chrono::seconds(5) ? "just now" : human_duration(age) + " ago";
}

}  // namespace oomw
