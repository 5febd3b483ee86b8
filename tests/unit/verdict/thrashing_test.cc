// SPDX-License-Identifier: Apache-2.0
// A Python program whose own code was reclaimed and read again until it was killed. The figures are those of a real
// one: 63.7 s, the last 27 of them above 90 % of 96 MiB, 115,464 reclaims of 7.35 GB, 16.5 s in them.
#include "verdict/thrashing.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "verdict/verdict.h"

namespace oomw {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr double kFullAfter = 36;

double climb(double second) { return std::min(12 + 2.2 * second, 95.8); }  // 90 % after 34 s

Incident thrashed(const std::function<double(double)>& mebibytes_at) {
  Incident incident = test::grown(mebibytes_at, 64);
  incident.reclaim = ReclaimSampled{{}, incident.cgroup, 115'464, 51'703, 7'350'358'016, 16'519'947'265};
  return incident;
}

std::string judged_cause(const Incident& incident) {
  return judge_incident(incident).value_or(IncidentVerdict{}).cause;
}

TEST(Thrashing, a_leak_is_judged_by_the_time_before_it) {
  Incident incident = thrashed(climb);
  EXPECT_THAT(thrashing_seconds(incident), Optional(DoubleNear(30, 1)));
  const IncidentVerdict verdict = judge_incident(incident).value_or(IncidentVerdict{});
  EXPECT_EQ(verdict.cause, "leak");
  EXPECT_THAT(verdict.why, Contains(HasSubstr("it was full and was thrashing: in its life its threads waited 17 s for "
                                              "reclaim, which took back 6.85 GiB")));
  EXPECT_THAT(verdict.why.at(0), HasSubstr("as of 30 s before the kill"));
  EXPECT_THAT(verdict.also, Contains(Field(&Finding::cause, "undersized"))) << "what all of the time looks like";
  incident.reclaim.reset();
  EXPECT_EQ(judged_cause(incident), "undersized") << "nothing tells it from one that needs so much";
}

TEST(Thrashing, what_filled_the_memory_in_seconds_is_still_a_spike) {
  const auto sudden = [](double second) {
    return second < kFullAfter ? 40.0 : std::min(40 + 28 * (second - 36), 95.8);
  };
  Incident incident = thrashed(sudden);
  EXPECT_EQ(judged_cause(incident), "spike");
  incident.reclaim.reset();
  EXPECT_NE(judged_cause(incident), "spike");
}

TEST(Thrashing, what_stood_still_before_it_is_no_leak) {
  EXPECT_NE(judged_cause(
                thrashed([](double second) { return second < kFullAfter ? std::min(12 + 6 * second, 84.0) : 95.8; })),
            "leak");
}

// 1,000 reads a second: 1.0 s of reclaim in 6.4 s.
TEST(Thrashing, on_a_slow_disk_is_known_by_what_was_read_again) {
  const auto changed = [](const std::function<void(Incident&)>& change) {
    Incident incident = thrashed(climb);
    incident.reclaim->stall_ns = 1'000'000'000;
    incident.memory_stat["workingset_refault_file"] = 406'708;
    change(incident);
    return thrashing_seconds(incident);
  };
  EXPECT_NE(changed([](Incident&) {}), std::nullopt);
  EXPECT_EQ(changed([](Incident& i) { i.memory_stat["workingset_refault_file"] = 20'000; }), std::nullopt)
      << "less than fits into the limit";
  EXPECT_EQ(changed([](Incident& i) { i.memory_stat.erase("workingset_refault_file"); }), std::nullopt);
  EXPECT_EQ(changed([](Incident& i) { i.series.front().usage_bytes = 95u << 20; }), std::nullopt)
      << "its page cache had filled the limit before";
  EXPECT_EQ(changed([](Incident& i) { i.victims.front().started = test::before_kill(90'000); }), std::nullopt)
      << "nothing is known of its beginning";
}

TEST(Thrashing, explains_nothing_where_the_time_before_it_does_not) {
  Incident incident = thrashed(climb);
  std::erase_if(incident.series, [&](const Incident::Point& point) {
    return point.usage_bytes < 85u << 20 && point.time > incident.series.front().time;
  });
  ASSERT_NE(thrashing_seconds(incident), std::nullopt);
  EXPECT_EQ(judged_cause(incident), "undersized") << "a few readings are no shape";
}

TEST(Thrashing, leaves_what_is_known_of_one_moment_where_it_is) {
  Incident incident = thrashed(climb);
  incident.contents_trend.emplace().points.resize(2);
  incident.contents_trend->points[0].time = test::before_kill(40'000);
  incident.contents_trend->points[1].time = test::before_kill(20'000);
  const Incident before = killed_before(incident, 30);
  EXPECT_EQ(before.time, test::before_kill(30'000));
  EXPECT_LE(before.series.back().time, before.time);
  EXPECT_EQ(before.contents_trend->points.size(), 1u);
  EXPECT_EQ(before.usage_bytes, incident.usage_bytes);
}

TEST(Thrashing, takes_more_than_little_reclaim_or_a_long_time_near_the_limit) {
  const auto changed = [](const std::function<void(Incident&)>& change) {
    Incident incident = thrashed(climb);
    change(incident);
    return thrashing_seconds(incident);
  };
  EXPECT_NE(changed([](Incident&) {}), std::nullopt);
  EXPECT_EQ(changed([](Incident& i) { i.reclaim->reclaimed_bytes = 90u << 20; }), std::nullopt) << "each page once";
  EXPECT_EQ(changed([](Incident& i) { i.reclaim->stall_ns = 7'000'000'000; }), std::nullopt) << "it ran for most of it";
  EXPECT_EQ(changed([](Incident& i) { i.scope = "ancestor"; }), std::nullopt) << "another's limit";
  EXPECT_EQ(changed([](Incident& i) { i.limit_bytes.reset(); }), std::nullopt);
  EXPECT_EQ(changed([](Incident& i) { i.series.clear(); }), std::nullopt);
  EXPECT_EQ(
      changed([](Incident& i) { std::erase_if(i.series, [](const auto& p) { return p.usage_bytes < 80u << 20; }); }),
      std::nullopt)
      << "of the time before it nothing is known";
  EXPECT_EQ(changed([](Incident& i) { i.victims.front().started = test::before_kill(35'000); }), std::nullopt)
      << "the readings before are another process's";
  EXPECT_EQ(thrashing_seconds(thrashed([](double) { return 80.0; })), std::nullopt) << "it was never full";
}

}  // namespace
}  // namespace oomw
