// SPDX-License-Identifier: Apache-2.0
#include "report/usage_plot.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "unit/incident/golden.h"
#include "unit/incident/sample_incident.h"

namespace oomw {
namespace {

// A sawtooth, a pause without readings, then straight to the limit.
Incident climbing_incident() {
  Incident incident = testing::sample_incident();
  incident.limit_bytes = incident.usage_bytes = 200'000'000;
  incident.series.clear();
  for (std::int64_t i = 0; i < 30; ++i) {
    const auto usage = static_cast<std::uint64_t>(40'000'000 + (i % 6) * 10'000'000);
    incident.series.push_back({testing::before_kill(30'000 - i * 500), usage, usage});
  }
  for (std::int64_t i = 0; i < 20; ++i) {
    const auto usage = static_cast<std::uint64_t>(100'000'000 + i * 5'000'000);
    incident.series.push_back({testing::before_kill(8'000 - i * 400), usage, usage});
  }
  return incident;
}

TEST(UsagePlot, known_climb_looks_as_agreed) {
  testing::expect_golden("usage_plot.txt", usage_plot(climbing_incident()));
}

TEST(UsagePlot, usage_above_the_limit_stays_in_the_picture) {
  Incident incident = climbing_incident();
  incident.limit_bytes = 50'000'000;
  EXPECT_EQ(split(usage_plot(incident), '\n').size(), split(usage_plot(climbing_incident()), '\n').size());
}

TEST(UsagePlot, readings_after_the_kill_do_not_count) {
  Incident incident = climbing_incident();
  const std::string before = usage_plot(incident);
  incident.series.push_back({testing::before_kill(-1'000), 1, 1});
  EXPECT_EQ(usage_plot(incident), before);
}

TEST(UsagePlot, too_few_readings_or_no_limit_are_no_plot) {
  Incident incident = climbing_incident();
  incident.limit_bytes.reset();
  EXPECT_EQ(usage_plot(incident), "");
  incident = climbing_incident();
  incident.series.resize(2);
  EXPECT_EQ(usage_plot(incident), "");
}

TEST(UsagePlot, readings_of_one_moment_are_no_plot) {
  Incident incident = climbing_incident();
  for (Incident::Point& point : incident.series) point.time = incident.time;
  EXPECT_EQ(usage_plot(incident), "");
}

}  // namespace
}  // namespace oomw
