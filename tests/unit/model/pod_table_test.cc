// SPDX-License-Identifier: Apache-2.0
#include "model/pod_table.h"

#include <gtest/gtest.h>

#include "model/memory_model.h"

namespace oomw {
namespace {

constexpr CgroupId kPodCgroup{7};

PodSeen collector_pod() {
  PodSeen pod;
  pod.uid = "uid";
  pod.name_space = "payments";
  pod.name = "otelcol-7f";
  pod.labels["app"] = "otelcol";
  PodContainer container;
  container.name = "collector";
  container.id = "run1";
  container.image = "img";
  container.restart_count = 3;
  pod.containers = {container};
  return pod;
}

ContainerIdentity make_identity(const std::string& id = "run1") {
  ContainerIdentity identity;
  identity.id = id;
  identity.pod_uid = "uid";
  return identity;
}

TEST(PodTable, a_container_is_found_by_its_id) {
  PodTable pods;
  pods.on(collector_pod());
  const auto facts = pods.facts_of(make_identity());
  ASSERT_TRUE(facts && facts->container);
  EXPECT_EQ(facts->restart_count, 3u);
  EXPECT_EQ(facts->labels.at("app"), "otelcol");
}

TEST(PodTable, a_run_that_status_does_not_know_yet_is_found_by_pod_and_name) {
  PodTable pods;
  pods.on(collector_pod());
  ContainerIdentity identity = make_identity("run2");
  identity.name = "collector";
  const auto facts = pods.facts_of(identity);
  ASSERT_TRUE(facts && facts->container);
  EXPECT_EQ(facts->container->id, "run1");
}

TEST(PodTable, a_count_without_a_run_is_every_runs) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.containers[0].id = "";
  pod.containers[0].restart_count = 0;
  pods.on(pod);
  ContainerIdentity identity = make_identity("run2");
  identity.name = "collector";
  EXPECT_EQ(pods.facts_of(identity)->restart_count, 0u);
}

PodTermination ended(const std::string& run) { return PodTermination{run, "Error", 2, WallTime{0}}; }

TEST(PodTable, another_runs_status_says_nothing_of_restarts_and_ends) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.containers[0].last_termination = ended("run0");
  pods.on(pod);
  ContainerIdentity identity = make_identity("run2");
  identity.name = "collector";
  const auto facts = pods.facts_of(identity);
  EXPECT_EQ(facts->restart_count, std::nullopt);
  EXPECT_EQ(facts->last_termination, std::nullopt);
}

TEST(PodTable, the_run_that_status_names_as_the_one_before_had_one_restart_less) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.containers[0].last_termination = ended("run0");
  pods.on(pod);
  const auto facts = pods.facts_of(make_identity("run0"));  // no bundle told its name
  EXPECT_EQ(facts->restart_count, 2u);
  EXPECT_EQ(facts->last_termination, std::nullopt);  // it is its own end
  EXPECT_EQ(facts->container->name, "collector");
}

TEST(PodTable, so_had_the_one_before_a_run_that_ended_too) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.containers[0].last_termination = ended("run1");
  pod.containers[0].earlier_termination = ended("run0");
  pods.on(pod);
  EXPECT_EQ(pods.facts_of(make_identity("run0"))->restart_count, 2u);
  const auto newest = pods.facts_of(make_identity("run1"));
  EXPECT_EQ(newest->restart_count, 3u);
  EXPECT_EQ(newest->last_termination, ended("run0"));
}

TEST(PodTable, a_waiting_container_has_the_restarts_of_the_run_it_still_names) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.containers[0].last_termination = ended("run1");  // CrashLoopBackOff: lastState is of the very id
  pods.on(pod);
  const auto facts = pods.facts_of(make_identity("run1"));
  EXPECT_EQ(facts->restart_count, 3u);
  EXPECT_EQ(facts->last_termination, std::nullopt);
}

TEST(PodTable, a_status_without_an_id_proves_nothing_of_the_run_before) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.containers[0].id = "";
  pod.containers[0].last_termination = ended("run0");
  pods.on(pod);
  EXPECT_EQ(pods.facts_of(make_identity("run0"))->restart_count, std::nullopt);
}

TEST(PodTable, a_container_of_no_known_name_has_its_pod_only) {
  PodTable pods;
  pods.on(collector_pod());
  const auto facts = pods.facts_of(make_identity("run2"));
  ASSERT_TRUE(facts.has_value());
  EXPECT_FALSE(facts->container.has_value());
}

TEST(PodTable, a_static_pod_is_found_by_the_uid_of_its_cgroups) {
  PodTable pods;
  PodSeen pod = collector_pod();
  pod.static_uid = "9f3d";
  pods.on(pod);
  ContainerIdentity identity = make_identity("run2");
  identity.pod_uid = "9f3d";
  EXPECT_TRUE(pods.facts_of(identity).has_value());
}

