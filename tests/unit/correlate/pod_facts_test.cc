// SPDX-License-Identifier: Apache-2.0
// What the Kubernetes API told becomes part of an incident, in time or late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;
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
  const Incident incident = killed_at_limit();
  ASSERT_TRUE(incident.pod.has_value());
  EXPECT_EQ(incident.pod->node, "node-1");
  EXPECT_EQ(incident.pod->restart_count, 3u);
  EXPECT_EQ(incident.pod->owner_kind, "StatefulSet");
  EXPECT_EQ(incident.container.labels.at("app"), "web");
}

TEST_F(PodFactsTest, a_status_after_the_kill_does_not_change_what_was_before) {
  apply(pod(0));
  (void)killed_at_limit();
  apply(pod(1500, 4));
  EXPECT_THAT(take(3000), IsEmpty());
}

TEST_F(PodFactsTest, a_pod_told_of_late_amends_and_says_so) {
  EXPECT_FALSE(killed_at_limit().pod.has_value());
  apply(pod(2000));
  const Incident amended = take_one(3000);
  EXPECT_EQ(amended.pod.value_or(IncidentPod{}).restart_count, 3u);  // of the run it names: not counting this kill
  EXPECT_THAT(amended.notes, Contains("pod.status: what was missing was reported 1.000 s after the kill"));
}

PodSeen restarted(std::int64_t ms, std::uint32_t restarts) {
  PodSeen e = pod(ms, restarts);
  e.containers[0].id = "run2";
  e.containers[0].last_termination = PodTermination{"run1", "OOMKilled", 137, WallTime{0}};
  return e;
}

TEST_F(PodFactsTest, a_status_of_another_run_tells_no_restarts) {
  PodSeen before = pod(0);
  before.containers[0].id = "run0";
  apply(before);
  const Incident incident = killed_at_limit();
  ASSERT_TRUE(incident.pod.has_value());
  EXPECT_EQ(incident.pod->restart_count, std::nullopt);
  EXPECT_EQ(incident.pod->last_termination, std::nullopt);
  EXPECT_THAT(to_json(incident), HasSubstr("pod.restart_count: not known: no status of the run that was killed"));
}

TEST_F(PodFactsTest, a_run_that_only_a_late_status_names_has_its_restarts_then) {
  PodSeen before = pod(0);
  before.containers[0].id = "";
  before.containers[0].restart_count.reset();
  apply(before);
  (void)killed_at_limit();
  (void)take(8000);  // its window for context is over
  apply(restarted(30'000, 4));
  const Incident amended = take_one(31'000);
  EXPECT_EQ(amended.pod->restart_count, 3u);
}

TEST_F(PodFactsTest, what_a_status_told_once_stays_when_the_next_names_another_run) {
  PodSeen before = pod(0);
  before.containers[0].id = "run0";
  apply(before);
  (void)killed_at_limit();
  apply(restarted(2000, 4));
  PodSeen next = restarted(2001, 5);
  next.containers[0].id = "run3";
  next.containers[0].last_termination->container_id = "run2";
  apply(next);
  EXPECT_EQ(take(3000).at(0).pod->restart_count, 3u);
}

TEST_F(PodFactsTest, a_status_after_the_last_window_changes_nothing) {
  (void)killed_at_limit();
  (void)take(8000);
  (void)take(58'000);
  apply(pod(58'500));
  EXPECT_THAT(take(60'000), IsEmpty());
  EXPECT_EQ(correlator_.next_due(), std::nullopt);
}

TEST_F(PodFactsTest, a_cgroup_in_a_pod_that_is_no_container_is_in_the_pod) {
  ContainerIdentified own = container(6);
  own.identity = {};
  own.identity.pod_uid = "uid";
  apply(created(6, 0, "/pod"));
  apply(own);
  apply(created(7, 6, "/pod/monitor"));
  apply(pod(0));
  apply(killed(10, 5, 7, 6, 1000));
  const Incident incident = take(1005).at(0);
  ASSERT_TRUE(incident.pod.has_value());
  EXPECT_EQ(incident.container.pod_name, "web-0");
  EXPECT_EQ(incident.pod->restart_count, std::nullopt);
}

TEST_F(PodFactsTest, a_pod_that_the_api_does_not_know_is_said) {
  apply(PodsCurrent{at_ms(0), true});
  EXPECT_THAT(killed_at_limit().notes, Contains("pod.node: the Kubernetes API has not reported this pod"));
}

TEST_F(PodFactsTest, a_disagreement_amends_the_incident_also_after_its_window) {
  apply(pod(0));
  (void)killed_at_limit();
  (void)take(8000);
  correlator_.on_status({"kill_not_in_status", "goes on", {10, 5}}, at_ms(21'000));
  const Incident amended = take_one(22'000);
  EXPECT_EQ(amended.pod->disagreement_kind, "kill_not_in_status");
  EXPECT_THAT(amended.notes, Contains("pod.disagreement: goes on"));
}

TEST_F(PodFactsTest, a_withdrawn_disagreement_is_taken_out_of_the_incident_and_said) {
  apply(pod(0));
  (void)killed_at_limit();
  correlator_.on_status({"kill_not_in_status", "goes on", {10, 5}}, at_ms(36'000));
  ASSERT_EQ(take(37'000).size(), 1u);
  correlator_.on_status({"kill_not_in_status", "it ended", {10, 5}, true}, at_ms(50'000));
  const Incident amended = take_one(51'000);
  EXPECT_EQ(amended.pod->disagreement, "");
  EXPECT_THAT(amended.notes, Contains("pod.disagreement: withdrawn: it ended"));
}

TEST_F(PodFactsTest, a_disagreement_about_no_known_kill_changes_nothing) {
  correlator_.on_status({"oom_killed_without_kill", "text", {}}, at_ms(1000));
  EXPECT_THAT(take(2000), IsEmpty());
}

TEST_F(PodFactsTest, all_of_it_comes_back_from_json) {
  apply(pod(0));
  (void)killed_at_limit();
  correlator_.on_status({"kill_with_other_reason", "other", {10, 5}}, at_ms(1500));
  const Incident incident = take(3000).at(0);
  const auto back = incident_from_json(to_json(incident));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(incident));
  EXPECT_EQ(back->pod->last_termination, incident.pod->last_termination);
  EXPECT_EQ(back->pod->workload, (Workload{"StatefulSet", "web", "owner"}));
}

}  // namespace
}  // namespace oomw
