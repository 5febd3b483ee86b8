// SPDX-License-Identifier: Apache-2.0
// Which captures belong to a kill, and what is kept of them.
#include "correlate/correlator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;

class CorrelatorCapturesTest : public PodCorrelatorFixture {};

TEST_F(CorrelatorCapturesTest, capture_before_the_kill_belongs_with_its_lead) {
  apply(capture(400));
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.captures.size(), 1u);
  EXPECT_DOUBLE_EQ(incident.captures[0].lead_seconds, 0.6);
  EXPECT_DOUBLE_EQ(incident.captures[0].duration_seconds, 0.004);
  EXPECT_EQ(incident.captures[0].spool_file, "1-http.pb.gz");
  EXPECT_DOUBLE_EQ(*incident.coverage_ratio, 0.5);
  EXPECT_EQ(incident.coverage_method, "http");
}

TEST_F(CorrelatorCapturesTest, capture_of_a_neighbour_container_does_not_belong) {
  CaptureFinished other = capture(400);
  other.cgroup = {4};
  other.process = {20, 5};
  apply(other);
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).captures.empty());
}

TEST_F(CorrelatorCapturesTest, capture_at_the_ancestors_limit_belongs_when_that_limit_was_hit) {
  CaptureFinished pod = capture(400);
  pod.cgroup = {1};
  pod.process = {20, 5};
  apply(pod);
  apply(killed(10, 5, 2, 1, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.captures.size(), 1u);
  EXPECT_FALSE(incident.coverage_ratio.has_value());  // not a victim's
}

TEST_F(CorrelatorCapturesTest, capture_of_a_process_that_died_before_does_not_belong) {
  apply(seen(30, 5, 2));
  CaptureFinished earlier = capture(100);
  earlier.process = {30, 5};
  apply(earlier);
  apply(exited(30, 5, 500));
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).captures.empty());
}

TEST_F(CorrelatorCapturesTest, capture_of_the_next_life_does_not_belong) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).captures.empty());
  apply(seen(30, 1500, 2));
  CaptureFinished next = capture(1600);
  next.process = {30, 1500};
  apply(next);
  EXPECT_TRUE(take(1700).empty());
}

TEST_F(CorrelatorCapturesTest, capture_under_way_at_the_kill_belongs) {
  apply(killed(10, 5, 2, 2, 1000));
  (void)take_one(1005);
  apply(seen(11, 5, 2));
  CaptureFinished sibling = capture(1010);
  sibling.process = {11, 5};
  sibling.started = at_ms(990);
  apply(sibling);
  EXPECT_EQ(take_one(1100).captures.size(), 1u);
}

