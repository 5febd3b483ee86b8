// SPDX-License-Identifier: Apache-2.0
#include "model/limit_scope.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

std::string_view scope_of(const OomKill& kill, const MemoryModel& model) {
  return to_string(place_of_limit(kill, model).scope);
}

using namespace test;

constexpr const char* kUid = "0c4ad1f2-0000-4000-8000-000000000001";

std::string id_of(char c) { return std::string(64, c); }

MemoryModel plain_groups() {
  MemoryModel model;
  apply_all(model, {created(1, 0, "/box"), created(2, 1, "/box/c"), created(3, 2, "/box/c/nested"),
                    identified(2, id_of('a'), "web")});
  return model;
}

TEST(LimitScopeTest, owner_when_the_container_or_inside_is_container) {
  const MemoryModel model = plain_groups();
  EXPECT_EQ(scope_of(killed(10, 5, 3, 2, 0), model), "container");
  EXPECT_EQ(scope_of(killed(10, 5, 3, 3, 0), model), "container");
}

TEST(LimitScopeTest, owner_when_a_plain_group_above_the_container_is_ancestor) {
  EXPECT_EQ(scope_of(killed(10, 5, 3, 1, 0), plain_groups()), "ancestor");
}

TEST(LimitScopeTest, owner_when_known_to_be_none_is_node) {
  EXPECT_EQ(scope_of(killed(10, 5, 3, 0, 0), plain_groups()), "node");
}

TEST(LimitScopeTest, owner_when_not_reported_is_the_limit_nearest_to_full) {
  MemoryModel model = plain_groups();
  apply_all(model, {sampled(1, 0, 511, 512), sampled(2, 0, 100, 256)});
  OomKill kill = killed(10, 5, 2, 0, 0);
  kill.owner_known = false;
  EXPECT_EQ(scope_of(kill, model), "ancestor");
}

TEST(LimitScopeTest, plain_cgroup_when_its_own_limit_is_container_and_its_parents_is_ancestor) {
  MemoryModel model;
  apply_all(model, {created(1, 0, "/a"), created(2, 1, "/a/b")});
  EXPECT_EQ(scope_of(killed(10, 5, 2, 2, 0), model), "container");
  EXPECT_EQ(scope_of(killed(10, 5, 2, 1, 0), model), "ancestor");
}

// slice 100 > pod 101 > sandbox 102, web 103; process 10 lives in web. The pod's limit is 256 MiB.
class PodLimitTest : public ::testing::Test {
 protected:
  explicit PodLimitTest(const std::string& slice = "/kubepods/burstable", const std::string& pod = "pod") {
    const std::string path = slice + "/" + pod + kUid;
    apply_all(model_, {created(100, 1, slice), created(101, 100, path), created(102, 101, path + "/" + id_of('0')),
                       created(103, 101, path + "/" + id_of('a')), identified_pod(101, kUid),
                       identified_in_pod(102, id_of('0'), "", kUid), identified_in_pod(103, id_of('a'), "web", kUid),
                       sampled(102, 0, 1, std::nullopt), seen(10, 5, 103)});
  }
  void add_container(std::uint64_t id, char c, const std::string& name, std::optional<std::uint64_t> limit_mib) {
    apply_all(model_, {created(id, 101, "/kubepods/burstable/pod/" + id_of(c)),
                       identified_in_pod(id, id_of(c), name, kUid), sampled(id, 0, 10, limit_mib)});
  }
  void describe(std::vector<PodContainer> containers) {
    PodSeen pod;
    pod.time = at_ms(0);
    pod.uid = kUid;
    pod.name_space = "shop";
    pod.name = "cart-7d";
    pod.containers = std::move(containers);
    model_.apply(pod);
  }
  static PodContainer described(const std::string& name, const std::string& id, std::optional<std::uint64_t> mib) {
    PodContainer container;
    container.name = name;
    container.id = id;
    if (mib) container.memory_limit_bytes = *mib * kMiB;
    return container;
  }
  [[nodiscard]] LimitPlace place(std::uint64_t victim = 103, std::uint64_t owner = 101) const {
    return place_of_limit(killed(10, 5, victim, owner, 1000), model_);
  }

  MemoryModel model_;
};

TEST_F(PodLimitTest, pods_limit_when_equal_to_its_only_containers_is_the_containers) {
  model_.apply(sampled(103, 0, 200, 256));
  EXPECT_EQ(place().scope, LimitScope::kContainer);
  EXPECT_EQ(place().owner, CgroupId{101});
  EXPECT_EQ(place().sharers, std::vector<CgroupId>{{103}});
}

class SystemdPodLimitTest : public PodLimitTest {
 protected:
  SystemdPodLimitTest() : PodLimitTest("/kubepods.slice/kubepods-burstable.slice", "kubepods-burstable-pod.slice") {}
};

