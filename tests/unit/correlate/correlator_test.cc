// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::HasSubstr;

using CorrelatorTest = PodCorrelatorFixture;

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
  const Incident incident = killed_at_limit();
  ASSERT_EQ(incident.victims.size(), 1u);
  EXPECT_EQ(incident.victims[0].exe, "/usr/bin/leaky");
  EXPECT_EQ(incident.victims[0].cmdline, "leaky --fast");
  EXPECT_EQ(incident.victims[0].rss->anon_bytes, 200 * kMiB);
  EXPECT_EQ(incident.victims[0].started->ns, 5 * 10'000'000 + kWallOffset);
}

ProcessSeen scored(std::int32_t pid, std::uint64_t start, std::uint64_t cgroup, std::int32_t score) {
  ProcessSeen e = test::seen(pid, start, cgroup);
  e.oom_score_adj = score;
  return e;
}

// Nested, at another score, gone since; not the victim itself, another container's, a restart, or one nobody read.
TEST_F(CorrelatorTest, who_else_was_in_the_container_is_told_with_the_lowest_score) {
  const auto after = static_cast<std::uint64_t>(at_ms(1010).ns / 10'000'000);
  for (const ProcessSeen& e : {scored(10, 5, 2, 1000), scored(11, 5, 2, 7), scored(12, 5, 3, -3), scored(13, 5, 2, 9),
                               scored(21, 5, 4, -999), scored(14, after, 2, -999), test::seen(15, 5, 2)}) {
    apply(e);
  }
  apply(killed(10, 5, 2, 2, 1000));
  apply(test::exited(13, 5, 1001));
  const Incident incident = take_one(1005);
  ASSERT_TRUE(incident.others.has_value());
  EXPECT_EQ(incident.others->count, 3u);
  EXPECT_EQ(incident.others->lowest_oom_score_adj, -3);
  EXPECT_FALSE(incident.others->largest) << "nothing was read after the kill";
}

TEST_F(CorrelatorTest, largest_of_the_others_is_told_as_read_after_the_kill) {
  const auto read = [&](std::int64_t ms, std::map<std::string, std::uint64_t> resident) {
    MemorySampled sample;
    sample.time = at_ms(ms);
    sample.cgroup = CgroupId{2};
    sample.resident_bytes = std::move(resident);
    apply(sample);
  };
  for (const std::int32_t pid : {10, 11, 13}) apply(scored(pid, 5, 2, 0));
  read(990, {{"11", 900 * kMiB}});  // of an earlier kill
  apply(killed(10, 5, 2, 2, 1000));
  read(1001, {{"10", 400 * kMiB}, {"11", 20 * kMiB}, {"13", 70 * kMiB}, {"99", 800 * kMiB}});
  const Incident incident = take_one(1005);
  ASSERT_TRUE(incident.others && incident.others->largest);
  EXPECT_EQ(incident.others->largest->pid, 13);
  EXPECT_EQ(incident.others->largest->resident_bytes, 70 * kMiB);
}

TEST_F(CorrelatorTest, id_when_replayed_is_the_same) {
  const std::string first = killed_at_limit().id;
  Correlator again{CorrelatorConfig{}};
  again.apply(killed(10, 5, 2, 2, 1000), model_);
  EXPECT_EQ(again.take_ready(at_ms(1005), model_, kWallOffset).at(0).id, first);
  EXPECT_EQ(first.size(), 25u);
}

TEST_F(CorrelatorTest, second_report_of_a_victim_is_ignored_but_fills_gaps) {
  OomKill poor = killed(10, 5, 2, 2, 1000);
  poor.victim_rss.reset();
  EXPECT_EQ(correlator_.resolve(poor, model_).report, ResolvedKill::Report::kFirst);
  apply(poor);
  OomKill from_log = killed(10, 0, 2, 2, 1001);
  EXPECT_EQ(correlator_.resolve(from_log, model_).report, ResolvedKill::Report::kAgain);
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
  EXPECT_TRUE(killed_at_limit().memory_stat.empty());
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
  (void)killed_at_limit();
  ContainerIdentified late = identified(2, std::string(64, 'a'), "renamed");
  late.time = at_ms(1050);
  apply(late);
  EXPECT_EQ(take_one(1080).container.name, "renamed");
}

}  // namespace
}  // namespace oomw
