// SPDX-License-Identifier: Apache-2.0
#include "model/share_owner.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using test::created;
using test::identified;
using test::identified_in_pod;
using test::identified_pod;

TEST(ShareOwnerTest, nothing_known_is_one_owner) { EXPECT_EQ(share_owner_of({7}, MemoryModel()), ShareOwner{}); }

TEST(ShareOwnerTest, without_an_identity_it_is_the_cgroup) {
  MemoryModel model;
  model.apply(created(2, 1, "/mine\n"));
  const ShareOwner owner = share_owner_of({2}, model);
  EXPECT_TRUE(owner.container.starts_with("cgroup /mine")) << owner.container;
  EXPECT_EQ(owner.container.find('\n'), std::string::npos);
  EXPECT_EQ(owner.space, "");
}

TEST(ShareOwnerTest, a_container_pays_for_all_below_it) {
  MemoryModel model;
  model.apply(created(2, 1, "/docker/abc"));
  model.apply(created(3, 2, "/docker/abc/docker/def"));
  model.apply(identified(2, "abcabcabcabcabcabc", "one"));
  model.apply(identified(3, "defdefdefdefdefdef", "two"));
  EXPECT_EQ(share_owner_of({3}, model), share_owner_of({2}, model));
  EXPECT_EQ(share_owner_of({3}, model).container, "container abcabcabcabc");
}

TEST(ShareOwnerTest, runs_of_one_pods_container_share_the_pods_space) {
  MemoryModel model;
  model.apply(created(2, 1, "/kubepods/podx"));
  model.apply(identified_pod(2, "x"));
  for (const std::uint64_t run : {3, 4}) {
    model.apply(created(run, 2, "/kubepods/podx/run" + std::to_string(run)));
    model.apply(identified_in_pod(run, "run" + std::to_string(run), "app", "x"));
  }
  EXPECT_NE(share_owner_of({3}, model).container, share_owner_of({4}, model).container);
  EXPECT_FALSE(share_owner_of({3}, model).space.empty());
  EXPECT_EQ(share_owner_of({3}, model).space, share_owner_of({4}, model).space);
}

TEST(ShareOwnerTest, a_pod_that_a_container_makes_below_itself_gives_it_no_second_share) {
  MemoryModel model;
  model.apply(created(2, 1, "/kubepods/podx"));
  model.apply(identified_pod(2, "x"));
  model.apply(created(3, 2, "/kubepods/podx/run"));
  model.apply(identified_in_pod(3, "run", "app", "x"));
  model.apply(created(4, 3, "/kubepods/podx/run/kubepods/pody/fake"));
  model.apply(identified_in_pod(4, "fake", "other", "y"));
  EXPECT_EQ(share_owner_of({4}, model), share_owner_of({3}, model));
}

TEST(ShareOwnerTest, pods_of_a_node_that_is_itself_a_container_are_told_apart) {
  MemoryModel model;
  model.apply(created(2, 1, "/docker/node"));
  model.apply(identified(2, "node", "kind-worker"));
  for (const std::uint64_t pod : {3, 4}) {
    model.apply(created(pod, 2, "/docker/node/kubepods/pod" + std::to_string(pod)));
    model.apply(identified_in_pod(pod, "run" + std::to_string(pod), "app", "uid" + std::to_string(pod)));
  }
  EXPECT_NE(share_owner_of({3}, model), share_owner_of({4}, model));
}

}  // namespace
}  // namespace oomw
