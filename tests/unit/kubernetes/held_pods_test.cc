// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/held_pods.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

PodSeen make_pod(const std::string& uid, const std::string& label = "a") {
  PodSeen pod;
  pod.uid = uid;
  pod.name = uid;
  pod.labels["app"] = label;
  return pod;
}

TEST(HeldPods, a_new_pod_is_news) {
  HeldPods held(10);
  EXPECT_TRUE(held.on_pod(make_pod("u")).has_value());
  EXPECT_EQ(held.size(), 1u);
}

TEST(HeldPods, the_same_again_is_none_also_at_another_time) {
  HeldPods held(10);
  (void)held.on_pod(make_pod("u"));
  PodSeen again = make_pod("u");
  again.time = {5};
  again.wall_offset_ns = 6;
  EXPECT_FALSE(held.on_pod(again).has_value());
}

TEST(HeldPods, a_change_of_what_is_kept_is_news) {
  HeldPods held(10);
  (void)held.on_pod(make_pod("u"));
  EXPECT_TRUE(held.on_pod(make_pod("u", "b")).has_value());
}

TEST(HeldPods, what_a_new_list_does_not_have_is_gone) {
  HeldPods held(10);
  held.begin_list();
  (void)held.on_pod(make_pod("stays"));
  (void)held.on_pod(make_pod("goes"));
  EXPECT_TRUE(held.end_list({1}).empty());
  held.begin_list();
  (void)held.on_pod(make_pod("stays"));
  const auto gone = held.end_list({2});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(std::get<PodGone>(gone[0]).uid, "goes");
}

TEST(HeldPods, a_list_that_broke_off_makes_nothing_go) {
  HeldPods held(10);
  held.begin_list();
  (void)held.on_pod(make_pod("u"));
  (void)held.end_list({1});
  held.begin_list();
  held.begin_list();
  (void)held.on_pod(make_pod("u"));
  EXPECT_TRUE(held.end_list({2}).empty());
}

TEST(HeldPods, a_pod_that_is_deleted_is_told_once) {
  HeldPods held(10);
  (void)held.on_pod(make_pod("u"));
  EXPECT_TRUE(held.on_gone("u", {1}).has_value());
  EXPECT_FALSE(held.on_gone("u", {1}).has_value());
}

TEST(HeldPods, more_than_there_is_room_for_are_turned_away_and_counted) {
  HeldPods held(2);
  for (const char* uid : {"a", "b", "c", "d"}) (void)held.on_pod(make_pod(uid));
  EXPECT_EQ(held.size(), 2u);
  EXPECT_EQ(held.turned_away(), 2u);
  EXPECT_TRUE(held.on_pod(make_pod("a", "changed")).has_value());
}

}  // namespace
}  // namespace oomw
