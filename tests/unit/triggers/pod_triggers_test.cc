// SPDX-License-Identifier: Apache-2.0
// A pod's limit that is its container's: one crossing, reported of both, is one decision.
#include "triggers/trigger_policy.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using namespace test;

constexpr std::uint64_t kPod = 1, kSandbox = 2, kWeb = 3, kDb = 4;
constexpr std::uint64_t kPodLimitMib = 1000;

class PodTriggersTest : public ::testing::Test {
 protected:
  PodTriggersTest() {
    apply_all(model_, {created(kPod, 0, "/kubepods/podx"), identified_pod(kPod, "x"),
                       created(kSandbox, kPod, "/kubepods/podx/0"),
                       identified_in_pod(kSandbox, std::string(64, '0'), "", "x")});
    add_container(kWeb, 'a', "web", 0);
  }
  void add_container(std::uint64_t id, char c, const std::string& name, std::int64_t ms) {
    apply_all(model_, {created_at(ms, id, kPod, "/kubepods/podx/" + name),
                       identified_in_pod(id, std::string(64, c), name, "x")});
  }
  TriggerDecision cross(std::uint64_t id, std::uint32_t level, std::int64_t ms,
                        std::optional<std::uint64_t> nonreclaimable_mib = std::nullopt) {
    const WatermarkCrossed mark = crossed(id, ms, level, kPodLimitMib);
    model_.apply(mark);
    model_.apply(
        sampled(id, ms + 1, level * kPodLimitMib / 100, kPodLimitMib, nonreclaimable_mib.value_or(level * 10)));
    return policy_.on_watermark(mark, model_);
  }

  MemoryModel model_;
  TriggerPolicy policy_{TriggerConfig{}};
};

TEST_F(PodTriggersTest, crossing_of_pod_and_container_captures_once) {
  for (const std::uint32_t level : {80u, 90u, 95u}) {
    EXPECT_EQ(cross(kPod, level, level * 10).action, TriggerAction::kCapture) << level;
    EXPECT_EQ(cross(kWeb, level, level * 10 + 1).action, TriggerAction::kNone) << level;
  }
}

TEST_F(PodTriggersTest, whichever_reports_first_is_the_one) {
  EXPECT_EQ(cross(kWeb, 80, 0).action, TriggerAction::kCapture);
  EXPECT_EQ(cross(kPod, 80, 1).action, TriggerAction::kNone);
}

TEST_F(PodTriggersTest, crossing_that_only_prepares_does_so_once) {
  EXPECT_EQ(cross(kPod, 50, 0).action, TriggerAction::kPrepare);
  EXPECT_EQ(cross(kWeb, 50, 1).action, TriggerAction::kNone);
}

TEST_F(PodTriggersTest, page_cache_is_skipped_once_and_then_watched_in_both) {
  EXPECT_EQ(cross(kPod, 80, 0, 300).reason, CaptureReason::kPageCache);
  EXPECT_EQ(cross(kWeb, 80, 1, 300).action, TriggerAction::kNone);
  MemorySampled later = sampled(kWeb, 1000, 950, kPodLimitMib, 900);
  model_.apply(later);
  EXPECT_EQ(policy_.on_sample(later, model_).action, TriggerAction::kCapture);
  later = sampled(kPod, 1001, 951, kPodLimitMib, 901);
  model_.apply(later);
  EXPECT_EQ(policy_.on_sample(later, model_).action, TriggerAction::kNone);
}

TEST_F(PodTriggersTest, without_a_cooldown_the_second_report_is_still_the_same_crossing) {
  policy_ = TriggerPolicy(TriggerConfig{.cooldown = Nanoseconds{}});
  EXPECT_EQ(cross(kPod, 80, 0).action, TriggerAction::kCapture);
  EXPECT_EQ(cross(kWeb, 80, 1).action, TriggerAction::kNone);
  EXPECT_EQ(cross(kPod, 80, 3000).action, TriggerAction::kCapture);
  EXPECT_EQ(cross(kWeb, 80, 3001).action, TriggerAction::kNone);
}

// The pod's cgroup outlives its containers; the next one's evidence must not wait for the last one's cool-down.
TEST_F(PodTriggersTest, next_container_in_the_pod_has_a_cooldown_and_budget_of_its_own) {
  EXPECT_EQ(cross(kPod, 80, 0).action, TriggerAction::kCapture);
  model_.apply(removed(kWeb, 100));
  policy_.forget({kWeb});
  add_container(kDb, 'b', "web", 200);
  EXPECT_EQ(cross(kPod, 80, 300).action, TriggerAction::kCapture);
  EXPECT_EQ(cross(kDb, 80, 301).action, TriggerAction::kNone);
}

TEST_F(PodTriggersTest, limit_that_two_containers_share_is_watched_beside_theirs) {
  add_container(kDb, 'b', "db", 0);
  EXPECT_EQ(cross(kPod, 80, 0).action, TriggerAction::kCapture);
  EXPECT_EQ(cross(kWeb, 80, 1).action, TriggerAction::kCapture);
  EXPECT_EQ(cross(kDb, 80, 2).action, TriggerAction::kCapture);
}

}  // namespace
}  // namespace oomw
