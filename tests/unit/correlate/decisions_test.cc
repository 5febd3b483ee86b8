// SPDX-License-Identifier: Apache-2.0
// Which kills are one OOM decision, and what becomes of decisions that are too many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/limit_scope.h"
#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::HasSubstr;

// pod 1 > containers 2 (web) and 4 (db).
class DecisionsTest : public CorrelatorFixture {
 protected:
  DecisionsTest()
      : CorrelatorFixture({created(1, 0, "/pod"), created(2, 1, "/pod/web"), created(4, 1, "/pod/db"),
                           identified(2, std::string(64, 'a'), "web"), identified(4, std::string(64, 'b'), "db")}) {}
  // Triggered by pid 10, as all victims of a decision are.
  static OomKill victim(std::int32_t pid, std::int64_t ms, std::uint64_t cgroup = 2, std::uint64_t owner = 2) {
    OomKill kill = killed(pid, 5, cgroup, owner, ms);
    kill.trigger_pid = 10;
    return kill;
  }
  static OomKill decided(std::int32_t pid, std::int64_t ms, std::int64_t decision_ms) {
    OomKill kill = victim(pid, ms);
    kill.decision = at_ms(decision_ms);
    return kill;
  }
  static OomKill grouped(std::int32_t pid, std::int64_t ms, std::uint64_t group = 2) {
    OomKill kill = victim(pid, ms);
    kill.group = {group};
    return kill;
  }
  // The last form of each incident, by the order of first writing, up to `ms`.
  std::vector<Incident> all_until(std::int64_t ms) {
    std::vector<Incident> all;
    for (Incident& incident : take(ms)) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const Incident& i) { return i.id == incident.id; });
      if (same == all.end()) {
        all.push_back(std::move(incident));
      } else {
        *same = std::move(incident);
      }
    }
    return all;
  }
};

TEST_F(DecisionsTest, victims_of_one_decision_two_seconds_apart_are_one_incident) {
  apply(decided(10, 1000, 999));
  const Incident first = take_one(1005);
  apply(decided(11, 3000, 999));
  const Incident again = take_one(3100);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(directory_name(again), directory_name(first));
  EXPECT_EQ(again.victims.size(), 2u);
  EXPECT_EQ(correlator_.decisions(), 1u);
}

