// SPDX-License-Identifier: Apache-2.0
// Which captures belong to a kill, and what is kept of them.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::HasSubstr;

using CorrelatorCapturesTest = PodCorrelatorFixture;

TEST_F(CorrelatorCapturesTest, capture_before_the_kill_belongs_with_its_lead) {
  apply(capture(400));
  const Incident incident = killed_at_limit();
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
  EXPECT_TRUE(killed_at_limit().captures.empty());
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
  EXPECT_TRUE(killed_at_limit().captures.empty());
}

TEST_F(CorrelatorCapturesTest, capture_of_the_next_life_does_not_belong) {
  EXPECT_TRUE(killed_at_limit().captures.empty());
  apply(seen(30, 1500, 2));
  CaptureFinished next = capture(1600);
  next.process = {30, 1500};
  apply(next);
  EXPECT_TRUE(take(1700).empty());
}

TEST_F(CorrelatorCapturesTest, capture_under_way_at_the_kill_belongs) {
  (void)killed_at_limit();
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
  const Incident incident = killed_at_limit();
  ASSERT_EQ(incident.captures.size(), 8u);
  EXPECT_EQ(incident.captures.front().method, "live");
  EXPECT_EQ(incident.captures.back().spool_file, "19-http.pb.gz");
}

TEST_F(CorrelatorCapturesTest, first_profile_of_a_victim_is_kept_to_compare_the_last_with) {
  for (int i = 0; i < 20; ++i) apply(capture(10 + i, i));
  const Incident incident = killed_at_limit();
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
  const Incident incident = killed_at_limit();
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
  EXPECT_THAT(killed_at_limit().notes, Contains(HasSubstr("no watermark crossing was seen in time")));
}

TEST_F(CorrelatorCapturesTest, capture_that_lands_after_the_kill_amends_the_same_incident) {
  const Incident first = killed_at_limit();
  apply(capture(1100));
  EXPECT_EQ(correlator_.next_due(), at_ms(1120));
  const Incident again = take_one(1120);
  EXPECT_EQ(again.id, first.id);
  ASSERT_EQ(again.captures.size(), 1u);
  EXPECT_LT(again.captures[0].lead_seconds, 0);
}

TEST_F(CorrelatorCapturesTest, amendment_when_the_wall_clock_stepped_keeps_id_and_time) {
  const Incident first = killed_at_limit();
  apply(capture(1100));
  const auto again = correlator_.take_ready(at_ms(1200), model_, kWallOffset + 3'600'000'000'000);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, first.id);
  EXPECT_EQ(again[0].time, first.time);
}

TEST_F(CorrelatorCapturesTest, capture_after_the_amend_window_changes_nothing) {
  (void)killed_at_limit();
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

TEST_F(CorrelatorCapturesTest, a_profile_keeps_the_name_that_it_was_given_first) {
  apply(capture(400, 1));
  const Incident first = killed_at_limit();
  EXPECT_EQ(first.captures.at(0).file, "capture-01-http.pb.gz");
  CaptureFinished earlier = capture(300, 2);  // it came late, and is listed before the other
  apply(earlier);
  const Incident later = take_one(1100);
  ASSERT_EQ(later.captures.size(), 2u);
  EXPECT_EQ(later.captures[0].file, "capture-02-http.pb.gz");
  EXPECT_EQ(later.captures[1].file, "capture-01-http.pb.gz");
}

TEST_F(CorrelatorCapturesTest, a_file_that_could_not_be_placed_is_taken_back_by_one_revision) {
  apply(capture(400));
  const Incident first = killed_at_limit();
  const FilesUnplaced unplaced{at_ms(1010), first.id, {{"capture-01-http.pb.gz", "the spool dropped it"}}};
  apply(unplaced);
  const Incident revision = take_one(1100);
  EXPECT_EQ(revision.id, first.id);
  EXPECT_EQ(revision.captures.at(0).file, "");
  EXPECT_EQ(revision.captures.at(0).spool_file, "");
  EXPECT_THAT(revision.notes, Contains("captures.file: a profile could not be kept: the spool dropped it"));
  EXPECT_TRUE(take(2000).empty());
  apply(FilesUnplaced{at_ms(2000), "20261121T030405Z-00000000", unplaced.files});
  EXPECT_TRUE(take(3000).empty()) << "of no open incident";
}

const CollectorComponent kOtlp{"receiver", "otlp", "go.opentelemetry.io/collector/receiver/otlpreceiver", 300, 0.75};

TEST_F(CorrelatorCapturesTest, components_are_those_of_the_best_profile_with_their_growth_since_the_first) {
  CaptureFinished early = capture(400, 1), last = capture(900, 2);
  early.components = {kOtlp};
  early.components[0].held_bytes = 100;
  last.components = {kOtlp, {"processor", "batch", "m", 5, 0.1}};
  apply(early);
  apply(last);
  const Incident incident = killed_at_limit();
  ASSERT_TRUE(incident.collector && incident.collector->components);
  EXPECT_EQ(incident.collector->components_file, "capture-02-http.pb.gz");
  EXPECT_EQ(incident.collector->components_since_file, "capture-01-http.pb.gz");
  ASSERT_EQ(incident.collector->components->size(), 2u);
  EXPECT_EQ(incident.collector->components->at(0).growth_bytes, 200);
  EXPECT_EQ(incident.collector->components->at(1).growth_bytes, 5) << "it held nothing then";
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("| receiver otlp | 300 B | 75.0 % | +200 B |"));
}

TEST_F(CorrelatorCapturesTest, components_of_another_series_have_no_growth_and_those_of_a_lesser_profile_count_not) {
  CaptureFinished early = capture(400, 1), last = capture(900, 2);
  early.components = last.components = {kOtlp};
  last.method = CaptureMethod::kLive;
  apply(early);
  apply(last);
  EXPECT_EQ(killed_at_limit().collector->components->at(0).growth_bytes, std::nullopt);

  CaptureFinished plain = capture(950, 3);
  plain.method = CaptureMethod::kLive;
  apply(plain);
  EXPECT_FALSE(take_one(1100).collector.has_value());
}

TEST_F(CorrelatorCapturesTest, growth_goes_back_to_the_baseline_of_the_trend) {
  CaptureFinished last = capture(900, 2);
  last.method = CaptureMethod::kLive;
  last.components = {kOtlp};
  apply(last);
  apply(killed(10, 5, 2, 2, 1000));
  TrendJudged trend;
  trend.time = at_ms(1002);
  trend.process = {10, 5};
  trend.points = {{at_ms(100), "scheduled", 1, true, true, 20, 20, "trend-01.pb.gz", "1-trend.pb.gz"}};
  trend.components = {kOtlp};
  trend.components[0].held_bytes = 20;
  apply(trend);
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.collector->components_since_file, "trend-01.pb.gz");
  EXPECT_EQ(incident.collector->components->at(0).growth_bytes, 280);
}

}  // namespace
}  // namespace oomw
