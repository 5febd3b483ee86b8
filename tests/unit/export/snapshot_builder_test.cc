// SPDX-License-Identifier: Apache-2.0
#include "export/snapshot_builder.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::ElementsAre;

constexpr std::size_t kPlenty = 100;
constexpr MonotonicTime kNow{1'000'000'000};

class SnapshotBuilderTest : public testing::Test {
 protected:
  void make_cgroup(std::uint64_t id, const std::string& path, std::uint64_t parent = 0) {
    model.apply(CgroupCreated{kNow, {id}, {parent}, path, true});
  }
  void identify(std::uint64_t id, const std::string& name) {
    ContainerIdentity identity;
    identity.runtime = "containerd";
    identity.id = "id-of-" + name;
    identity.name = name;
    identity.pod_name = "pod";
    identity.pod_namespace = "ns";
    model.apply(ContainerIdentified{kNow, {id}, identity, true});
  }
  void sample(std::uint64_t id, std::uint64_t usage, std::optional<std::uint64_t> limit = {}) {
    model.apply(MemorySampled{kNow, {id}, usage, limit, usage / 2, 0, false, {}, {}});
  }
  MetricsSnapshot build(std::size_t max_containers = kPlenty) {
    MetricsSnapshot snapshot;
    add_model(model, max_containers, snapshot);
    return snapshot;
  }
  MemoryModel model;
};

TEST_F(SnapshotBuilderTest, container_is_shown_with_its_readings) {
  make_cgroup(1, "/c");
  identify(1, "app");
  sample(1, 100, 200);
  model.apply(ReclaimSampled{kNow, {1}, 5, 3, 4096, 2'500'000'000});
  const auto snapshot = build();
  ASSERT_EQ(snapshot.containers.size(), 1u);
  const ContainerMetrics& container = snapshot.containers[0];
  EXPECT_EQ(container.k8s_namespace, "ns");
  EXPECT_EQ(container.pod, "pod");
  EXPECT_EQ(container.container, "app");
  EXPECT_EQ(container.usage_bytes, 100u);
  EXPECT_EQ(container.limit_bytes, 200u);
  EXPECT_EQ(container.nonreclaimable_bytes, 50u);
  EXPECT_EQ(container.reclaim_stall_seconds, 2.5);
  EXPECT_EQ(container.reclaim_calls, 5u);
  EXPECT_EQ(container.reclaim_zero_yield_calls, 3u);
}

TEST_F(SnapshotBuilderTest, one_suspected_process_makes_its_container_suspected) {
  for (const std::uint64_t id : {1, 2, 3}) {
    make_cgroup(id, "/c" + std::to_string(id));
    identify(id, "app" + std::to_string(id));
  }
  const auto live_in = [&](std::int32_t pid, std::uint64_t cgroup) {
    ProcessSeen seen;
    seen.time = kNow;
    seen.process = {pid, 1};
    seen.cgroup = {cgroup};
    model.apply(seen);
  };
  live_in(10, 1);
  live_in(11, 1);
  live_in(20, 2);
  MetricsSnapshot snapshot;
  add_model(model, kPlenty, snapshot,
            {{{10, 1}, {true, {"list", 1, 2, 3}}}, {{11, 1}, {false, {}}}, {{20, 1}, {false, {}}}});
  std::map<std::string, std::optional<bool>> suspected;
  for (const ContainerMetrics& c : snapshot.containers) suspected[c.container] = c.suspected_leak;
  EXPECT_EQ(suspected["app1"], true);
  EXPECT_EQ(suspected["app2"], false);
  EXPECT_EQ(suspected["app3"], std::nullopt);  // never read
  const auto app1 = std::ranges::find(snapshot.containers, "app1", &ContainerMetrics::container);
  EXPECT_EQ(app1->growing.name, "list");
  EXPECT_EQ(app1->growing.last_bytes, 2u);
}

TEST_F(SnapshotBuilderTest, plain_cgroup_is_shown_only_with_a_limit_by_its_last_component) {
  make_cgroup(1, "/jobs/nightly");
  make_cgroup(2, "/jobs/unlimited");
  sample(1, 10, 20);
  sample(2, 10);
  const auto snapshot = build();
  ASSERT_EQ(snapshot.containers.size(), 1u);
  EXPECT_EQ(snapshot.containers[0].container, "nightly");
}

// A pod as kubelet makes it: its own cgroup 1, a sandbox 2, containers from 3 on, each in the pod.
class PodSnapshotTest : public SnapshotBuilderTest {
 protected:
  PodSnapshotTest() {
    make_cgroup(1, "/kubepods/poduid");
    place(1, "", "");
    make_cgroup(2, "/kubepods/poduid/pause", 1);
    place(2, "pause", "", true);
    sample(2, 1);
  }
  void place(std::uint64_t id, const std::string& container, const std::string& name, bool is_sandbox = false) {
    ContainerIdentity identity;
    identity.runtime = container.empty() ? "" : "containerd";
    identity.id = container;
    identity.name = name;
    identity.pod_uid = "uid";
    identity.is_sandbox = is_sandbox;
    model.apply(ContainerIdentified{kNow, {id}, identity, is_sandbox || !name.empty()});
  }
  void add_container(std::uint64_t id, const std::string& name, std::optional<std::uint64_t> limit) {
    make_cgroup(id, "/kubepods/poduid/" + name, 1);
    place(id, "id-of-" + name, name);
    read_twice(id, 50, limit);
  }
  void read_twice(std::uint64_t id, std::uint64_t usage, std::optional<std::uint64_t> limit) {
    for (const int seconds : {0, 1}) {
      const MonotonicTime time = kNow + std::chrono::seconds(seconds);
      model.apply(MemorySampled{time, {id}, usage, limit, usage / 2, 0, false, {}, {}});
    }
  }
  void tell_of_pod(const std::vector<std::string>& container_ids) {
    PodSeen pod;
    pod.uid = "uid";
    pod.name = "pod";
    pod.name_space = "ns";
    for (const std::string& id : container_ids) {
      PodContainer& container = pod.containers.emplace_back();
      container.id = "id-of-" + id;
      container.name = id;
    }
    model.apply(pod);
  }
  std::vector<std::string> shown() {
    std::vector<std::string> names;
    for (const ContainerMetrics& c : build().containers)
      names.push_back(c.k8s_namespace + "/" + c.pod + "/" + c.container);
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(PodSnapshotTest, a_pod_whose_containers_have_limits_and_its_sandbox_are_no_containers) {
  sample(1, 100, 200);
  add_container(3, "app", 200);
  tell_of_pod({"app"});
  EXPECT_THAT(shown(), ElementsAre("ns/pod/app"));
}

TEST_F(PodSnapshotTest, a_limit_that_only_the_pod_has_is_shown_under_its_name) {
  sample(1, 100, 200);
  add_container(3, "app", std::nullopt);
  tell_of_pod({"app"});
  EXPECT_THAT(shown(), ElementsAre("ns/pod/", "ns/pod/app"));
  const auto containers = build().containers;
  const auto own = std::ranges::find(containers, "", &ContainerMetrics::container);
  EXPECT_EQ(own->limit_bytes, 200u);
  EXPECT_EQ(own->seconds_to_limit, std::nullopt);
}

TEST_F(PodSnapshotTest, so_it_is_where_only_some_containers_have_one) {
  sample(1, 100, 200);
  add_container(3, "app", 100);
  add_container(4, "free", std::nullopt);
  tell_of_pod({"app", "free"});
  EXPECT_THAT(shown(), ElementsAre("ns/pod/", "ns/pod/app", "ns/pod/free"));
}

TEST_F(PodSnapshotTest, reclaim_for_the_pods_limit_is_the_pods) {
  model.apply(ReclaimSampled{kNow, {1}, 5, 3, 4096, 2'500'000'000});
  EXPECT_TRUE(build().pods.empty());  // its name is not known
  tell_of_pod({});
  const auto pods = build().pods;
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0].k8s_namespace + "/" + pods[0].pod, "ns/pod");
  EXPECT_EQ(pods[0].reclaim_stall_seconds, 2.5);
  EXPECT_EQ(pods[0].reclaim_calls, 5u);
}

TEST_F(PodSnapshotTest, a_container_that_was_just_made_is_not_taken_to_have_none) {
  sample(1, 100, 200);
  make_cgroup(3, "/kubepods/poduid/app", 1);
  place(3, "id-of-app", "app");
  sample(3, 1);
  tell_of_pod({"app"});
  EXPECT_THAT(shown(), ElementsAre("ns/pod/app"));
}

TEST_F(PodSnapshotTest, without_a_bundle_the_api_shows_which_one_is_the_sandbox) {
  place(2, "pause", "");
  make_cgroup(3, "/kubepods/poduid/app", 1);
  place(3, "id-of-app", "");
  EXPECT_EQ(shown().size(), 1u);  // both without a name: one label set
  tell_of_pod({"app"});
  EXPECT_THAT(shown(), ElementsAre("ns/pod/app"));
}

TEST_F(SnapshotBuilderTest, never_read_cgroup_has_no_usage_rather_than_zero) {
  make_cgroup(1, "/c");
  identify(1, "app");
  EXPECT_EQ(build().containers.at(0).usage_bytes, std::nullopt);
}

TEST_F(SnapshotBuilderTest, nested_limit_belongs_to_its_container) {
  make_cgroup(1, "/c");
  make_cgroup(2, "/c/nested", 1);
  identify(1, "app");
  sample(1, 100, 200);
  sample(2, 900, 950);
  const auto snapshot = build();
  ASSERT_EQ(snapshot.containers.size(), 1u);
  EXPECT_EQ(snapshot.containers[0].usage_bytes, 100u);
}

TEST_F(SnapshotBuilderTest, restarted_container_shows_the_living_one_not_the_lingering) {
  make_cgroup(9, "/old");
  make_cgroup(1, "/new");
  identify(9, "app");
  identify(1, "app");
  sample(9, 900);
  sample(1, 100);
  model.apply(CgroupRemoved{kNow, {9}});
  const auto snapshot = build();
  ASSERT_EQ(snapshot.containers.size(), 1u);
  EXPECT_EQ(snapshot.containers[0].usage_bytes, 100u);
}

TEST_F(SnapshotBuilderTest, beyond_the_maximum_the_largest_stay_and_the_rest_is_counted) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    make_cgroup(id, "/c" + std::to_string(id));
    identify(id, "app" + std::to_string(id));
    sample(id, id * 100);
  }
  auto snapshot = build(2);
  ASSERT_EQ(snapshot.containers.size(), 2u);
  EXPECT_EQ(snapshot.containers[0].container, "app3");
  EXPECT_EQ(snapshot.lost["metrics_containers"], 1u);
}

TEST_F(SnapshotBuilderTest, seconds_to_limit_is_headroom_over_growth) {
  make_cgroup(1, "/c");
  identify(1, "app");
  sample(1, 100, 200);
  model.apply(WatermarkCrossed{kNow, {1}, {1}, WatermarkReason::kLevel, 50, 100, 200, 25.0, {}, 1});
  const auto container = build().containers.at(0);
  EXPECT_EQ(container.growth_bytes_per_second, 25.0);
  EXPECT_EQ(container.seconds_to_limit, 4.0);
}

TEST_F(SnapshotBuilderTest, a_container_that_is_gone_has_neither_growth_nor_time_left) {
  make_cgroup(1, "/c");
  identify(1, "app");
  sample(1, 100, 200);
  model.apply(WatermarkCrossed{kNow, {1}, {1}, WatermarkReason::kLevel, 50, 100, 200, 25.0, {}, 1});
  model.apply(CgroupRemoved{kNow, {1}});
  const auto container = build().containers.at(0);
  EXPECT_TRUE(container.is_removed);
  EXPECT_EQ(container.growth_bytes_per_second, std::nullopt);
  EXPECT_EQ(container.seconds_to_limit, std::nullopt);
}

TEST_F(SnapshotBuilderTest, without_growth_there_is_no_time_to_the_limit) {
  make_cgroup(1, "/c");
  identify(1, "app");
  sample(1, 100, 200);
  EXPECT_EQ(build().containers.at(0).seconds_to_limit, std::nullopt);
  model.apply(WatermarkCrossed{kNow, {1}, {1}, WatermarkReason::kLevel, 50, 100, 200, 6.4e-26, {}, 1});
  EXPECT_EQ(build().containers.at(0).seconds_to_limit, std::nullopt) << "2e33 s were shown";
}

TEST_F(SnapshotBuilderTest, losses_and_sizes_are_taken_over) {
  make_cgroup(1, "/c");
  model.apply(EventsLost{kNow, "ringbuf_kill", 4});
  auto snapshot = build();
  EXPECT_EQ(snapshot.lost["ringbuf_kill"], 4u);
  EXPECT_EQ(snapshot.lost["metrics_containers"], 0u);
  EXPECT_EQ(snapshot.cgroups, 1u);
}

// The labels must be those of oom_kills_total, or the two cannot be joined.
TEST_F(SnapshotBuilderTest, labels_are_those_of_the_kill_counter) {
  make_cgroup(1, "/c");
  identify(1, "app");
  const KillLabels expected = labels_of(CgroupId{1}, LimitScope::kContainer, model);
  const auto container = build().containers.at(0);
  EXPECT_EQ(container.k8s_namespace, expected.k8s_namespace);
  EXPECT_EQ(container.pod, expected.pod);
  EXPECT_EQ(container.container, expected.container);
}

}  // namespace
}  // namespace oomw
