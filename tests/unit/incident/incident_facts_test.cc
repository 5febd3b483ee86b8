// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_facts.h"

#include <gtest/gtest.h>

#include "support/builders.h"

namespace oomw {
namespace {

using test::in_pod;

Incident in_cgroup(const std::string& path) {
  Incident incident;
  incident.cgroup_path = path;
  return incident;
}

TEST(IncidentFactsTest, pods_of_one_workload_are_one) {
  EXPECT_EQ(facts_of(in_pod("cart-7d9f8c4b5-x2x5z", "cart")).workload, "shop/cart/web");
  EXPECT_EQ(facts_of(in_pod("cart-7d9f8c4b5-x2x5z")).workload, "shop/cart/web") << "without the API, by convention";
  EXPECT_EQ(facts_of(in_pod("agent-x2x5z")).workload, "shop/agent/web");
  EXPECT_EQ(facts_of(in_pod("db-0")).workload, "shop/db-0/web");
  EXPECT_EQ(facts_of(in_pod("plain")).workload, "shop/plain/web");
  EXPECT_EQ(facts_of(in_pod("cart")).tenant, "shop");
}

TEST(IncidentFactsTest, a_plain_cgroup_is_its_path_without_ids) {
  EXPECT_EQ(facts_of(in_cgroup("/a/batch")).workload, "/a/batch");
  EXPECT_EQ(facts_of(in_cgroup("/docker/" + std::string(63, 'a') + "7")).workload, "/docker/*");
  EXPECT_EQ(facts_of(in_cgroup("/system.slice/cri-containerd-0123456789abcdef.scope")).workload,
            "/system.slice/cri-containerd-*.scope");
  EXPECT_EQ(facts_of(in_cgroup("/kubepods/pod01234567-89ab-cdef-0123-456789abcdef/x")).workload, "/kubepods/pod*/x");
  EXPECT_EQ(facts_of(in_cgroup("/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice")).workload,
            "/kubepods-pod*.slice");
  EXPECT_EQ(facts_of(in_cgroup("/facade-decade/deadbeef")).workload, "/facade-decade/deadbeef");
  EXPECT_EQ(facts_of(in_cgroup("")).workload, "/");
}

TEST(IncidentFactsTest, a_name_without_a_pod_counts_within_its_tenant_only) {
  Incident service = in_cgroup("/system.slice/web.service");
  service.container.unit = "web.service";
  Incident of_user = in_cgroup("/user.slice/user-1000.slice/user@1000.service/app.slice/web.service");
  of_user.container.unit = "web.service";
  EXPECT_EQ(facts_of(service).workload, "/system.slice/web.service");
  EXPECT_EQ(facts_of(of_user).workload, "/user.slice/user-1000.slice/web.service");
  EXPECT_EQ(facts_of(of_user).tenant, "/user.slice/user-1000.slice");
}

TEST(IncidentFactsTest, a_restarted_container_without_a_pod_is_the_same) {
  Incident first = in_cgroup("/docker/" + std::string(63, 'a') + "1");
  Incident second = in_cgroup("/docker/" + std::string(63, 'b') + "2");
  for (Incident* incident : {&first, &second}) {
    incident->container.runtime = "docker";
    incident->container.name = "web";
  }
  EXPECT_EQ(facts_of(first).workload, facts_of(second).workload);
  EXPECT_EQ(facts_of(first).workload, "/docker/docker web");
}

TEST(IncidentFactsTest, hostile_names_are_bounded) {
  EXPECT_LE(facts_of(in_cgroup("/" + std::string(4'000, 'x'))).workload.size(), 256u);
  EXPECT_LE(facts_of(in_pod(std::string(4'000, '-'))).workload.size(), 256u);
}

TEST(IncidentFactsTest, a_profile_is_more_evidence_than_none_and_a_whole_one_more_than_a_part) {
  const Incident with_profiles = test::sample_incident();
  Incident without = with_profiles;
  without.captures.clear();
  Incident partial = with_profiles;
  for (IncidentCapture& capture : partial.captures) capture.complete = false;
  EXPECT_GT(facts_of(with_profiles).evidence, facts_of(without).evidence);
  EXPECT_GT(facts_of(partial).evidence, facts_of(without).evidence);
}

}  // namespace
}  // namespace oomw
