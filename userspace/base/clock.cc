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

}  // namespace oomw
