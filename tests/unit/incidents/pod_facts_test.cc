// SPDX-License-Identifier: Apache-2.0
// What the Kubernetes API told becomes part of an incident, in time or late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incidents/correlator.h"
#include "unit/incidents/correlator_fixture.h"

namespace oomw {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ContainerIdentified container(std::uint64_t cgroup) {
  ContainerIdentified e = identified(cgroup, "run1", "web");
  e.identity.pod_uid = "uid";
  e.identity.pod_name = "web-0";
  e.identity.pod_namespace = "shop";
  return e;
}

PodSeen pod(std::int64_t ms, std::uint32_t restarts = 3) {
  PodSeen e;
  e.time = at_ms(ms);
  e.uid = "uid";
  e.name = "web-0";
  e.name_space = "shop";
  e.node = "node-1";
  e.owner_kind = "StatefulSet";
  e.owner_name = "web";
  e.labels["app"] = "web";
  PodContainer web;
  web.name = "web";
  web.id = "run1";
  web.restart_count = restarts;
  web.last_termination = PodTermination{"run0", "Error", 2, WallTime{0}};
  e.containers = {web};
  return e;
}

class PodFactsTest : public CorrelatorFixture {
 protected:
  PodFactsTest() : CorrelatorFixture({created(2, 0, "/web"), container(2)}) {}
};

TEST_F(PodFactsTest, what_was_told_before_the_kill_is_in_the_incident) {
  apply(pod(0));
  apply(killed(10, 5, 2, 2, 1000));
  const auto incidents = take(1005);
  ASSERT_EQ(incidents.size(), 1u);
  ASSERT_TRUE(incidents[0].pod.has_value());
  EXPECT_EQ(incidents[0].pod->node, "node-1");
  EXPECT_EQ(incidents[0].pod->restart_count, 3u);
  EXPECT_EQ(incidents[0].pod->owner_kind, "StatefulSet");
  EXPECT_EQ(incidents[0].container.labels.at("app"), "web");
}

TEST_F(PodFactsTest, a_status_after_the_kill_does_not_change_what_was_before) {
  apply(pod(0));
  apply(killed(10, 5, 2, 2, 1000));
  (void)take(1005);
  apply(pod(1500, 4));
  EXPECT_THAT(take(3000), IsEmpty());
}

TEST_F(PodFactsTest, a_pod_told_of_late_amends_and_says_so) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_FALSE(take(1005).at(0).pod.has_value());
  apply(pod(2000));
  const auto amended = take(3000);
  ASSERT_EQ(amended.size(), 1u);
  EXPECT_EQ(amended[0].pod.value_or(IncidentPod{}).restart_count, 3u);
  EXPECT_THAT(amended[0].notes, Contains(HasSubstr("it may count this kill")));
}

TEST_F(PodFactsTest, a_pod_that_the_api_does_not_know_is_said) {
  apply(PodsCurrent{at_ms(0), true});
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_THAT(take(1005).at(0).notes, Contains("pod.node: the Kubernetes API has not told of this pod"));
}

TEST_F(PodFactsTest, a_disagreement_amends_the_incident_also_after_its_window) {
  apply(pod(0));
  apply(killed(10, 5, 2, 2, 1000));
  (void)take(1005);
  (void)take(8000);
  correlator_.on_status({"kill_not_in_status", "goes on", {10, 5}}, at_ms(21'000));
  const auto amended = take(22'000);
  ASSERT_EQ(amended.size(), 1u);
  EXPECT_EQ(amended[0].pod->disagreement_kind, "kill_not_in_status");
  EXPECT_THAT(amended[0].notes, Contains("pod.disagreement: goes on"));
}

TEST_F(PodFactsTest, a_disagreement_about_no_known_kill_changes_nothing) {
  correlator_.on_status({"oom_killed_without_kill", "text", {}}, at_ms(1000));
  EXPECT_THAT(take(2000), IsEmpty());
}

TEST_F(PodFactsTest, all_of_it_comes_back_from_json) {
  apply(pod(0));
  apply(killed(10, 5, 2, 2, 1000));
  (void)take(1005);
  correlator_.on_status({"kill_with_other_reason", "other", {10, 5}}, at_ms(1500));
  const Incident incident = take(3000).at(0);
  const auto back = incident_from_json(to_json(incident));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(incident));
  EXPECT_EQ(back->pod->last_termination, incident.pod->last_termination);
}

}  // namespace
}  // namespace oomw
