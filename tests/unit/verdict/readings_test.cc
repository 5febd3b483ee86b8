// SPDX-License-Identifier: Apache-2.0
#include "verdict/readings.h"

#include <gtest/gtest.h>

#include "support/builders.h"

namespace oomw {
namespace {

using test::before_kill;
using test::sample_incident;

TEST(Readings, value_lies_on_the_line_between_two_and_is_the_nearest_beyond_them) {
  const Readings readings = {{20, 100}, {10, 300}, {10, 400}, {0, 200}};
  EXPECT_EQ(value_at(readings, 30), 100);
  EXPECT_EQ(value_at(readings, 20), 100);
  EXPECT_EQ(value_at(readings, 15), 200);
  EXPECT_EQ(value_at(readings, 5), 300);
  EXPECT_EQ(value_at(readings, 0), 200);
  EXPECT_EQ(value_at(readings, -1), 200);
}

Incident with_series(std::vector<Incident::Point> series) {
  Incident incident = sample_incident();
  incident.series = std::move(series);
  incident.usage_bytes = 200;
  incident.victims[0].rss->anon_bytes = 0;
  return incident;
}

TEST(Readings, what_can_be_reclaimed_is_left_out_and_taken_as_last_read_at_the_end) {
  const Readings readings = memory_readings(with_series({{before_kill(9'000), 100, 60},
                                                         {before_kill(8'000), 150, {}},
                                                         {before_kill(5'000), 140, 110},
                                                         {before_kill(2'000), 160, {}},
                                                         {before_kill(-1'000), 500, 500}}));
  ASSERT_EQ(readings.size(), 4u);
  EXPECT_EQ(readings[0].bytes, 60);
  EXPECT_EQ(readings[1].bytes, 110);
  EXPECT_EQ(readings[2].bytes, 130);
  EXPECT_EQ(readings[3].bytes, 170);  // at the kill: 200 used, 30 of it reclaimable
  EXPECT_EQ(readings[3].seconds, 0);
}

TEST(Readings, usage_is_all_there_is_where_nothing_told_of_reclaimable_memory) {
  const Readings readings =
      memory_readings(with_series({{before_kill(9'000), 100, {}}, {before_kill(2'000), 150, {}}}));
  ASSERT_EQ(readings.size(), 3u);
  EXPECT_EQ(readings[1].bytes, 150);
}

TEST(Readings, an_ancestors_usage_is_not_the_containers) {
  Incident incident = with_series({{before_kill(9'000), 100, 60}});
  incident.scope = "ancestor";
  EXPECT_EQ(memory_readings(incident).size(), 1u);
}

TEST(Readings, holder_is_the_one_victim_with_most_of_the_memory) {
  Incident incident = with_series({});
  incident.victims.resize(1);
  incident.victim_count = 1;
  incident.victims[0].started = before_kill(7'000);
  incident.victims[0].rss->anon_bytes = 150;
  EXPECT_EQ(start_of_holder(incident), 7);
  incident.victims[0].rss->anon_bytes = 50;
  EXPECT_FALSE(start_of_holder(incident));
  incident.victims[0].rss->anon_bytes = 150;
  incident.victim_count = 2;
  EXPECT_FALSE(start_of_holder(incident));
}

}  // namespace
}  // namespace oomw
