// SPDX-License-Identifier: Apache-2.0
// Kills that only the kernel's count of a cgroup tells of.
#include <gmock/gmock.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class UnobservedKillsTest : public CorrelatorFixture {
 protected:
  UnobservedKillsTest()
      : CorrelatorFixture({created(2, 1, "/pod/web"), identified(2, "c0ffee", "web"), sampled(2, 1000, 100),
                           sampled(2, 2000, 240), sampled(2, 3000, 20)}) {}

  static UnobservedKills counted(std::uint64_t kills = 1, std::int64_t after_ms = 1500, std::int64_t until_ms = 3000) {
    return {CgroupId{2}, kills, at_ms(after_ms), at_ms(until_ms)};
  }
  bool is_late(const OomKill& kill) { return correlator_.resolve(kill, model_).report == ResolvedKill::Report::kLate; }
};

TEST_F(UnobservedKillsTest, a_count_alone_gives_an_incident_of_what_is_known_of_the_place) {
  apply(crossed(2, 2500, 95));
  correlator_.on_unobserved(counted(), {}, model_);
  const Incident incident = take_one(3600);
  EXPECT_THAT(incident.victims, IsEmpty());
  EXPECT_EQ(incident.victim_count, 1u);
  EXPECT_EQ(incident.cgroup_path, "/pod/web");
  EXPECT_EQ(incident.container.name, "web");
  EXPECT_EQ(incident.limit_bytes, 256 * kMiB);
  EXPECT_EQ(incident.usage_bytes, 240 * kMiB) << "the most before the count had risen";
  EXPECT_EQ(incident.series.size(), 3u);
  EXPECT_EQ(incident.watermarks.size(), 1u);
  EXPECT_EQ(incident.time.ns, at_ms(3000).ns + kWallOffset);
}

TEST_F(UnobservedKillsTest, a_count_alone_says_neither_scope_nor_cause) {
  correlator_.on_unobserved(counted(), {}, model_);
  const Incident incident = take_one(3600);
  EXPECT_EQ(incident.scope, "");
  EXPECT_FALSE(incident.verdict.has_value());
  EXPECT_THAT(incident.notes, Contains(StartsWith("victims: 1 of those that the kernel counted")));
  EXPECT_THAT(incident.notes, Contains(HasSubstr("1.500 s before it had not")));
  EXPECT_THAT(incident.notes, Contains(StartsWith("limit.owner_cgroup_path: the kernel did not name it")));
  const std::string json = to_json(incident);
  EXPECT_THAT(json, HasSubstr("\"scope\": null"));
  EXPECT_THAT(json, HasSubstr("\"victims\": []"));
  EXPECT_THAT(json, HasSubstr("\"victim_count\": 1"));
  const auto back = incident_from_json(json);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_json(*back), json);
}

TEST_F(UnobservedKillsTest, the_report_says_that_nobody_was_named) {
  correlator_.on_unobserved(counted(2), {}, model_);
  const std::string report = to_markdown(take_one(3600), {});
  EXPECT_THAT(report, HasSubstr("the kernel killed 2 processes in container web"));
  EXPECT_THAT(report, HasSubstr("whose limit it was is not known"));
  EXPECT_THAT(report, HasSubstr("## Victims\n\nNot known"));
}

TEST_F(UnobservedKillsTest, each_rise_is_an_incident_of_its_own) {
  correlator_.on_unobserved(counted(1, 1500, 3000), {}, model_);
  correlator_.on_unobserved(counted(1, 3000, 4000), {}, model_);
  const auto ready = take(4600);
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_NE(ready[0].id, ready[1].id);
}

TEST_F(UnobservedKillsTest, a_late_report_gives_the_incident_its_victim) {
  correlator_.on_unobserved(counted(), {}, model_);
  const std::string id = take_one(3600).id;
  const OomKill late = killed(10, 5, 2, 2, 3700);
  EXPECT_TRUE(is_late(late));
  apply(late);
  const Incident amended = take_one(3800);
  EXPECT_EQ(amended.id, id);
  ASSERT_EQ(amended.victims.size(), 1u);
  EXPECT_EQ(amended.victims[0].process.pid, 10);
  EXPECT_EQ(amended.victim_count, 1u);
  EXPECT_EQ(amended.scope, "container");
  EXPECT_EQ(amended.limit_owner_cgroup_path, "/pod/web");
  EXPECT_EQ(correlator_.decisions(), 0u) << "it was there before";
}

TEST_F(UnobservedKillsTest, a_second_report_is_another_kill) {
  correlator_.on_unobserved(counted(), {}, model_);
  (void)take(3600);
  apply(killed(10, 5, 2, 2, 3700));
  const OomKill other = killed(11, 6, 2, 2, 3900);
  EXPECT_FALSE(is_late(other));
  apply(other);
  (void)take(4000);
  EXPECT_EQ(correlator_.decisions(), 1u);
}

TEST_F(UnobservedKillsTest, a_report_of_another_cgroup_or_time_is_no_late_report) {
  correlator_.on_unobserved(counted(), {}, model_);
  (void)take(3600);
  EXPECT_FALSE(is_late(killed(10, 5, 3, 3, 3700)));
  EXPECT_FALSE(is_late(killed(10, 5, 2, 2, 1000))) << "before the count was level";
  EXPECT_FALSE(is_late(killed(10, 5, 2, 2, 8100))) << "after the window";
}

TEST_F(UnobservedKillsTest, what_it_may_have_been_is_said_in_a_note) {
  OomKill told = killed(77, 0, 0, 0, 2990);
  told.victim_comm = "a\x1b[31m`b`";
  correlator_.on_unobserved(counted(), {told}, model_);
  const Incident incident = take_one(3600);
  EXPECT_THAT(incident.notes, Contains(HasSubstr("pid 77")));
  for (const std::string& note : incident.notes) EXPECT_EQ(note.find('\x1b'), std::string::npos) << note;
}

TEST_F(UnobservedKillsTest, a_flood_of_them_merges_and_is_counted) {
  CorrelatorConfig config;
  config.max_open_per_place = 2;
  Correlator few{config};
  for (int i = 0; i < 5; ++i) few.on_unobserved(counted(1, 3000 + i, 3001 + i), {}, model_);
  const auto ready = few.take_ready(at_ms(3600), model_, kWallOffset);
  ASSERT_EQ(ready.size(), 2u);
  EXPECT_EQ(ready[0].victim_count + ready[1].victim_count, 5u);
  EXPECT_EQ(few.merged_kills(), 3u);
}

TEST_F(UnobservedKillsTest, a_removed_cgroup_whose_owner_nobody_knows_is_an_incident_still) {
  correlator_.on_unobserved({CgroupId{9}, 1, at_ms(100), at_ms(200)}, {}, model_);
  const Incident incident = take_one(3600);
  EXPECT_EQ(incident.cgroup_path, "");
  EXPECT_THAT(incident.notes, Contains(StartsWith("scope: only a count tells")));
  EXPECT_FALSE(incident.limit_bytes.has_value());
}

}  // namespace
}  // namespace oomw::test
