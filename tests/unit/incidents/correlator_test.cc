// SPDX-License-Identifier: Apache-2.0
#include "incidents/correlator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/incidents/correlator_fixture.h"

namespace oomw {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;

// pod 1 > container 2 > nested 3, and container 4 beside it; process 10 lives in 2.
class CorrelatorTest : public CorrelatorFixture {
 protected:
  CorrelatorTest()
      : CorrelatorFixture({created(1, 0, "/pod"), created(2, 1, "/pod/web"), created(3, 2, "/pod/web/nested"),
                           created(4, 1, "/pod/db"), identified(2, std::string(64, 'a'), "web"),
                           identified(4, std::string(64, 'b'), "db"), seen(10, 5, 2), seen(20, 5, 4)}) {}
  Incident take_one(std::int64_t ms) {
    std::vector<Incident> ready = take(ms);
    EXPECT_EQ(ready.size(), 1u);
    return ready.empty() ? Incident{} : ready.front();
  }
  static CaptureFinished capture(std::int64_t ms, std::uint64_t id = 1) {
    CaptureFinished e;
    e.time = at_ms(ms);
    e.started = at_ms(ms - 4);
    e.capture_id = id;
    e.cgroup = {2};
    e.process = {10, 5};
    e.trigger = "watermark_90";
    e.result = CaptureResult::kOk;
    e.inuse_bytes = 100 * kMiB;
    e.complete = true;
    e.spool_file = std::to_string(id) + "-http.pb.gz";
    return e;
  }
  static CaptureFinished refused(std::int64_t ms, const std::string& reason, std::uint64_t id = 1) {
    CaptureFinished e = capture(ms, id);
    e.result = CaptureResult::kFailed;
    e.reason = reason;
    e.spool_file = "";
    e.inuse_bytes.reset();
    return e;
  }
};

TEST_F(CorrelatorTest, kill_when_settled_becomes_one_incident) {
  EXPECT_FALSE(correlator_.next_due().has_value());
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take(1004).empty());
  EXPECT_EQ(correlator_.next_due(), at_ms(1005));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.scope, "container");
  EXPECT_EQ(incident.container.name, "web");
  EXPECT_EQ(incident.cgroup_path, "/pod/web");
  EXPECT_EQ(incident.time.ns, at_ms(1000).ns + kWallOffset);
  EXPECT_EQ(incident.limit_owner_cgroup_path, "/pod/web");
  EXPECT_TRUE(take(1006).empty());
}

TEST_F(CorrelatorTest, victim_is_completed_from_what_was_read_while_it_lived) {
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.victims.size(), 1u);
  EXPECT_EQ(incident.victims[0].exe, "/usr/bin/leaky");
  EXPECT_EQ(incident.victims[0].cmdline, "leaky --fast");
  EXPECT_EQ(incident.victims[0].rss->anon_bytes, 200 * kMiB);
  EXPECT_EQ(incident.victims[0].started->ns, 5 * 10'000'000 + kWallOffset);
}

TEST_F(CorrelatorTest, id_when_replayed_is_the_same) {
  apply(killed(10, 5, 2, 2, 1000));
  const std::string first = take_one(1005).id;
  Correlator again{CorrelatorConfig{}};
  again.apply(killed(10, 5, 2, 2, 1000), model_);
  EXPECT_EQ(again.take_ready(at_ms(1005), model_, kWallOffset).at(0).id, first);
  EXPECT_EQ(first.size(), 25u);
}

TEST_F(CorrelatorTest, second_report_of_a_victim_is_ignored_but_fills_gaps) {
  OomKill poor = killed(10, 5, 2, 2, 1000);
  poor.victim_rss.reset();
  EXPECT_TRUE(correlator_.is_new_victim(poor));
  apply(poor);
  OomKill from_log = killed(10, 0, 2, 2, 1001);
  EXPECT_FALSE(correlator_.is_new_victim(from_log));
  apply(from_log);
  const Incident incident = take_one(1010);
  ASSERT_EQ(incident.victims.size(), 1u);
  EXPECT_EQ(incident.victims[0].rss->anon_bytes, 200 * kMiB);
}

TEST_F(CorrelatorTest, group_kill_is_one_incident_with_all_victims) {
  for (std::int32_t pid = 10; pid < 15; ++pid) {
    OomKill kill = killed(pid, 5, 2, 2, 1000 + pid);
    kill.trigger_pid = 10;
    apply(kill);
  }
  EXPECT_EQ(take_one(1030).victims.size(), 5u);
}

TEST_F(CorrelatorTest, group_kill_of_thousands_is_bounded_and_says_so) {
  for (std::int32_t pid = 1000; pid < 2000; ++pid) {
    OomKill kill = killed(pid, 5, 2, 2, 1000);
    kill.trigger_pid = 10;
    apply(kill);
  }
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.victims.size(), KillEvidence::kMaxVictims);
  EXPECT_THAT(incident.notes, Contains(HasSubstr("744 more were killed")));
}