TEST_F(CorrelatorCapturesTest, capture_older_than_lookback_does_not_belong) {
  apply(capture(0));
  apply(killed(10, 5, 2, 2, 31 * 60'000));
  EXPECT_TRUE(take_one(31 * 60'000 + 5).captures.empty());
}

TEST_F(CorrelatorCapturesTest, captures_when_many_keep_the_newest_and_the_best_of_each_method) {
  CaptureFinished live = capture(1, 100);
  live.method = CaptureMethod::kLive;
  apply(live);
  for (int i = 0; i < 20; ++i) apply(capture(10 + i, i));
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.captures.size(), 8u);
  EXPECT_EQ(incident.captures.front().method, "live");
  EXPECT_EQ(incident.captures.back().spool_file, "19-http.pb.gz");
}

TEST_F(CorrelatorCapturesTest, first_profile_of_a_victim_is_kept_to_compare_the_last_with) {
  for (int i = 0; i < 20; ++i) apply(capture(10 + i, i));
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.captures.size(), 8u);
  EXPECT_EQ(incident.captures.front().spool_file, "0-http.pb.gz");
  EXPECT_EQ(incident.captures[1].spool_file, "13-http.pb.gz");
}

TEST_F(CorrelatorCapturesTest, walks_of_every_victim_are_kept_and_coverage_is_over_all) {
  for (int i = 0; i < 12; ++i) apply(capture(990 - i, 100 + static_cast<std::uint64_t>(i)));
  for (std::int32_t pid = 10; pid < 22; ++pid) {
    OomKill kill = killed(pid, 5, 2, 2, 1000);
    kill.trigger_pid = 10;
    apply(kill);
    CaptureFinished walk = capture(1003, static_cast<std::uint64_t>(pid));
    walk.started = at_ms(1002);
    walk.process = {pid, 5};
    walk.method = CaptureMethod::kAtKill;
    walk.inuse_bytes = 150 * kMiB;  // of 200 that each victim held
    apply(walk);
  }
  const Incident incident = take_one(1010);
  EXPECT_EQ(std::count_if(incident.captures.begin(), incident.captures.end(),
                          [](const IncidentCapture& c) { return c.method == "at_kill"; }),
            12);
  ASSERT_EQ(incident.victims.size(), 12u);
  EXPECT_DOUBLE_EQ(incident.coverage_ratio.value_or(0), 0.75);
  EXPECT_EQ(incident.coverage_method, "at_kill");
}

TEST_F(CorrelatorCapturesTest, profile_that_claims_more_than_the_victim_held_is_not_believed) {
  CaptureFinished walk = capture(1002, 2);
  walk.method = CaptureMethod::kAtKill;
  walk.inuse_bytes = 28'000 * kMiB;
  apply(killed(10, 5, 2, 2, 1000));
  apply(walk);
  const Incident incident = take_one(1010);
  EXPECT_FALSE(incident.coverage_ratio.has_value());
  EXPECT_EQ(incident.coverage_method, "");
  EXPECT_THAT(incident.notes, Contains(HasSubstr("claims 140.0 times")));
}

TEST_F(CorrelatorCapturesTest, whole_live_read_is_better_than_a_walk_that_ended_early) {
  CaptureFinished live = capture(990, 1);
  live.method = CaptureMethod::kLive;
  CaptureFinished walk = capture(1002, 2);
  walk.method = CaptureMethod::kAtKill;
  walk.complete = false;
  walk.reason = CaptureReason::kFault;
  walk.inuse_bytes = 10 * kMiB;
  apply(live);
  apply(killed(10, 5, 2, 2, 1000));
  apply(walk);
  const Incident incident = take_one(1010);
  EXPECT_EQ(incident.coverage_method, "live");
  EXPECT_DOUBLE_EQ(incident.coverage_ratio.value_or(0), 0.5);
}

TEST_F(CorrelatorCapturesTest, failed_attempts_are_listed_and_explained) {
  apply(refused(400, CaptureReason::kNoEndpoint));
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.captures.size(), 1u);
  EXPECT_EQ(incident.captures[0].reason, "no_endpoint");
  EXPECT_THAT(incident.notes, Contains(HasSubstr("captures: no heap profile before the kill: no_endpoint")));
}

TEST_F(CorrelatorCapturesTest, repeated_refusals_leave_room_for_profiles) {
  apply(capture(1, 1));
  for (int i = 0; i < 5'000; ++i) apply(refused(2 + i, CaptureReason::kCooldown, i));
  apply(killed(10, 5, 2, 2, 6'000));
  const Incident incident = take_one(6'005);
  EXPECT_EQ(incident.captures.size(), 2u);
  EXPECT_EQ(incident.captures[0].result, "ok");
}

TEST_F(CorrelatorCapturesTest, no_capture_at_all_is_explained_by_the_missing_crossing) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_THAT(take_one(1005).notes, Contains(HasSubstr("no watermark crossing was seen in time")));
}

TEST_F(CorrelatorCapturesTest, capture_that_lands_after_the_kill_amends_the_same_incident) {
  apply(killed(10, 5, 2, 2, 1000));
  const Incident first = take_one(1005);
  apply(capture(1100));
  EXPECT_EQ(correlator_.next_due(), at_ms(1120));
  const Incident again = take_one(1120);
  EXPECT_EQ(again.id, first.id);
  ASSERT_EQ(again.captures.size(), 1u);
  EXPECT_LT(again.captures[0].lead_seconds, 0);
}

TEST_F(CorrelatorCapturesTest, amendment_when_the_wall_clock_stepped_keeps_id_and_time) {
  apply(killed(10, 5, 2, 2, 1000));
  const Incident first = take_one(1005);
  apply(capture(1100));
  const auto again = correlator_.take_ready(at_ms(1200), model_, kWallOffset + 3'600'000'000'000);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, first.id);
  EXPECT_EQ(again[0].time, first.time);
}

TEST_F(CorrelatorCapturesTest, capture_after_the_amend_window_changes_nothing) {
  apply(killed(10, 5, 2, 2, 1000));
  (void)take_one(1005);
  (void)take(6'001);
  apply(capture(6'002));
  EXPECT_TRUE(take(7'000).empty());
  EXPECT_TRUE(take(46'001).empty());
  EXPECT_FALSE(correlator_.next_due().has_value());
}

TEST_F(CorrelatorCapturesTest, windows_of_kills_of_one_second_end_with_one_wake_up) {
  apply(killed(10, 5, 2, 2, 1100));
  apply(killed(20, 5, 4, 4, 1300));
  EXPECT_EQ(take(1400).size(), 2u);
  EXPECT_EQ(correlator_.next_due(), at_ms(7'000));
  EXPECT_TRUE(take(7'000).empty());
  EXPECT_EQ(correlator_.next_due(), at_ms(47'000));
  EXPECT_TRUE(take(47'000).empty());
  EXPECT_FALSE(correlator_.next_due().has_value());
}

}  // namespace
}  // namespace oomw