TEST_F(SystemdPodLimitTest, pods_limit_is_the_containers_whatever_drives_the_cgroups) {
  model_.apply(sampled(103, 0, 200, 256));
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

TEST_F(PodLimitTest, pods_limit_when_its_container_was_never_read_is_the_containers) {
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

TEST_F(PodLimitTest, container_that_was_read_before_its_limit_was_written_counts_as_never_read) {
  model_.apply(sampled(103, 50, 1, std::nullopt));
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

TEST_F(PodLimitTest, pods_limit_when_its_container_is_known_to_have_none_is_the_pods) {
  model_.apply(sampled(103, 5000, 200, std::nullopt));
  EXPECT_EQ(place().scope, LimitScope::kPod);
  EXPECT_EQ(place().sharers, std::vector<CgroupId>{{103}});
}

TEST_F(PodLimitTest, pods_limit_when_its_container_has_a_smaller_one_is_the_pods) {
  model_.apply(sampled(103, 0, 100, 128));
  EXPECT_EQ(place().scope, LimitScope::kPod);
}

TEST_F(PodLimitTest, containers_limit_as_the_api_has_it_is_enough) {
  describe({described("web", id_of('a'), 256)});
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

// Killed within a second: the API has no container id yet, but the name.
TEST_F(PodLimitTest, containers_limit_is_found_in_the_api_by_its_name) {
  describe({described("web", "", 128)});
  EXPECT_EQ(place().scope, LimitScope::kPod);
  describe({described("web", "", 256), described("init-db", id_of('f'), 128)});
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

// As of a kill that the kernel log names afterwards: nothing tells which of the pod's containers it was.
TEST_F(PodLimitTest, container_without_a_name_is_one_of_those_that_the_api_has) {
  apply_all(model_, {removed(103, 500), created(106, 101, "/kubepods/burstable/pod/new")});
  describe({described("web", "", 128), described("db", "", 128)});
  EXPECT_EQ(place(106).scope, LimitScope::kPod) << "256 MiB are the sum of two";
  describe({described("web", "", 128), described("init-db", "", 256)});
  EXPECT_EQ(place(106).scope, LimitScope::kContainer) << "the larger of the two is the init container's";
}

TEST_F(PodLimitTest, limits_that_differ_by_less_than_a_page_are_the_same) {
  PodContainer web = described("web", id_of('a'), 0);
  web.memory_limit_bytes = 256 * kMiB + 4095;  // the kernel rounds it down to a page
  describe({web});
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

TEST_F(PodLimitTest, resize_that_reached_the_pod_first_is_no_other_limit) {
  apply_all(model_, {sampled(103, 0, 100, 128), sampled(101, 0, 100, 128)});
  EXPECT_EQ(place().scope, LimitScope::kContainer) << "killed at 256 MiB, and both were read at 128";
}

TEST_F(PodLimitTest, pods_limit_when_a_second_container_lives_there_is_the_pods) {
  model_.apply(sampled(103, 0, 100, 128));
  add_container(104, 'b', "db", 128);
  EXPECT_EQ(place().scope, LimitScope::kPod);
  EXPECT_EQ(place().sharers, (std::vector<CgroupId>{{103}, {104}}));
  EXPECT_EQ(place(104).sharers, (std::vector<CgroupId>{{104}, {103}})) << "the victim's first";
}

// kubectl debug: it has no limit, and the pod's is that of the other.
TEST_F(PodLimitTest, pods_limit_when_an_ephemeral_container_lives_there_is_the_pods) {
  model_.apply(sampled(103, 0, 100, 256));
  add_container(104, 'b', "debugger", std::nullopt);
  EXPECT_EQ(place().scope, LimitScope::kPod);
}

// An init container that ended, or the run before this one.
TEST_F(PodLimitTest, container_that_had_ended_does_not_share_the_limit) {
  model_.apply(sampled(103, 0, 200, 256));
  add_container(104, 'b', "init-db", 128);
  model_.apply(removed(104, 500));
  EXPECT_EQ(place().scope, LimitScope::kContainer);
}

TEST_F(PodLimitTest, container_that_ended_after_the_kill_did_share_the_limit) {
  add_container(104, 'b', "db", 128);
  model_.apply(removed(104, 1500));
  EXPECT_EQ(place().scope, LimitScope::kPod);
}

// The kernel log names a kill of a time without a daemon; the container that lives there now is the next one.
TEST_F(PodLimitTest, container_that_began_after_the_kill_did_not_share_the_limit) {
  CgroupCreated found = created(104, 101, "/kubepods/burstable/pod/next");
  found.existed = true;
  apply_all(model_, {found, identified_in_pod(104, id_of('b'), "web", kUid), seen(20, 100'150, 104, 3000)});
  EXPECT_EQ(place().scope, LimitScope::kContainer) << "its process was started 500 ms after the kill";
  model_.apply(seen(21, 99'000, 104, 3000));
  EXPECT_EQ(place().scope, LimitScope::kPod) << "another of its processes is older";
}

TEST_F(PodLimitTest, own_limit_is_the_containers_and_shares_nothing) {
  add_container(104, 'b', "db", 128);
  EXPECT_EQ(place(103, 103).scope, LimitScope::kContainer);
  EXPECT_FALSE(place(103, 103).is_pods());
}

TEST_F(PodLimitTest, limit_of_a_slice_above_the_pod_is_an_ancestors) {
  EXPECT_EQ(place(103, 100).scope, LimitScope::kAncestor);
  EXPECT_FALSE(place(103, 100).is_pods());
}

TEST_F(PodLimitTest, limit_inside_the_container_is_the_containers_and_not_the_pods) {
  model_.apply(created(105, 103, "/kubepods/burstable/pod/c/docker/x"));
  EXPECT_EQ(place(105, 105).scope, LimitScope::kContainer);
  EXPECT_FALSE(place(105, 105).is_pods());
}

TEST_F(PodLimitTest, victim_in_a_cgroup_inside_the_container_meets_the_pods_limit) {
  apply_all(model_, {sampled(103, 0, 200, 256), created(105, 103, "/kubepods/burstable/pod/c/docker/x")});
  EXPECT_EQ(place(105).scope, LimitScope::kContainer);
  EXPECT_EQ(place(105).sharers, std::vector<CgroupId>{{103}});
}

// Killed before its path was named.
TEST_F(PodLimitTest, victim_in_a_cgroup_right_below_the_pod_that_nothing_names_meets_the_pods_limit) {
  apply_all(model_, {removed(103, 500), created(106, 101, "/kubepods/burstable/pod/new")});
  EXPECT_EQ(place(106).scope, LimitScope::kContainer);
}

// What a workload makes below its own container is no pod of the node's: not its limit, nor a share of it.
TEST_F(PodLimitTest, directories_that_look_like_a_pod_inside_a_container_change_nothing_of_its_pod) {
  apply_all(model_, {sampled(103, 0, 200, 256), created(107, 103, "/p/kubepods/podX"), identified_pod(107, "other"),
                     created(108, 107, "/p/kubepods/podX/c"), identified_in_pod(108, id_of('e'), "", "other")});
  EXPECT_EQ(place(103).sharers, std::vector<CgroupId>{{103}});
  EXPECT_EQ(place(103).scope, LimitScope::kContainer);
  EXPECT_EQ(place(108).scope, LimitScope::kAncestor) << "the pod is not right above what poses as a container";
  EXPECT_FALSE(place(108).is_pods());
}

TEST_F(PodLimitTest, counted_for_the_only_container_of_the_pod) {
  EXPECT_EQ(counted_for({101}, at_ms(0), model_), CgroupId{103});
  EXPECT_EQ(counted_for({103}, at_ms(0), model_), CgroupId{103});
  EXPECT_EQ(counted_for({100}, at_ms(0), model_), CgroupId{100});
  add_container(104, 'b', "db", 128);
  EXPECT_EQ(counted_for({101}, at_ms(0), model_), CgroupId{101}) << "two share it";
  model_.apply(removed(103, 500));
  EXPECT_EQ(counted_for({101}, at_ms(600), model_), CgroupId{104});
}

// No bundle could be read, no API asked: the sandbox is the first, and has no limit.
TEST(PodLimitWithoutNamesTest, sandbox_is_known_by_its_want_of_a_limit) {
  MemoryModel model;
  apply_all(model, {created(101, 1, "/kubepods/podx"), created(102, 101, "/kubepods/podx/0"),
                    created(103, 101, "/kubepods/podx/a"), identified_pod(101, kUid), sampled(102, 0, 1, std::nullopt),
                    sampled(103, 0, 200, 256)});
  for (const auto& [cgroup, id] : {std::pair{102u, '0'}, std::pair{103u, 'a'}}) {
    ContainerIdentified e = identified_in_pod(cgroup, id_of(id), "", kUid);
    e.from_bundle = false;
    model.apply(e);
  }
  EXPECT_EQ(scope_of(killed(10, 5, 103, 101, 1000), model), "container");
  EXPECT_EQ(counted_for({101}, at_ms(0), model), CgroupId{103});
}

TEST(PodLimitWithoutNamesTest, sandboxes_of_other_runtimes_have_names_that_no_container_can_have) {
  for (const char* name : {"POD", "k8s_POD_cart-7d_shop_uid_0"}) {
    MemoryModel model;
    apply_all(model, {created(101, 1, "/kubepods/podx"), created(102, 101, "/kubepods/podx/0"),
                      created(103, 101, "/kubepods/podx/a"), identified_pod(101, kUid),
                      identified_in_pod(102, id_of('0'), name, kUid), identified_in_pod(103, id_of('a'), "web", kUid)});
    EXPECT_EQ(counted_for({101}, at_ms(0), model), CgroupId{103}) << name;
  }
}

TEST(LimitScopeNamesTest, each_scope_has_its_name) {
  EXPECT_EQ(to_string(LimitScope::kUnknown), "unknown");
  EXPECT_EQ(to_string(LimitScope::kPod), "pod");
  EXPECT_EQ(to_string(LimitScope::kNode), "node");
}

}  // namespace
}  // namespace oomw