TEST_F(CorrelatorTest, kills_of_two_owners_at_once_are_two_incidents) {
  apply(killed(10, 5, 2, 2, 1000));
  apply(killed(20, 5, 4, 4, 1000));
  const auto ready = take(1005);
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_NE(ready[0].id, ready[1].id);
  EXPECT_EQ(ready[1].container.name, "db");
}

TEST_F(CorrelatorTest, kills_of_one_owner_by_another_trigger_or_later_are_two_incidents) {
  apply(killed(10, 5, 2, 2, 1000));
  apply(killed(11, 5, 2, 2, 1001));  // its own trigger
  OomKill later = killed(12, 5, 2, 2, 1020);
  later.trigger_pid = 10;
  apply(later);
  EXPECT_EQ(take(1030).size(), 3u);
}

TEST_F(CorrelatorTest, capture_before_the_kill_belongs_with_its_lead) {
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

TEST_F(CorrelatorTest, capture_of_a_neighbour_container_does_not_belong) {
  CaptureFinished other = capture(400);
  other.cgroup = {4};
  other.process = {20, 5};
  apply(other);
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).captures.empty());
}

TEST_F(CorrelatorTest, capture_at_the_ancestors_limit_belongs_when_that_limit_was_hit) {
  CaptureFinished pod = capture(400);
  pod.cgroup = {1};
  pod.process = {20, 5};
  apply(pod);
  apply(killed(10, 5, 2, 1, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.captures.size(), 1u);
  EXPECT_FALSE(incident.coverage_ratio.has_value());  // not a victim's
}

TEST_F(CorrelatorTest, capture_of_a_process_that_died_before_does_not_belong) {
  apply(seen(30, 5, 2));
  CaptureFinished earlier = capture(100);
  earlier.process = {30, 5};
  apply(earlier);
  apply(exited(30, 5, 500));
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).captures.empty());
}

TEST_F(CorrelatorTest, capture_of_the_next_life_does_not_belong) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).captures.empty());
  apply(seen(30, 1500, 2));
  CaptureFinished next = capture(1600);
  next.process = {30, 1500};
  apply(next);
  EXPECT_TRUE(take(1700).empty());
}

TEST_F(CorrelatorTest, capture_under_way_at_the_kill_belongs) {
  apply(killed(10, 5, 2, 2, 1000));
  (void)take_one(1005);
  apply(seen(11, 5, 2));
  CaptureFinished sibling = capture(1010);
  sibling.process = {11, 5};
  sibling.started = at_ms(990);
  apply(sibling);
  EXPECT_EQ(take_one(1100).captures.size(), 1u);
}

