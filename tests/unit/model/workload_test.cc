// SPDX-License-Identifier: Apache-2.0
#include "model/workload.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr std::int64_t kNow = 1'795'000'000;  // s: 29'916'666 minutes

PodSeen owned_by(const std::string& kind, const std::string& name) {
  PodSeen pod;
  pod.wall_offset_ns = kNow * 1'000'000'000;
  pod.owner_kind = kind;
  pod.owner_name = name;
  return pod;
}

TEST(WorkloadOf, a_deployments_pod_bears_the_hash_of_its_replica_sets_name) {
  PodSeen pod = owned_by("ReplicaSet", "cart-api-7d9f");
  pod.labels["pod-template-hash"] = "7d9f";
  EXPECT_EQ(workload_of(pod), (Workload{"Deployment", "cart-api", "pod_template_hash"}));
}

TEST(WorkloadOf, a_hash_of_another_name_proves_nothing) {
  PodSeen pod = owned_by("ReplicaSet", "cart-api-7d9f");
  pod.labels["pod-template-hash"] = "1111";
  EXPECT_EQ(workload_of(pod), Workload{});
}

TEST(WorkloadOf, a_replica_set_without_a_hash_was_made_by_hand) {
  EXPECT_EQ(workload_of(owned_by("ReplicaSet", "cart-7d9f")), (Workload{"ReplicaSet", "cart-7d9f", "owner"}));
}

TEST(WorkloadOf, where_labels_were_cut_nothing_is_claimed) {
  PodSeen pod = owned_by("ReplicaSet", "cart-7d9f");
  pod.is_cut = true;
  EXPECT_EQ(workload_of(pod), Workload{});
}

TEST(WorkloadOf, a_rollout_has_its_own_label) {
  PodSeen pod = owned_by("ReplicaSet", "cart-7d9f");
  pod.labels["rollouts-pod-template-hash"] = "7d9f";
  EXPECT_EQ(workload_of(pod).kind, "Rollout");
}

TEST(WorkloadOf, a_jobs_name_that_ends_in_its_planned_time_is_a_cron_jobs) {
  EXPECT_EQ(workload_of(owned_by("Job", "backup-29916660")), (Workload{"CronJob", "backup", "job_name"}));
  EXPECT_EQ(workload_of(owned_by("Job", "backup-1794999600")), (Workload{"CronJob", "backup", "job_name"}));
}

TEST(WorkloadOf, another_number_is_the_jobs_own) {
  for (const char* name : {"import-20261122", "import-12345678", "import-9999999999", "import-2991666",
                           "import-2991666x", "import", "-29916660", "import-"}) {
    EXPECT_EQ(workload_of(owned_by("Job", name)), (Workload{"Job", name, "owner"})) << name;
  }
}

TEST(WorkloadOf, other_controllers_are_the_workload) {
  for (const char* kind : {"StatefulSet", "DaemonSet", "ReplicationController", "Kafka"}) {
    EXPECT_EQ(workload_of(owned_by(kind, "x")), (Workload{kind, "x", "owner"}));
  }
}

TEST(WorkloadOf, a_bare_pod_and_a_static_one_have_none) {
  EXPECT_EQ(workload_of(owned_by("", "")), Workload{});
  EXPECT_EQ(workload_of(owned_by("Node", "node-1")), Workload{});
}

TEST(WorkloadText, an_inference_says_so) {
  EXPECT_EQ(to_text(Workload{"Deployment", "cart", "pod_template_hash"}), "Deployment cart");
  EXPECT_EQ(to_text(Workload{"CronJob", "backup", "job_name"}), "CronJob backup (by the Job's name)");
  EXPECT_EQ(to_text(Workload{}), "");
}

}  // namespace
}  // namespace oomw
