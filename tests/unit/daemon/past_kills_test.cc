// SPDX-License-Identifier: Apache-2.0
#include "daemon/past_kills.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPod = "/kubepods/burstable/pod11111111-2222-3333-4444-555555555555";
const std::string kContainer = std::string(kPod) + "/" + std::string(64, 'c');

LoggedKill logged(std::int32_t pid, Nanoseconds stamp, const std::string& home = "", const std::string& owner = "") {
  LoggedKill kill;
  kill.stamp = stamp;
  kill.kill.process = kill.kill.killed.pid = pid;
  kill.kill.killed.comm = "leak";
  kill.kill.killed.memcg = true;
  kill.kill.killed.anon_bytes = 4096;
  if (!home.empty()) {
    kill.kill.constraint = KmsgConstraint{"CONSTRAINT_MEMCG", owner.empty() ? home : owner, home, "leak", pid, 0};
  }
  return kill;
}

LoggedKill further(std::int32_t pid, Nanoseconds stamp, const std::string& group) {
  LoggedKill kill = logged(pid, stamp);
  kill.kill.group = kill.kill.group_owner = group;
  return kill;
}

class PastKillsTest : public ::testing::Test {
 protected:
  std::vector<PastKill> past_kills(std::vector<LoggedKill> kills) {
    KmsgBacklog backlog;
    for (LoggedKill& kill : kills) backlog.kills.push_back(std::move(kill));
    return past_kills_of(backlog, window_);
  }
  PastEvents events(std::vector<LoggedKill> kills, const StoredVictim* stored = nullptr) {
    PastEventMaker maker(
        window_, [this](const std::string& path) { return living_.contains(path) ? living_.at(path) : CgroupId{}; },
        [this](CgroupId id) { return missing_.contains(id) ? std::optional(missing_.at(id)) : std::nullopt; },
        at(seconds(300)));
    std::vector<PastKill> past = past_kills(std::move(kills));
    for (PastKill& kill : past) kill.stored = stored;
    return maker.make(std::move(past));
  }
  static std::vector<std::int32_t> pids(const std::vector<PastKill>& kills) {
    std::vector<std::int32_t> result;
    for (const PastKill& kill : kills) result.push_back(kill.logged.kill.process);
    return result;
  }

  PastWindow window_{{at(seconds(100)), {{7, at(seconds(99)), true}, {8, at(seconds(99)), false}}},
                     at(seconds(200)),
                     at(seconds(201)),
                     milliseconds(500)};
  std::map<std::string, CgroupId> living_;
  std::map<CgroupId, std::uint64_t> missing_;
};

TEST_F(PastKillsTest, only_what_nobody_dealt_with_is_taken) {
  const auto kills = past_kills({logged(1, seconds(50)), logged(7, seconds(99)), logged(8, seconds(99)),
                                 logged(9, seconds(150)), logged(10, seconds(250))});
  EXPECT_THAT(pids(kills), ElementsAre(8, 9)) << "1 long ago, 7 written, 10 while this run watched";
  EXPECT_TRUE(kills[0].is_counted);
  EXPECT_FALSE(kills[1].is_counted);
}

TEST_F(PastKillsTest, times_are_those_of_the_monotonic_clock) {
  EXPECT_EQ(past_kills({logged(9, seconds(150))}).front().time, at(seconds(150) - milliseconds(500)));
}