TEST(PodTable, a_new_run_replaces_the_old_one) {
  PodTable pods;
  pods.on(collector_pod());
  PodSeen next = collector_pod();
  next.containers[0].id = "run2";
  pods.on(next);
  EXPECT_EQ(pods.find_container("run1"), nullptr);
  EXPECT_NE(pods.find_container("run2"), nullptr);
}

TEST(PodTable, a_pod_that_is_gone_stays_until_it_expires) {
  PodTable pods;
  pods.on(collector_pod());
  pods.on(PodGone{{100}, "uid"});
  pods.expire({100});
  EXPECT_EQ(pods.size(), 1u);
  pods.expire({101});
  EXPECT_EQ(pods.size(), 0u);
  EXPECT_EQ(pods.find_container("run1"), nullptr);
}

TEST(PodTable, one_too_many_is_counted) {
  PodTable pods;
  for (std::size_t i = 0; i <= PodTable::kMax; ++i) {
    PodSeen pod = collector_pod();
    pod.uid = std::to_string(i);
    pods.on(pod);
  }
  EXPECT_EQ(pods.size(), PodTable::kMax);
  EXPECT_EQ(pods.dropped(), 1u);
}

TEST(ModelOfPods, names_that_no_bundle_told_come_from_the_api) {
  MemoryModel model;
  model.apply(ContainerIdentified{{1}, kPodCgroup, make_identity(), false});
  model.apply(collector_pod());
  const ContainerIdentity& who = model.find_cgroup(kPodCgroup)->identity;
  EXPECT_EQ(who.pod_name, "otelcol-7f");
  EXPECT_EQ(who.pod_namespace, "payments");
  EXPECT_EQ(who.name, "collector");
  EXPECT_EQ(who.image, "img");
}

// At a start all cgroups are walked before the list of pods is there.
TEST(ModelOfPods, a_pods_own_cgroup_and_a_run_of_no_status_have_their_names_from_a_later_list) {
  MemoryModel model;
  ContainerIdentity own = make_identity("");
  model.apply(ContainerIdentified{{1}, CgroupId{3}, own, false});
  model.apply(ContainerIdentified{{1}, CgroupId{4}, make_identity("run9"), false});
  model.apply(collector_pod());
  for (const std::uint64_t id : {3, 4}) {
    EXPECT_EQ(model.find_cgroup(CgroupId{id})->identity.pod_name, "otelcol-7f");
    EXPECT_EQ(model.find_cgroup(CgroupId{id})->identity.pod_namespace, "payments");
  }
}

TEST(ModelOfPods, a_bundle_names_its_pods_own_cgroup_too) {
  MemoryModel model;
  model.apply(ContainerIdentified{{1}, CgroupId{3}, make_identity(""), false});
  ContainerIdentity named = make_identity();
  named.pod_name = "otelcol-7f";
  named.pod_namespace = "payments";
  model.apply(ContainerIdentified{{1}, kPodCgroup, named, true});
  EXPECT_EQ(model.find_cgroup(CgroupId{3})->identity.pod_name, "otelcol-7f");
  EXPECT_EQ(model.find_cgroup(CgroupId{3})->identity.pod_namespace, "payments");
}

TEST(ModelOfPods, a_static_pods_cgroups_have_the_names_of_its_mirror) {
  MemoryModel model;
  ContainerIdentity own = make_identity("");
  own.pod_uid = "9f3d";
  model.apply(ContainerIdentified{{1}, CgroupId{3}, own, false});
  PodSeen pod = collector_pod();
  pod.static_uid = "9f3d";
  model.apply(pod);
  EXPECT_EQ(model.find_cgroup(CgroupId{3})->identity.pod_name, "otelcol-7f");
}

TEST(ModelOfPods, what_lies_in_a_pod_beside_its_containers_is_the_pods) {
  MemoryModel model;
  model.apply(CgroupCreated{{1}, {3}, {}, "/pod", true, false});
  model.apply(CgroupCreated{{1}, {5}, {3}, "/pod/conmon", true, false});
  model.apply(ContainerIdentified{{1}, CgroupId{3}, make_identity(""), false});
  ASSERT_NE(model.identity_of({5}), nullptr);
  EXPECT_EQ(model.identity_of({5})->pod_uid, "uid");
  EXPECT_EQ(model.container_of({5}), nullptr);
}

TEST(ModelOfPods, a_container_that_comes_after_its_pod_has_its_names_too) {
  MemoryModel model;
  model.apply(collector_pod());
  model.apply(ContainerIdentified{{1}, kPodCgroup, make_identity(), false});
  EXPECT_EQ(model.find_cgroup(kPodCgroup)->identity.pod_name, "otelcol-7f");
}

TEST(ModelOfPods, what_the_bundle_told_stands) {
  MemoryModel model;
  ContainerIdentity identity = make_identity();
  identity.image = "from-bundle";
  model.apply(ContainerIdentified{{1}, kPodCgroup, identity, true});
  model.apply(collector_pod());
  EXPECT_EQ(model.find_cgroup(kPodCgroup)->identity.image, "from-bundle");
}

}  // namespace
}  // namespace oomw