TEST_F(CorrelatorTest, capture_older_than_lookback_does_not_belong) {
  apply(capture(0));
  apply(killed(10, 5, 2, 2, 31 * 60'000));
  EXPECT_TRUE(take_one(31 * 60'000 + 5).captures.empty());
}

TEST_F(CorrelatorTest, captures_when_many_keep_the_newest_and_the_best_of_each_method) {
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

TEST_F(CorrelatorTest, walks_of_every_victim_are_kept_and_coverage_is_over_all) {
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

TEST_F(CorrelatorTest, profile_that_claims_more_than_the_victim_held_is_not_believed) {
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

TEST_F(CorrelatorTest, whole_live_read_is_better_than_a_walk_that_ended_early) {
  CaptureFinished live = capture(990, 1);
  live.method = CaptureMethod::kLive;
  CaptureFinished walk = capture(1002, 2);
  walk.method = CaptureMethod::kAtKill;
  walk.complete = false;
  walk.reason = "fault";
  walk.inuse_bytes = 10 * kMiB;
  apply(live);
  apply(killed(10, 5, 2, 2, 1000));
  apply(walk);
  const Incident incident = take_one(1010);
  EXPECT_EQ(incident.coverage_method, "live");
  EXPECT_DOUBLE_EQ(incident.coverage_ratio.value_or(0), 0.5);
}

TEST_F(CorrelatorTest, failed_attempts_are_listed_and_explained) {
  apply(refused(400, "no_endpoint"));
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.captures.size(), 1u);
  EXPECT_EQ(incident.captures[0].reason, "no_endpoint");
  EXPECT_THAT(incident.notes, Contains(HasSubstr("captures: no heap profile before the kill: no_endpoint")));
}

TEST_F(CorrelatorTest, repeated_refusals_leave_room_for_profiles) {
  apply(capture(1, 1));
  for (int i = 0; i < 5'000; ++i) apply(refused(2 + i, "cooldown", i));
  apply(killed(10, 5, 2, 2, 6'000));
  const Incident incident = take_one(6'005);
  EXPECT_EQ(incident.captures.size(), 2u);
  EXPECT_EQ(incident.captures[0].result, "ok");
}

TEST_F(CorrelatorTest, no_capture_at_all_is_explained_by_the_missing_crossing) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_THAT(take_one(1005).notes, Contains(HasSubstr("no watermark crossing was seen in time")));
}

TEST_F(CorrelatorTest, capture_that_lands_after_the_kill_amends_the_same_incident) {
  apply(killed(10, 5, 2, 2, 1000));
  const Incident first = take_one(1005);
  apply(capture(1100));
  EXPECT_EQ(correlator_.next_due(), at_ms(1120));
  const Incident again = take_one(1120);
  EXPECT_EQ(again.id, first.id);
  ASSERT_EQ(again.captures.size(), 1u);
  EXPECT_LT(again.captures[0].lead_seconds, 0);
}

TEST_F(CorrelatorTest, amendment_when_the_wall_clock_stepped_keeps_id_and_time) {
  apply(killed(10, 5, 2, 2, 1000));
  const Incident first = take_one(1005);
  apply(capture(1100));
  const auto again = correlator_.take_ready(at_ms(1200), model_, kWallOffset + 3'600'000'000'000);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, first.id);
  EXPECT_EQ(again[0].time, first.time);
}

TEST_F(CorrelatorTest, capture_after_the_amend_window_changes_nothing) {
  apply(killed(10, 5, 2, 2, 1000));
  (void)take_one(1005);
  (void)take(6'001);
  apply(capture(6'002));
  EXPECT_TRUE(take(7'000).empty());
  EXPECT_TRUE(take(46'001).empty());
  EXPECT_FALSE(correlator_.next_due().has_value());
}

TEST_F(CorrelatorTest, memory_stat_when_read_before_the_kill_is_not_replaced_by_a_later_one) {
  MemorySampled before = sampled(2, 990, 250);
  before.detailed = true;
  before.memory_stat = {{"anon", 240 * kMiB}};
  apply(before);
  apply(killed(10, 5, 2, 2, 1000));
  MemorySampled after = sampled(2, 1002, 20);
  after.detailed = true;
  after.memory_stat = {{"anon", 10 * kMiB}};
  apply(after);
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.memory_stat.at("anon"), 240 * kMiB);
  EXPECT_THAT(incident.notes, Contains("memory_stat: read 0.010 s before the kill"));
  EXPECT_TRUE(take(1100).empty());
}

TEST_F(CorrelatorTest, memory_stat_when_first_read_after_writing_amends) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_TRUE(take_one(1005).memory_stat.empty());
  MemorySampled after = sampled(2, 1010, 20);
  after.detailed = true;
  after.memory_stat = {{"anon", 10 * kMiB}};
  apply(after);
  const Incident again = take_one(1030);
  EXPECT_THAT(again.notes, Contains("memory_stat: read 0.010 s after the kill"));
}

TEST_F(CorrelatorTest, ancestor_limit_shows_the_containers_series_and_the_owners_limit) {
  apply(sampled(2, 500, 100, 256));
  apply(sampled(1, 500, 500, 512));
  apply(killed(10, 5, 2, 1, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.scope, "ancestor");
  EXPECT_EQ(incident.limit_owner_cgroup_path, "/pod");
  ASSERT_FALSE(incident.series.empty());
  EXPECT_EQ(incident.series[0].usage_bytes, 100 * kMiB);
  EXPECT_EQ(incident.verdict->cause, "ancestor_limit");
}

TEST_F(CorrelatorTest, limit_inside_the_container_is_the_source_of_series) {
  apply(sampled(3, 500, 60, 64));
  apply(killed(10, 5, 3, 3, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.scope, "container");
  EXPECT_EQ(incident.container.name, "web");
  EXPECT_EQ(incident.series.at(0).usage_bytes, 60 * kMiB);
}

TEST_F(CorrelatorTest, pressure_and_watermarks_are_those_up_to_the_kill) {
  apply(crossed(2, 900, 90));
  apply(ReclaimSampled{at_ms(995), {2}, 10, 9, 4096, 5'000'000});
  apply(killed(10, 5, 2, 2, 1000));
  apply(ReclaimSampled{at_ms(1001), {2}, 12, 11, 4096, 6'000'000});
  apply(crossed(2, 1003, 95));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.reclaim->calls, 12u);
  ASSERT_EQ(incident.watermarks.size(), 1u);
  EXPECT_DOUBLE_EQ(incident.watermarks[0].lead_seconds, 0.1);
}

TEST_F(CorrelatorTest, node_kill_is_explained) {
  apply(killed(10, 5, 2, 0, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.scope, "node");
  EXPECT_EQ(incident.verdict->cause, "node");
}

TEST_F(CorrelatorTest, kill_of_an_unknown_process_still_makes_an_incident) {
  OomKill kill = killed(999, 0, 0, 0, 1000);
  kill.owner_known = false;
  kill.owner_usage_bytes.reset();
  kill.owner_limit_bytes.reset();
  apply(kill);
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.victims.at(0).process.pid, 999);
  EXPECT_EQ(incident.cgroup_path, "");
  EXPECT_THAT(incident.notes, Contains(HasSubstr("scope: the kernel did not name the limit")));
}

TEST_F(CorrelatorTest, name_that_arrives_after_the_kill_amends) {
  apply(killed(10, 5, 2, 2, 1000));
  (void)take_one(1005);
  ContainerIdentified late = identified(2, std::string(64, 'a'), "renamed");
  late.time = at_ms(1050);
  apply(late);
  EXPECT_EQ(take_one(1080).container.name, "renamed");
}

}  // namespace
}  // namespace oomw