TEST_F(PastKillsTest, a_living_cgroup_whose_count_is_ahead_is_the_victim_s) {
  living_ = {{"/app", {5}}};
  missing_ = {{{5}, 1}};
  const PastEvents past = events({logged(9, seconds(150), "/app")});
  ASSERT_THAT(past.events, SizeIs(1));
  EXPECT_THAT(past.places, IsEmpty());
  const OomKill& kill = past.events.front();
  EXPECT_EQ(kill.victim_cgroup, CgroupId{5});
  EXPECT_EQ(kill.owner_cgroup, CgroupId{5});
  EXPECT_TRUE(kill.owner_exact);
  EXPECT_EQ(kill.victim.pid, 9);
  EXPECT_EQ(kill.victim_comm, "leak");
  EXPECT_EQ(kill.victim_rss->anon_bytes, 4096u);
  ASSERT_TRUE(kill.unwatched.has_value());
  EXPECT_EQ(kill.unwatched->from, at(seconds(100)));
  EXPECT_EQ(kill.unwatched->until, at(seconds(200)));
}

TEST_F(PastKillsTest, kills_before_the_living_cgroup_s_own_were_of_one_of_the_same_name) {
  living_ = {{"/app", {5}}};
  missing_ = {{{5}, 1}};
  const PastEvents past = events({logged(9, seconds(150), "/app"), logged(10, seconds(160), "/app")});
  ASSERT_THAT(past.events, SizeIs(2));
  EXPECT_NE(past.events[0].victim_cgroup, CgroupId{5});
  EXPECT_NE(past.events[0].victim_cgroup.value & PastEventMaker::kGone, 0u);
  EXPECT_EQ(past.events[0].owner_cgroup, past.events[0].victim_cgroup) << "its own limit, not the living one's";
  EXPECT_EQ(past.events[1].victim_cgroup, CgroupId{5});
}

// The count rose and made an incident before that run heard who it was.
TEST_F(PastKillsTest, a_kill_whose_stored_incident_has_no_name_is_counted_once) {
  const StoredVictim nameless{0, {}, "/app", {}, ""};
  living_ = {{"/app", {5}}};
  missing_ = {{{5}, 0}};
  PastEvents past = events({logged(9, seconds(150), "/app")}, &nameless);
  ASSERT_THAT(past.kills, SizeIs(1));
  EXPECT_TRUE(past.kills.front().is_counted);
  EXPECT_EQ(past.events.front().victim_cgroup, CgroupId{5});
  missing_ = {{{5}, 1}};  // that run ended before it kept the count
  past = events({logged(9, seconds(150), "/app")}, &nameless);
  EXPECT_FALSE(past.kills.front().is_counted);
  EXPECT_EQ(past.events.front().victim_cgroup, CgroupId{5});
  living_.clear();
  EXPECT_TRUE(events({logged(9, seconds(99), "/app")}, &nameless).kills.front().is_counted);
  EXPECT_FALSE(events({logged(9, seconds(150), "/app")}, &nameless).kills.front().is_counted);
}

TEST_F(PastKillsTest, a_container_that_is_gone_has_the_identity_of_its_path_below_the_pod_that_lives) {
  living_ = {{kPod, {3}}};
  const PastEvents past = events({logged(9, seconds(150), kContainer, kPod)});
  ASSERT_THAT(past.events, SizeIs(1));
  const OomKill& kill = past.events.front();
  EXPECT_EQ(kill.owner_cgroup, CgroupId{3});
  ASSERT_THAT(past.places, SizeIs(2));
  const auto& made = std::get<CgroupCreated>(past.places[0]);
  EXPECT_EQ(made.cgroup, kill.victim_cgroup);
  EXPECT_EQ(made.parent, CgroupId{3});
  EXPECT_EQ(made.path, kContainer);
  const auto& named = std::get<ContainerIdentified>(past.places[1]);
  EXPECT_EQ(named.identity.id, std::string(64, 'c'));
  EXPECT_EQ(named.identity.pod_uid, "11111111-2222-3333-4444-555555555555");
  ASSERT_THAT(past.places_gone, SizeIs(1));
  EXPECT_EQ(std::get<CgroupRemoved>(past.places_gone[0]).cgroup, kill.victim_cgroup);
}

