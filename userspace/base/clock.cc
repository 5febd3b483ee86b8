// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <cstdio>
#include <ctime>

namespace oomw {
namespace {

std::int64_t read_clock_ns(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return std::int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

// Exactly `digits` decimal digits at the front of text, taken off it; -1 otherwise.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

// ".123456789", absent = 0; -1 if malformed.
std::int64_t take_fraction(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t ns = 0;
  std::int64_t scale = kNanosecondsPerSecond;
  while (!text.empty() && text.front() != 'Z') {
    const int digit = take_number(text, 1);
    if (digit < 0 || scale == 1) return -1;
    scale /= 10;
    ns += digit * scale;
  }
  return scale == kNanosecondsPerSecond ? -1 : ns;
}

}  // namespace

MonotonicTime SystemClock::now() const { return {read_clock_ns(CLOCK_MONOTONIC)}; }
WallTime SystemClock::wall_now() const { return {read_clock_ns(CLOCK_REALTIME)}; }

std::string to_rfc3339(WallTime t) {
  std::int64_t seconds = t.ns / 1'000'000'000;
  std::int64_t fraction = t.ns % 1'000'000'000;
  if (fraction < 0) {
    fraction += 1'000'000'000;
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

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  std::tm tm{};
  tm.tm_year = take_number(text, 4) - 1900;
  bool ok = take(text, '-');
  tm.tm_mon = take_number(text, 2) - 1;
  ok = ok && take(text, '-');
  tm.tm_mday = take_number(text, 2);
  ok = ok && take(text, 'T');
  tm.tm_hour = take_number(text, 2);
  ok = ok && take(text, ':');
  tm.tm_min = take_number(text, 2);
  ok = ok && take(text, ':');
  tm.tm_sec = take_number(text, 2);
  const std::int64_t fraction = take_fraction(text);
  if (!ok || fraction < 0 || text != "Z") return std::nullopt;
  if (tm.tm_year < 70 || tm.tm_year > 361 || tm.tm_mon < 0 || tm.tm_mday < 1) return std::nullopt;
  const std::tm asked = tm;
  const std::int64_t seconds = ::timegm(&tm);  // normalises: 30 February becomes 2 March
  const bool exact = tm.tm_mon == asked.tm_mon && tm.tm_mday == asked.tm_mday && tm.tm_hour == asked.tm_hour &&
                     tm.tm_min == asked.tm_min && tm.tm_sec == asked.tm_sec;
  if (!exact) return std::nullopt;
  return WallTime{seconds * kNanosecondsPerSecond + fraction};
}

}  // namespace oomw
