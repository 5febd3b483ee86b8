// SPDX-License-Identifier: Apache-2.0
#include "verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "verdict/verdict_evidence.h"

namespace oomw {
namespace {

using test::before_kill;
using test::sample_incident;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two readings, ten minutes apart: of no shape.
Incident flat_incident() {
  Incident incident = sample_incident();
  incident.trend.reset();
  incident.series = {{before_kill(600'000), 100'000'000, {}}, {before_kill(5'000), 268'000'000, {}}};
  return incident;
}

std::string cause_of(const Incident& incident) {
  const auto verdict = judge_incident(incident);
  if (!verdict) return "";
  EXPECT_FALSE(verdict->why.empty());
  return verdict->cause;
}

TEST(VerdictTest, two_readings_are_not_judged) { EXPECT_EQ(cause_of(flat_incident()), ""); }

// Of a program whose heap is small beside what it maps itself.
Incident off_heap_incident() {
  Incident incident = flat_incident();
  incident.captures.push_back(sample_incident().captures[0]);
  incident.captures.back().method = "at_kill";
  incident.coverage_ratio = 0.49;
  return incident;
}

TEST(VerdictTest, a_heap_below_half_of_what_was_held_is_off_heap) {
  Incident incident = off_heap_incident();
  EXPECT_EQ(cause_of(incident), "off_heap");
  incident.coverage_ratio = 0.5;
  EXPECT_EQ(cause_of(incident), "");
}

// Where no heap is read at the kill: what came in the seconds after the last reading may all be heap.
TEST(VerdictTest, a_heap_that_was_most_of_the_memory_when_it_was_read_is_not_off_heap) {
  Incident incident = off_heap_incident();
  IncidentCapture& last = incident.captures.back();
  const auto anon = static_cast<double>(incident.victims.front().rss->anon_bytes);
  const auto with = [&](double memory, double heap) {
    last.method = "live";
    last.lead_seconds = 1;
    last.duration_seconds = 1;
    last.inuse_bytes = static_cast<std::uint64_t>(heap * anon);
    last.live_bytes = last.inuse_bytes;
    incident.coverage_ratio = heap;
    incident.series.clear();
    for (const std::int64_t before_ms : {9'000, 6'000, 3'000, 1'500}) {
      const auto bytes = static_cast<std::uint64_t>(memory * anon);
      incident.series.push_back({test::before_kill(before_ms), bytes, bytes});
    }
    return cause_of(incident);
  };
  EXPECT_NE(with(0.5, 0.4), "off_heap");
  EXPECT_EQ(with(0.9, 0.1), "off_heap") << "most of it lay beside the heap already";
  EXPECT_EQ(with(1.0, 0.4), "off_heap") << "nothing came after it";
}

TEST(VerdictTest, a_profile_that_may_miss_something_says_nothing_of_the_rest) {
  Incident incident = off_heap_incident();
  incident.captures.back().complete = false;
  EXPECT_EQ(cause_of(incident), "");
  incident.captures.back().complete = true;
  incident.captures.back().method = "http";
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, a_profile_that_is_not_known_to_be_gos_is_no_go_heap) {
  Incident incident = off_heap_incident();
  incident.captures.back().of.clear();
  EXPECT_EQ(cause_of(incident), "");
}

// The same figures as of a heap that a collector of garbage leaves, taken from a C++ program.
TEST(VerdictTest, readings_of_what_is_not_known_to_be_gos_are_no_live_heap) {
  Incident incident = sample_incident();
  incident.trend.reset();
  EXPECT_FALSE(Evidence(incident).live.empty());
  EXPECT_TRUE(is_go(incident));
  for (IncidentCapture& capture : incident.captures) capture.of.clear();
  EXPECT_TRUE(Evidence(incident).live.empty());
  EXPECT_FALSE(is_go(incident));
}

TEST(VerdictTest, node_scope_is_node) {
  Incident incident = flat_incident();
  incident.scope = "node";
  EXPECT_EQ(cause_of(incident), "node");
}

TEST(VerdictTest, ancestor_scope_is_ancestor_limit) {
  Incident incident = flat_incident();
  incident.scope = "ancestor";
  EXPECT_EQ(cause_of(incident), "ancestor_limit");
}

// Half a second after the kill a reading no longer has what the killed process held.
TEST(VerdictTest, an_ancestors_limit_is_explained_by_what_the_killed_processes_held) {
  Incident incident = flat_incident();
  incident.scope = "ancestor";
  incident.victims.front().rss->anon_bytes = *incident.usage_bytes / 4 * 3;
  const auto verdict = judge_incident(incident);
  ASSERT_TRUE(verdict);
  EXPECT_THAT(verdict->why, Contains(StartsWith("the killed processes alone held ")));
  EXPECT_THAT(verdict->why, Not(Contains(HasSubstr("at its last reading"))));
}

TEST(VerdictTest, pod_scope_is_pod_limit_below_four_fifths_of_it) {
  Incident incident = flat_incident();
  incident.scope = "pod";
  EXPECT_EQ(cause_of(incident), "pod_limit") << "who held how much is not known";
  incident.limit_shares = {{"cart", *incident.usage_bytes / 100 * 79, {}}, {"proxy", *incident.usage_bytes / 5, {}}};
  EXPECT_EQ(cause_of(incident), "pod_limit");
  incident.limit_shares[0].usage_bytes = *incident.usage_bytes / 100 * 81;
  EXPECT_EQ(cause_of(incident), "") << "its own, and there is none";
}

TEST(VerdictTest, shmem_at_half_of_usage_is_tmpfs) {
  Incident incident = flat_incident();
  incident.memory_stat["shmem"] = *incident.usage_bytes / 2;
  EXPECT_EQ(cause_of(incident), "page_cache_or_tmpfs");
  incident.memory_stat["shmem"] = *incident.usage_bytes / 2 - 4096;
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, shmem_that_the_victim_had_mapped_is_its_shared_memory) {
  Incident incident = flat_incident();
  incident.memory_stat["shmem"] = *incident.usage_bytes / 2;
  incident.victims[0].rss->shmem_bytes = *incident.usage_bytes / 4;
  conclude(incident);
  EXPECT_THAT(incident.answer->sentence, StartsWith("Shared memory filled its limit"));
  EXPECT_THAT(incident.answer->sentence, HasSubstr("; what was killed had mapped "));
  EXPECT_THAT(incident.answer->action, HasSubstr("MAP_SHARED"));
  incident.victims[0].rss->shmem_bytes -= 4096;
  conclude(incident);
  EXPECT_THAT(incident.answer->sentence, StartsWith("Files in memory filled its limit"));
  EXPECT_THAT(incident.answer->action, HasSubstr("sizeLimit"));
}

TEST(VerdictTest, little_shared_memory_beside_page_cache_is_not_what_filled_the_limit) {
  Incident incident = flat_incident();
  incident.memory_stat["file"] = *incident.usage_bytes / 4 * 3;
  incident.memory_stat["shmem"] = 4096;
  incident.victims[0].rss->anon_bytes = 4096;
  incident.victims[0].rss->shmem_bytes = 4096;
  conclude(incident);
  ASSERT_EQ(incident.verdict->cause, "page_cache_or_tmpfs");
  EXPECT_THAT(incident.answer->sentence, StartsWith("Files in memory filled its limit"));
}

TEST(VerdictTest, anon_held_mostly_by_others_is_sibling) {
  Incident incident = flat_incident();
  incident.others.reset();
  incident.memory_stat["anon"] = 250'000'000;
  incident.victims[0].rss->anon_bytes = 50'000'000;
  EXPECT_EQ(cause_of(incident), "sibling");
  incident.victims[0].rss->anon_bytes = 125'000'000;
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, workers_that_are_alike_have_no_sibling_to_blame) {
  Incident incident = flat_incident();
  incident.memory_stat["anon"] = 200'000'000;
  incident.victims[0].rss->anon_bytes = 50'000'000;
  incident.victims[0].oom_score_adj = 0;
  incident.others = {.count = 3, .lowest_oom_score_adj = 0, .largest = {}};
  EXPECT_EQ(cause_of(incident), "");
  incident.others = {
      .count = 3, .lowest_oom_score_adj = -500, .largest = {}};  // one of them may be large and was spared
  EXPECT_EQ(cause_of(incident), "sibling");
  incident.others = {.count = 30, .lowest_oom_score_adj = 0, .largest = {}};  // many small ones: they fill it together
  EXPECT_EQ(cause_of(incident), "sibling");
}

TEST(VerdictTest, victims_without_known_memory_are_not_judged_against_siblings) {
  Incident incident = flat_incident();
  incident.victims[0].rss.reset();
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, half_the_limit_within_ten_seconds_is_spike) {
  Incident incident = flat_incident();
  incident.series = {{before_kill(9'000), *incident.usage_bytes - *incident.limit_bytes / 2, {}},
                     {before_kill(0), *incident.usage_bytes, {}}};
  EXPECT_EQ(cause_of(incident), "spike");
  incident.series[0].time = before_kill(10'001);
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, readings_after_the_kill_do_not_make_a_spike) {
  Incident incident = flat_incident();
  incident.series.push_back({before_kill(-1'000), 1'000'000, {}});
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, page_cache_that_fits_beside_the_victims_memory_is_page_cache) {
  Incident incident = flat_incident();
  incident.victims[0].rss->anon_bytes = 1'000'000;
  incident.memory_stat = {{"anon", 1'000'000}, {"file", *incident.usage_bytes / 2}, {"shmem", 0}};
  EXPECT_EQ(cause_of(incident), "page_cache_or_tmpfs");
  incident.victims[0].rss->anon_bytes = *incident.usage_bytes / 2 + 4096;  // an old memory.stat
  EXPECT_EQ(cause_of(incident), "");
}

TEST(VerdictTest, tmpfs_when_usage_is_not_known_is_judged_by_the_limit) {
  Incident incident = flat_incident();
  incident.usage_bytes.reset();
  incident.memory_stat["shmem"] = *incident.limit_bytes / 2;
  EXPECT_EQ(cause_of(incident), "page_cache_or_tmpfs");
}

}  // namespace
}  // namespace oomw