TEST_F(PastKillsTest, parents_that_are_gone_too_come_first) {
  living_ = {{"/", {1}}};
  const PastEvents past = events({logged(9, seconds(150), "/a/b"), logged(10, seconds(151), "/a/b")});
  ASSERT_THAT(past.places, SizeIs(2));
  EXPECT_EQ(std::get<CgroupCreated>(past.places[0]).path, "/a");
  EXPECT_EQ(std::get<CgroupCreated>(past.places[0]).parent, CgroupId{1});
  EXPECT_EQ(std::get<CgroupCreated>(past.places[1]).path, "/a/b");
  EXPECT_EQ(std::get<CgroupCreated>(past.places[1]).parent, std::get<CgroupCreated>(past.places[0]).cgroup);
}

TEST_F(PastKillsTest, victims_of_a_group_are_one_decision) {
  const PastEvents past =
      events({logged(9, seconds(150), "/app"), further(9, seconds(150), "/app"),
              further(10, seconds(150) + milliseconds(1), "/app"), logged(11, seconds(152), "/app")});
  ASSERT_THAT(past.events, SizeIs(4)) << "the chosen one twice: the kernel counts it twice";
  EXPECT_EQ(past.events[2].decision, past.events[0].decision);
  EXPECT_EQ(past.events[2].group, past.events[2].victim_cgroup);
  EXPECT_EQ(past.events[2].victim_cgroup, past.events[0].victim_cgroup);
  EXPECT_NE(past.events[3].decision, past.events[0].decision);
}

TEST_F(PastKillsTest, the_node_s_kill_is_nobody_s_limit) {
  LoggedKill kill = logged(9, seconds(150), "/app");
  kill.kill.killed.memcg = false;
  kill.kill.constraint->oom_memcg.clear();
  const PastEvents past = events({kill});
  ASSERT_THAT(past.events, SizeIs(1));
  EXPECT_TRUE(past.events[0].owner_known && past.events[0].owner_exact);
  EXPECT_FALSE(past.events[0].owner_cgroup);
}

TEST_F(PastKillsTest, what_the_log_names_without_a_cgroup_waits_for_a_count) {
  const PastEvents past = events({logged(9, seconds(150))});
  EXPECT_THAT(past.events, IsEmpty());
  ASSERT_THAT(past.unplaced, SizeIs(1));
  EXPECT_TRUE(past.unplaced[0].unwatched.has_value());
}

// The daemon ended between the incident and the ledger, and the kernel logged too much to say where: it is no kill that
// waits for a count, for then it would have a second incident.
TEST_F(PastKillsTest, what_the_log_names_without_a_cgroup_is_placed_by_its_incident) {
  const StoredVictim stored{9, {}, "/pod/app", {}, "/pod/app/worker"};
  living_ = {{"/pod/app/worker", {5}}};
  missing_ = {{{5}, 1}};
  const PastEvents past = events({logged(9, seconds(150))}, &stored);
  EXPECT_THAT(past.unplaced, IsEmpty());
  ASSERT_THAT(past.events, SizeIs(1));
  EXPECT_EQ(past.events[0].victim_cgroup, CgroupId{5});
  EXPECT_EQ(past.kills[0].stored, &stored);
}

TEST_F(PastKillsTest, the_memory_that_the_kernel_printed_is_the_owner_s) {
  LoggedKill kill = logged(9, seconds(150), "/app");
  kill.memory = KmsgMemory{100, 200};
  const PastEvents past = events({kill});
  EXPECT_EQ(past.events[0].owner_usage_bytes, 100u);
  EXPECT_EQ(past.events[0].owner_limit_bytes, 200u);
}

TEST_F(PastKillsTest, hostile_paths_cost_no_more_than_their_length) {
  std::string deep;
  for (int i = 0; i < 2'000; ++i) deep += "/x";
  EXPECT_LE(events({logged(9, seconds(150), deep), logged(10, seconds(151), std::string(100'000, 'x'))}).places.size(),
            100u);
}

}  // namespace
}  // namespace oomw
