// SPDX-License-Identifier: Apache-2.0
#include "store/incident_filter.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr std::int64_t kMinuteNs = 60'000'000'000;

IncidentSummary kill(const std::string& pod, const std::string& cause, std::int64_t minute) {
  IncidentSummary summary;
  summary.id = pod + std::to_string(minute);
  summary.time = {minute * kMinuteNs};
  summary.pod_namespace = "payments";
  summary.pod_name = pod + "-x2x5z";
  summary.container = "app";
  summary.workload = "payments/" + pod + "/app";
  summary.cause = cause;
  return summary;
}

bool is_shown(const IncidentFilter& filter) { return matches(kill("cart", "leak", 10), filter); }

TEST(IncidentFilterTest, matches_when_nothing_is_asked) { EXPECT_TRUE(is_shown({})); }

TEST(IncidentFilterTest, matches_a_namespace_and_a_cause_as_a_whole) {
  EXPECT_TRUE(is_shown({.pod_namespace = "payments"}));
  EXPECT_FALSE(is_shown({.pod_namespace = "pay"}));
  EXPECT_TRUE(is_shown({.cause = "leak"}));
  EXPECT_FALSE(is_shown({.cause = "lea"}));
}

TEST(IncidentFilterTest, matches_a_part_of_a_pod_and_of_a_container) {
  EXPECT_TRUE(is_shown({.pod = "cart"}));
  EXPECT_FALSE(is_shown({.pod = "shop"}));
  EXPECT_TRUE(is_shown({.container = "ap"}));
  EXPECT_FALSE(is_shown({.container = "sidecar"}));
}

TEST(IncidentFilterTest, matches_the_place_of_what_has_no_container_name) {
  IncidentSummary unit;
  unit.place = "etcd.service";
  EXPECT_TRUE(matches(unit, {.container = "etcd"}));
  EXPECT_FALSE(matches(unit, {.container = "cart"}));
}

TEST(IncidentFilterTest, matches_unknown_for_those_without_a_cause) {
  EXPECT_TRUE(matches(kill("cart", "", 10), {.cause = "unknown"}));
  EXPECT_FALSE(matches(kill("cart", "", 10), {.cause = "leak"}));
}

TEST(IncidentFilterTest, matches_within_the_time_alone) {
  EXPECT_TRUE(is_shown({.since = WallTime{10 * kMinuteNs}, .until = WallTime{10 * kMinuteNs}}));
  EXPECT_FALSE(is_shown({.since = WallTime{10 * kMinuteNs + 1}}));
  EXPECT_FALSE(is_shown({.until = WallTime{10 * kMinuteNs - 1}}));
}

TEST(GroupRepeatsTest, kills_of_one_workload_and_cause_are_one_group_with_its_newest) {
  const auto groups = group_repeats({kill("cart", "leak", 1), kill("cart", "leak", 9), kill("cart", "leak", 5)});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kills, 3u);
  EXPECT_EQ(groups[0].newest.id, "cart9");
  EXPECT_EQ(groups[0].first.ns, 1 * kMinuteNs);
  EXPECT_EQ(groups[0].last.ns, 9 * kMinuteNs);
}

TEST(GroupRepeatsTest, another_cause_or_workload_is_another_group_and_the_latest_comes_first) {
  const auto groups = group_repeats({kill("cart", "leak", 1), kill("shop", "leak", 3), kill("cart", "spike", 2)});
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].newest.id, "shop3");
  EXPECT_EQ(groups[2].newest.id, "cart1");
}

TEST(GroupRepeatsTest, kills_without_an_incident_of_their_own_count) {
  IncidentSummary summary = kill("cart", "leak", 1);
  summary.repeats = 36;
  summary.last_repeat = WallTime{7 * kMinuteNs};
  const auto groups = group_repeats({summary});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kills, 37u);
  EXPECT_EQ(groups[0].last.ns, 7 * kMinuteNs);
}

TEST(GroupRepeatsTest, those_without_a_workload_stay_alone) {
  IncidentSummary one = kill("a", "", 1), other = kill("b", "", 1);
  one.workload = other.workload = "";
  EXPECT_EQ(group_repeats({one, other}).size(), 2u);
}

TEST(AgeTextTest, ages_grow_by_unit) {
  const WallTime now{1'000'000'000'000'000'000};
  const auto age = [&](std::int64_t seconds) { return age_text({now.ns - seconds * 1'000'000'000}, now); };
  EXPECT_EQ(age(0), "just now");
  EXPECT_EQ(age(-60), "just now") << "a clock that was set back";
  EXPECT_EQ(age(90), "90 s ago");
  EXPECT_EQ(age(4 * 60), "4 min ago");
  EXPECT_EQ(age(3 * 3600), "3 h ago");
  EXPECT_EQ(age(3 * 86400), "3 d ago");
}

TEST(ParseSinceTest, takes_ages_and_times_and_nothing_else) {
  const WallTime now{1'000'000'000'000'000'000};
  EXPECT_EQ(parse_since("90s", now)->ns, now.ns - 90'000'000'000);
  EXPECT_EQ(parse_since("2h", now)->ns, now.ns - 7'200'000'000'000);
  EXPECT_EQ(parse_since("7d", now)->ns, now.ns - 604'800'000'000'000);
  EXPECT_EQ(parse_since("100000d", now)->ns, 0) << "not before 1970";
  EXPECT_EQ(parse_since("2026-11-21T03:04:05Z", now), parse_rfc3339("2026-11-21T03:04:05Z"));
  for (const char* bad : {"", "h", "-1h", "1w", "1.5h", "99999999999999999999d", "yesterday"}) {
    EXPECT_FALSE(parse_since(bad, now)) << bad;
  }
}

}  // namespace
}  // namespace oomw
