// SPDX-License-Identifier: Apache-2.0
#include "correlate/kill_history.h"

#include <gtest/gtest.h>

#include "support/builders.h"

namespace oomw {
namespace {

EarlierKill kill(const std::string& id, std::int64_t second, const std::string& code = "") {
  EarlierKill kill;
  kill.id = id;
  kill.time = WallTime{second * 1'000'000'000};
  kill.code = code;
  return kill;
}

std::string before(const KillHistory& history, const std::string& id, std::int64_t second) {
  const auto found = history.before("shop/cart/web", id, WallTime{second * 1'000'000'000});
  return found ? found->id + " " + std::to_string(found->kills) : "none";
}

TEST(KillHistory, knows_the_kill_before_and_how_many_there_were) {
  KillHistory history;
  EXPECT_EQ(before(history, "a", 10), "none");
  history.add("shop/cart/web", kill("a", 10));
  EXPECT_EQ(before(history, "a", 10), "none");  // itself
  EXPECT_EQ(before(history, "b", 20), "a 1");
  history.add("shop/cart/web", kill("b", 20));
  EXPECT_EQ(before(history, "c", 30), "b 2");
  EXPECT_EQ(before(history, "b", 20), "a 1");  // a revision of it
  EXPECT_FALSE(history.before("shop/cart/db", "c", WallTime{30'000'000'000}));
}

TEST(KillHistory, a_revision_replaces_what_was_known_of_its_incident) {
  KillHistory history;
  history.add("w", kill("a", 10));
  history.add("w", kill("a", 10, "main.put"));
  const auto found = history.before("w", "b", WallTime{20'000'000'000});
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->code, "main.put");
  EXPECT_EQ(found->kills, 1U);
}

// Those on disk are read while kills go on, and the newest comes first.
TEST(KillHistory, earlier_kills_that_are_learned_later_count_before_the_others) {
  KillHistory history;
  history.add("shop/cart/web", kill("d", 40));
  for (const auto& [id, second] : {std::pair("c", 30), std::pair("b", 20), std::pair("a", 10)}) {
    history.add("shop/cart/web", kill(id, second));
  }
  EXPECT_EQ(before(history, "d", 40), "c 3");
  EXPECT_EQ(before(history, "e", 50), "d 4");
}

TEST(KillHistory, of_many_kills_the_last_are_kept_and_all_are_counted) {
  KillHistory history;
  for (int i = 0; i < 100; ++i) history.add("shop/cart/web", kill("k" + std::to_string(i), i));
  EXPECT_EQ(before(history, "new", 1'000), "k99 100");
  EXPECT_EQ(before(history, "k10", 10), "none");  // forgotten, not guessed
}

TEST(KillHistory, processes_of_no_cgroup_are_no_workload) {
  KillHistory history;
  history.add("/", kill("a", 5));
  history.add("", kill("b", 5));
  EXPECT_EQ(history.size(), 0U);
}

TEST(KillHistory, the_workload_that_was_killed_least_recently_makes_room) {
  KillHistory history;
  history.add("shop/cart/web", kill("a", 5));
  for (std::size_t i = 0; i < KillHistory::kMaxWorkloads; ++i) {
    history.add("w" + std::to_string(i), kill("k" + std::to_string(i), 10));
  }
  EXPECT_EQ(history.size(), KillHistory::kMaxWorkloads);
  EXPECT_EQ(before(history, "b", 20), "none");
}

TEST(KillHistory, remembers_of_an_incident_whom_its_answer_named) {
  const Incident incident = test::sample_incident();
  const EarlierKill kill = remembered(incident);
  EXPECT_EQ(kill.id, incident.id);
  EXPECT_EQ(kill.time, incident.time);
  EXPECT_EQ(kill.cause, incident.verdict ? incident.verdict->cause : "");
  const bool has_culprit = incident.answer && incident.answer->culprit;
  EXPECT_EQ(kill.code, has_culprit ? incident.answer->culprit->code : "");
}

}  // namespace
}  // namespace oomw
