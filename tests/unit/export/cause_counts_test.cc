// SPDX-License-Identifier: Apache-2.0
#include "export/cause_counts.h"

#include <gtest/gtest.h>

#include "incident/incident.h"

namespace oomw {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

MonotonicTime at(std::int64_t seconds) { return MonotonicTime{} + std::chrono::seconds(seconds); }

Incident incident(std::string id, std::string cause, std::size_t victims = 1) {
  Incident made;
  made.id = std::move(id);
  made.victim_count = victims;
  if (!cause.empty()) made.verdict.emplace().cause = std::move(cause);
  return made;
}

TEST(CauseCounts, an_incident_counts_its_victims_once_it_has_settled) {
  CauseCounts counts;
  counts.note(incident("a", "leak", 3), false, at(10));
  EXPECT_EQ(counts.settled(at(15)), Counts());
  EXPECT_EQ(counts.settled(at(16)), (Counts{{"leak", 3}}));
  EXPECT_EQ(counts.settled(at(60)), (Counts{{"leak", 3}}));
}

TEST(CauseCounts, a_verdict_that_changes_before_is_the_one_that_counts_and_later_ones_change_nothing) {
  CauseCounts counts;
  counts.note(incident("a", ""), false, at(10));
  counts.note(incident("a", "spike"), true, at(12));
  EXPECT_EQ(counts.settled(at(16)), (Counts{{"spike", 1}}));
  counts.note(incident("a", "leak"), true, at(20));
  EXPECT_EQ(counts.settled(at(60)), (Counts{{"spike", 1}}));
}

TEST(CauseCounts, an_incident_without_a_verdict_is_unknown) {
  CauseCounts counts;
  counts.note(incident("a", "", 0), false, at(10));
  EXPECT_EQ(counts.settled(at(16)), (Counts{{"unknown", 1}}));
}

TEST(CauseCounts, a_storm_counts_its_oldest_at_once_and_loses_none) {
  CauseCounts counts;
  for (std::size_t i = 0; i < CauseCounts::kMaxWaiting + 5; ++i) {
    counts.note(incident(std::to_string(i), i == 0 ? "leak" : "spike"), false, at(static_cast<std::int64_t>(i)));
  }
  EXPECT_EQ(counts.settled(at(0)), (Counts{{"leak", 1}, {"spike", 4}}));
  EXPECT_EQ(counts.settled(at(10'000)), (Counts{{"leak", 1}, {"spike", CauseCounts::kMaxWaiting + 4}}));
}

TEST(CauseCounts, causes_beyond_the_bound_are_other) {
  CauseCounts counts;
  for (std::size_t i = 0; i < CauseCounts::kMaxCauses + 3; ++i) {
    counts.note(incident("i" + std::to_string(i), "cause" + std::to_string(i)), false, at(0));
  }
  const Counts& all = counts.settled(at(6));
  EXPECT_EQ(all.size(), CauseCounts::kMaxCauses + 1);
  EXPECT_EQ(all.at("other"), 3u);
}

}  // namespace
}  // namespace oomw