TEST_F(DecisionsTest, two_decisions_of_one_owner_and_trigger_one_ms_apart_are_two_incidents) {
  apply(decided(10, 1000, 1000));
  apply(decided(11, 1001, 1001));
  apply(decided(12, 1002, 1000));
  auto incidents = take(1010);
  ASSERT_EQ(incidents.size(), 2u);
  std::sort(incidents.begin(), incidents.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  EXPECT_NE(incidents[0].id, incidents[1].id);
  EXPECT_EQ(incidents[0].victims.size(), 2u);
  EXPECT_EQ(incidents[1].victims.size(), 1u);
}

// A trigger that was chosen itself, 4 ms after the first victim, before that one's memory was free: seen on v1.
TEST_F(DecisionsTest, without_group_kills_two_victims_are_two_decisions_however_close) {
  CorrelatorConfig config;
  config.has_groups = false;
  Correlator v1{config};
  v1.apply(victim(11, 1000), model_);
  v1.apply(victim(10, 1004), model_);
  EXPECT_EQ(v1.take_ready(at_ms(1020), model_, kWallOffset).size(), 2u);
}

TEST_F(DecisionsTest, kill_without_a_decision_does_not_join_one_by_time) {
  apply(decided(10, 1000, 1000));
  apply(victim(11, 1001));
  EXPECT_EQ(take(1010).size(), 2u);
}

TEST_F(DecisionsTest, decision_stays_open_for_late_captures_after_its_last_victim) {
  apply(decided(10, 1000, 999));
  (void)take(1005);
  apply(decided(11, 5'900, 999));
  (void)take(6'000);
  CaptureFinished walk;
  walk.time = at_ms(10'000);
  walk.started = at_ms(9'999);
  walk.cgroup = {2};
  walk.process = {11, 5};
  walk.method = CaptureMethod::kAtKill;
  walk.result = CaptureResult::kOk;
  apply(walk);
  const Incident again = take_one(10'100);
  EXPECT_EQ(again.captures.size(), 1u);
}

TEST_F(DecisionsTest, walk_of_a_victim_when_decoded_late_still_amends_and_another_capture_does_not) {
  apply(seen(11, 5, 2));
  apply(decided(10, 1000, 999));
  const auto first = take(1005);
  EXPECT_TRUE(take(6'000).empty());
  CaptureFinished walk;
  walk.time = at_ms(41'000);
  walk.started = at_ms(999);
  walk.cgroup = {2};
  walk.process = {11, 5};
  walk.method = CaptureMethod::kAtKill;
  walk.result = CaptureResult::kOk;
  apply(walk);
  EXPECT_TRUE(take(41'500).empty()) << "not a victim";
  walk.process = {10, 5};
  apply(walk);
  const Incident again = take_one(41'600);
  EXPECT_EQ(again.id, first.at(0).id);
  EXPECT_EQ(again.captures.size(), 1u);
  EXPECT_TRUE(take(46'001).empty());
  EXPECT_FALSE(correlator_.next_due().has_value());
}

TEST_F(DecisionsTest, group_kill_without_decision_joins_victims_far_apart) {
  for (int i = 0; i < 5; ++i) apply(grouped(10 + i, 1000 + i * 900));
  EXPECT_EQ(correlator_.decisions(), 1u);
  const auto incidents = all_until(5'000);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].victim_count, 5u);
  EXPECT_EQ(incidents[0].oom_group_cgroup_path, "/pod/web");
}

TEST_F(DecisionsTest, group_kill_after_a_longer_pause_is_another_decision) {
  apply(grouped(10, 1000));
  apply(grouped(11, 2'001));
  EXPECT_EQ(correlator_.decisions(), 2u);
}

TEST_F(DecisionsTest, group_kills_of_two_triggers_or_groups_are_two_decisions) {
  apply(grouped(10, 1000));
  OomKill other_trigger = grouped(11, 1001);
  other_trigger.trigger_pid = 11;
  apply(other_trigger);
  EXPECT_EQ(correlator_.decisions(), 2u);
  apply(grouped(12, 1002, 1));
  EXPECT_EQ(correlator_.decisions(), 3u);
}

TEST_F(DecisionsTest, group_kill_when_counters_fell_keeps_the_owner_of_its_first_victim) {
  OomKill first = grouped(10, 1000);
  first.owner_exact = false;
  apply(first);
  OomKill later = grouped(11, 1040);
  later.owner_exact = false;
  later.owner_cgroup = {};  // nobody is at its limit any more: looks node-wide
  const ResolvedKill resolved = correlator_.resolve(later, model_);
  EXPECT_EQ(resolved.kill.owner_cgroup, CgroupId{2});
  EXPECT_EQ(resolved.labels.scope, "container");
  apply(later);
  EXPECT_EQ(correlator_.decisions(), 1u);
}

TEST_F(DecisionsTest, group_of_an_ancestor_ends_two_containers_in_one_incident_of_the_first) {
  OomKill first = grouped(10, 1000, 1);
  first.owner_cgroup = {1};
  OomKill other = grouped(20, 1030, 1);
  other.owner_cgroup = {1};
  other.victim_cgroup = {4};
  apply(first);
  apply(other);
  const auto incidents = all_until(2000);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].scope, "ancestor");
  EXPECT_EQ(incidents[0].container.name, "web");
  EXPECT_EQ(incidents[0].oom_group_cgroup_path, "/pod");
  EXPECT_EQ(incidents[0].victims[1].cgroup_path, "/pod/db");
  EXPECT_THAT(incidents[0].notes,
              Contains(HasSubstr("victims: 1 lived outside of the first one's container: in /pod/db")));
}

TEST_F(DecisionsTest, group_told_after_the_first_victim_is_the_incidents) {
  OomKill first = decided(10, 1000, 1000);
  OomKill member = decided(11, 1001, 1000);
  member.group = {2};
  apply(first);
  apply(member);
  EXPECT_EQ(all_until(1010).at(0).oom_group_cgroup_path, "/pod/web");
}

TEST_F(DecisionsTest, victim_marked_twice_in_a_group_kill_counts_once) {
  apply(decided(10, 1000, 999));
  apply(decided(11, 1001, 999));
  apply(decided(10, 1002, 999));
  EXPECT_EQ(all_until(1010).at(0).victim_count, 2u);
}

TEST_F(DecisionsTest, group_whose_path_is_not_known_is_said) {
  OomKill kill = grouped(10, 1000, 77);
  apply(kill);
  const Incident incident = all_until(1010).at(0);
  EXPECT_EQ(incident.oom_group_cgroup_path, "");
  EXPECT_THAT(incident.notes, Contains(HasSubstr("oom_group_cgroup_path: killed as a group, of cgroup 77")));
}

TEST_F(DecisionsTest, node_wide_when_resolved_says_so_and_when_told_does_not) {
  OomKill resolved = victim(10, 1000, 2, 0);
  resolved.owner_exact = false;
  apply(resolved);
  EXPECT_THAT(all_until(1010).at(0).notes, Contains(HasSubstr("scope: no cgroup at its limit was found")));
  OomKill said = decided(11, 2000, 2000);
  said.owner_cgroup = {};
  said.owner_exact = false;
  said.is_node_wide_said = true;
  said.total_bytes = 4096 * kMiB;
  said.owner_limit_bytes.reset();
  apply(said);
  const Incident incident = all_until(2010).at(0);
  EXPECT_THAT(incident.notes, ::testing::Not(Contains(HasSubstr("scope:"))));
  EXPECT_EQ(incident.scope, "node");
  EXPECT_EQ(incident.total_bytes, 4096 * kMiB);
}

TEST_F(DecisionsTest, limit_changed_since_the_last_reading_is_the_kernels_and_is_said) {
  apply(sampled(2, 500, 100, 512));
  apply(victim(10, 1000));  // killed at 256 MiB
  const Incident incident = all_until(1010).at(0);
  EXPECT_EQ(incident.limit_bytes, 256 * kMiB);
  EXPECT_THAT(incident.notes,
              Contains("limit.bytes: changed at run time from 512 MiB to 256 MiB; seen 0.000 s before the kill"));
}

TEST_F(DecisionsTest, limit_raised_after_the_kill_does_not_change_what_was_hit) {
  apply(sampled(2, 500, 255, 256));
  OomKill kill = victim(10, 1000);
  kill.owner_limit_bytes.reset();
  kill.owner_usage_bytes.reset();
  apply(kill);
  EXPECT_EQ(all_until(1010).at(0).limit_bytes, 256 * kMiB);
  apply(sampled(2, 1050, 20, 1024));
  ContainerIdentified late = identified(2, std::string(64, 'a'), "web");
  late.time = at_ms(1060);
  apply(late);
  EXPECT_EQ(all_until(1100).at(0).limit_bytes, 256 * kMiB);
}

TEST_F(DecisionsTest, cgroup_removed_right_after_the_kill_leaves_the_incident_whole) {
  apply(sampled(2, 990, 250));
  apply(victim(10, 1000));
  apply(removed(2, 1001));
  const Incident incident = all_until(1005).at(0);
  EXPECT_EQ(incident.container.name, "web");
  EXPECT_EQ(incident.cgroup_path, "/pod/web");
  EXPECT_FALSE(incident.series.empty());
}

TEST_F(DecisionsTest, id_used_again_does_not_amend_the_old_ones_incident) {
  apply(victim(10, 1000));
  EXPECT_EQ(take(1005).size(), 1u);
  apply(removed(2, 1010));
  CgroupCreated again = created(2, 1, "/pod/other");
  again.time = at_ms(1020);
  apply(again);
  ContainerIdentified other = identified(2, std::string(64, 'c'), "other");
  other.time = at_ms(1030);
  apply(other);
  EXPECT_TRUE(take(1500).empty());
  EXPECT_EQ(correlator_.closed_early(), 1u);
  apply(victim(12, 1600));
  const Incident next = take_one(1610);
  EXPECT_EQ(next.container.name, "other");
  EXPECT_TRUE(next.series.empty() || next.series.front().time.ns >= at_ms(1600).ns + kWallOffset);
}

TEST_F(DecisionsTest, container_killed_twice_has_two_incidents) {
  apply(decided(10, 1000, 1000));
  apply(decided(11, 1100, 1100));
  const auto incidents = all_until(2000);
  ASSERT_EQ(incidents.size(), 2u);
  EXPECT_EQ(incidents[0].container.id, incidents[1].container.id);
  EXPECT_NE(directory_name(incidents[0]), directory_name(incidents[1]));
}

TEST_F(DecisionsTest, flood_in_one_container_merges_into_its_newest_counted_and_said) {
  CorrelatorConfig config;
  config.max_open_per_place = 2;
  Correlator small{config};
  for (std::int32_t i = 0; i < 5; ++i) small.apply(killed(100 + i, 5, 2, 2, 1000), model_);
  small.apply(killed(200, 5, 4, 4, 1000), model_);
  EXPECT_EQ(small.decisions(), 6u);
  EXPECT_EQ(small.merged_kills(), 3u);
  const auto ready = small.take_ready(at_ms(1010), model_, kWallOffset);
  ASSERT_EQ(ready.size(), 3u);
  EXPECT_EQ(ready[0].victim_count, 1u);
  EXPECT_EQ(ready[1].victim_count, 4u);
  EXPECT_EQ(ready[1].merged_decisions, 3u);
  EXPECT_THAT(ready[1].notes, Contains(HasSubstr("merged_decisions: 3 further OOM decisions")));
  EXPECT_EQ(ready[2].container.name, "db");
}

TEST_F(DecisionsTest, repeats_of_one_container_are_counted_in_its_newest_incident) {
  CorrelatorConfig config;
  config.repeats = {.per_minute = 6, .burst = 2};
  Correlator small{config};
  for (std::int32_t i = 0; i < 5; ++i) small.apply(killed(100 + i, 5, 2, 2, 1000 + 100 * i), model_);
  small.apply(killed(200, 5, 4, 4, 1500), model_);
  EXPECT_EQ(small.repeated_kills(), 3u);
  const auto ready = small.take_ready(at_ms(1510), model_, kWallOffset);
  ASSERT_EQ(ready.size(), 3u) << "two of the container, one of its neighbour";
  EXPECT_FALSE(ready[0].repeats.has_value());
  EXPECT_EQ(ready[1].victim_count, 1u) << "the victims of repeats are not this kill's";
  ASSERT_TRUE(ready[1].repeats.has_value());
  EXPECT_EQ(ready[1].repeats->count, 3u);
  EXPECT_EQ(ready[1].repeats->last.ns - ready[1].repeats->first.ns, 200'000'000);
  EXPECT_THAT(ready[1].notes, Contains(HasSubstr("repeats: 3 further kills")));
  EXPECT_EQ(ready[2].container.name, "db");
}

TEST_F(DecisionsTest, a_repeat_amends_the_written_incident_once_a_second) {
  CorrelatorConfig config;
  config.repeats = {.per_minute = 6, .burst = 1};
  Correlator small{config};
  small.apply(killed(100, 5, 2, 2, 1000), model_);
  ASSERT_EQ(small.take_ready(at_ms(1005), model_, kWallOffset).size(), 1u);
  for (std::int32_t i = 1; i < 40; ++i) small.apply(killed(100 + i, 5, 2, 2, 1000 + 20 * i), model_);
  EXPECT_TRUE(small.take_ready(at_ms(2019), model_, kWallOffset).empty());
  const auto ready = small.take_ready(at_ms(2020), model_, kWallOffset);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].repeats->count, 39u);
}

TEST_F(DecisionsTest, a_repeat_whose_incident_is_closed_has_one_of_its_own) {
  CorrelatorConfig config;
  config.repeats = {.per_minute = 1, .burst = 1};
  config.max_open = 1;
  Correlator small{config};
  small.apply(killed(100, 5, 2, 2, 1000), model_);
  (void)small.take_ready(at_ms(1005), model_, kWallOffset);
  small.apply(killed(200, 5, 4, 4, 2000), model_);
  (void)small.take_ready(at_ms(2005), model_, kWallOffset);
  small.apply(killed(101, 5, 2, 2, 3000), model_);
  EXPECT_EQ(small.repeated_kills(), 0u);
  EXPECT_EQ(small.take_ready(at_ms(3005), model_, kWallOffset).size(), 1u);
}

TEST_F(DecisionsTest, all_victims_of_a_repeated_decision_are_repeats) {
  CorrelatorConfig config;
  config.repeats = {.per_minute = 6, .burst = 1};
  Correlator small{config};
  small.apply(decided(10, 1000, 1000), model_);
  small.apply(decided(11, 2000, 2000), model_);
  small.apply(decided(12, 2001, 2000), model_);
  EXPECT_EQ(small.repeated_kills(), 2u);
  const auto ready = small.take_ready(at_ms(2010), model_, kWallOffset);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].victim_count, 1u);
}

TEST_F(DecisionsTest, further_victims_of_a_merged_decision_are_not_decisions_of_their_own) {
  CorrelatorConfig config;
  config.max_open_per_place = 1;
  Correlator small{config};
  small.apply(decided(10, 1000, 1000), model_);
  small.apply(decided(11, 1001, 1001), model_);
  small.apply(decided(12, 1002, 1001), model_);
  EXPECT_EQ(small.decisions(), 2u);
  EXPECT_EQ(small.merged_kills(), 1u);
  EXPECT_EQ(small.take_ready(at_ms(1010), model_, kWallOffset).at(0).victim_count, 3u);
}

TEST_F(DecisionsTest, full_table_gives_every_kill_its_incident_and_closes_the_oldest_early) {
  CorrelatorConfig config;
  config.max_open = 2;
  Correlator small{config};
  for (std::uint64_t i = 0; i < 4; ++i) small.apply(killed(100 + static_cast<int>(i), 5, 50 + i, 50 + i, 1000), model_);
  EXPECT_EQ(small.next_due(), MonotonicTime{});
  EXPECT_EQ(small.take_ready(at_ms(1010), model_, kWallOffset).size(), 4u);
  EXPECT_EQ(small.lost_incidents(), 0u);
  small.apply(killed(200, 5, 60, 60, 1020), model_);
  EXPECT_EQ(small.closed_early(), 1u);
  EXPECT_EQ(small.take_ready(at_ms(1030), model_, kWallOffset).size(), 1u);
}

TEST_F(DecisionsTest, incidents_beyond_all_bounds_are_counted_as_lost) {
  CorrelatorConfig config;
  config.max_open = 2;
  Correlator small{config};
  for (std::uint64_t i = 0; i < 6; ++i) small.apply(killed(100 + static_cast<int>(i), 5, 50 + i, 50 + i, 1000), model_);
  EXPECT_EQ(small.take_ready(at_ms(1010), model_, kWallOffset).size() + small.lost_incidents(), 6u);
  EXPECT_EQ(small.lost_incidents(), 2u);
}

}  // namespace
}  // namespace oomw
