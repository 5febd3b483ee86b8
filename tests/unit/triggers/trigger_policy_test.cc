// SPDX-License-Identifier: Apache-2.0
#include "triggers/trigger_policy.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using namespace test;

// A 1000 MiB container, so that MiB read as tenths of a percent.
constexpr std::uint64_t kLimitMib = 1000;
constexpr std::uint64_t kId = 2;

class TriggerPolicyTest : public ::testing::Test {
 protected:
  // The crossing, then the sample that follows it.
  TriggerDecision cross(std::uint32_t level, std::int64_t ms, std::uint64_t usage_mib,
                        std::optional<std::uint64_t> nonreclaimable_mib) {
    const WatermarkCrossed mark = crossed(kId, ms, level, kLimitMib);
    model_.apply(mark);
    model_.apply(sampled(kId, ms + 1, usage_mib, kLimitMib, nonreclaimable_mib));
    return policy_.on_watermark(mark, model_);
  }
  TriggerDecision sample(std::int64_t ms, std::uint64_t usage_mib, std::uint64_t nonreclaimable_mib) {
    const MemorySampled e = sampled(kId, ms, usage_mib, kLimitMib, nonreclaimable_mib);
    model_.apply(e);
    return policy_.on_sample(e, model_);
  }
  TriggerDecision predict(std::uint32_t level, std::int64_t ms, std::uint64_t usage_mib,
                          std::uint64_t nonreclaimable_mib) {
    WatermarkCrossed mark = crossed(kId, ms, level, kLimitMib);
    mark.reason = WatermarkReason::kTimeToLimit;
    model_.apply(mark);
    model_.apply(sampled(kId, ms + 1, usage_mib, kLimitMib, nonreclaimable_mib));
    return policy_.on_watermark(mark, model_);
  }

  MemoryModel model_;
  TriggerPolicy policy_{TriggerConfig{}};
};

void expect(const TriggerDecision& decision, TriggerAction action, const std::string& trigger = "",
            const std::string& reason = "") {
  EXPECT_EQ(decision.action, action);
  const bool is_decided = action == TriggerAction::kCapture || action == TriggerAction::kSkip;
  EXPECT_EQ(is_decided ? to_string(decision.trigger) : "", trigger);
  EXPECT_EQ(to_string(decision.reason), reason);
}

TEST_F(TriggerPolicyTest, crossing_when_at_a_capture_level_captures) {
  expect(cross(80, 0, 800, 790), TriggerAction::kCapture, "watermark_80");
}

TEST_F(TriggerPolicyTest, crossing_when_between_prepare_and_capture_prepares) {
  expect(cross(50, 0, 500, 490), TriggerAction::kPrepare);
  expect(cross(70, 100, 700, 690), TriggerAction::kPrepare);
}

TEST_F(TriggerPolicyTest, crossing_when_below_prepare_does_nothing) {
  expect(cross(40, 0, 400, 390), TriggerAction::kNone);
}

TEST_F(TriggerPolicyTest, crossing_when_levels_are_jumped_captures_once_for_the_highest) {
  expect(cross(92, 0, 920, 910), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, crossing_when_between_capture_levels_says_nothing_if_the_lower_was_captured) {
  expect(cross(80, 0, 800, 790), TriggerAction::kCapture, "watermark_80");
  expect(cross(85, 100, 850, 840), TriggerAction::kNone);
}

TEST_F(TriggerPolicyTest, crossing_when_between_capture_levels_stands_for_the_lower_one) {
  expect(cross(85, 0, 850, 840), TriggerAction::kCapture, "watermark_80");
}

TEST_F(TriggerPolicyTest, climb_when_through_all_levels_captures_at_each) {
  expect(cross(80, 0, 800, 790), TriggerAction::kCapture, "watermark_80");
  expect(cross(90, 10, 900, 890), TriggerAction::kCapture, "watermark_90");
  expect(cross(95, 15, 950, 940), TriggerAction::kCapture, "watermark_95");
}

TEST_F(TriggerPolicyTest, sawtooth_when_crossing_each_second_captures_once_per_cooldown) {
  expect(cross(90, 0, 900, 890), TriggerAction::kCapture, "watermark_90");
  for (int s = 1; s < 30; ++s) {
    expect(cross(90, s * 1000, 900, 890), TriggerAction::kSkip, "watermark_90", "cooldown");
  }
  expect(cross(90, 30'000, 900, 890), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, crossing_when_the_budget_is_used_up_skips_until_the_window_passed) {
  for (int i = 0; i < 12; ++i) expect(cross(90, i * 31'000, 900, 890), TriggerAction::kCapture, "watermark_90");
  expect(cross(90, 12 * 31'000, 900, 890), TriggerAction::kSkip, "watermark_90", "budget");
  expect(cross(90, 600'001, 900, 890), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, cooldown_when_of_another_cgroup_does_not_matter) {
  expect(cross(90, 0, 900, 890), TriggerAction::kCapture, "watermark_90");
  const WatermarkCrossed other = crossed(3, 1, 90, kLimitMib);
  model_.apply(other);
  expect(policy_.on_watermark(other, model_), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, crossing_when_no_headroom_is_left_captures_without_allocating) {
  const TriggerDecision full = cross(95, 0, 999, 999);
  expect(full, TriggerAction::kCapture, "watermark_95");
  EXPECT_FALSE(full.may_allocate);
  EXPECT_TRUE(cross(90, 10, 900, 890).may_allocate);
}

TEST_F(TriggerPolicyTest, headroom_when_memory_is_reclaimable_counts_half_of_it) {
  EXPECT_EQ(headroom_bytes({1000, 1000, std::nullopt}), 0u);
  EXPECT_EQ(headroom_bytes({1000, 1000, 800}), 100u);
  EXPECT_EQ(headroom_bytes({900, 1000, 800}), 150u);
  EXPECT_EQ(headroom_bytes({1010, 1000, 1010}), 0u);
  EXPECT_EQ(headroom_bytes({900, 1000, 950}), 100u);
}

TEST_F(TriggerPolicyTest, cache_heavy_when_anon_stays_at_40_percent_is_left_alone) {
  for (std::uint32_t level : {80u, 90u, 95u, 99u}) {
    EXPECT_EQ(cross(level, level * 10, level * 10, 400).reason, CaptureReason::kPageCache) << level;
  }
  for (int s = 1; s < 600; ++s) expect(sample(s * 1000, 999, 400), TriggerAction::kNone);
}

TEST_F(TriggerPolicyTest, crossing_when_a_tenth_is_cache_still_captures) {
  expect(cross(80, 0, 800, 701), TriggerAction::kCapture, "watermark_80");
  expect(cross(90, 10, 900, 799), TriggerAction::kSkip, "watermark_90", "page_cache");
}

TEST_F(TriggerPolicyTest, cache_full_when_anon_reaches_the_levels_captures_at_each_once) {
  EXPECT_EQ(cross(95, 0, 990, 600).reason, CaptureReason::kPageCache);
  expect(sample(1000, 999, 700), TriggerAction::kNone);
  expect(sample(2000, 999, 860), TriggerAction::kCapture, "watermark_80");
  expect(sample(3000, 999, 870), TriggerAction::kNone);
  expect(sample(4000, 999, 910), TriggerAction::kCapture, "watermark_90");
  expect(sample(5000, 999, 960), TriggerAction::kCapture, "watermark_95");
}

TEST_F(TriggerPolicyTest, cache_full_when_anon_swings_around_a_level_does_not_refire) {
  EXPECT_EQ(cross(95, 0, 990, 600).reason, CaptureReason::kPageCache);
  expect(sample(1000, 999, 810), TriggerAction::kCapture, "watermark_80");
  for (int s = 2; s < 100; ++s) expect(sample(s * 1000, 999, s % 2 == 0 ? 790 : 810), TriggerAction::kNone);
}

TEST_F(TriggerPolicyTest, cache_full_when_anon_fell_and_rose_again_refires) {
  EXPECT_EQ(cross(95, 0, 990, 600).reason, CaptureReason::kPageCache);
  expect(sample(1000, 999, 810), TriggerAction::kCapture, "watermark_80");
  expect(sample(60'000, 999, 600), TriggerAction::kNone);
  expect(sample(120'000, 999, 810), TriggerAction::kCapture, "watermark_80");
}

TEST_F(TriggerPolicyTest, sample_when_nothing_was_skipped_is_not_looked_at) {
  expect(cross(80, 0, 800, 790), TriggerAction::kCapture, "watermark_80");
  expect(sample(1000, 960, 950), TriggerAction::kNone);
}

TEST_F(TriggerPolicyTest, crossing_when_the_reclaimable_part_is_unknown_captures) {
  expect(cross(90, 0, 900, std::nullopt), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, crossing_when_only_an_older_sample_exists_trusts_the_crossing) {
  model_.apply(sampled(kId, 0, 100, kLimitMib, 10));
  const WatermarkCrossed mark = crossed(kId, 500, 90, kLimitMib);
  model_.apply(mark);
  expect(policy_.on_watermark(mark, model_), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, crossing_when_the_model_does_not_know_the_cgroup_still_decides) {
  expect(policy_.on_watermark(crossed(77, 0, 90, kLimitMib), model_), TriggerAction::kCapture, "watermark_90");
}

TEST_F(TriggerPolicyTest, prediction_when_most_is_anon_captures) {
  expect(predict(50, 0, 610, 590), TriggerAction::kCapture, "time_to_limit");
}

TEST_F(TriggerPolicyTest, prediction_when_far_from_the_limit_prepares) {
  expect(predict(0, 0, 300, 290), TriggerAction::kPrepare);
}

TEST_F(TriggerPolicyTest, prediction_when_a_file_is_read_fast_is_page_cache) {
  expect(predict(70, 0, 750, 200), TriggerAction::kSkip, "time_to_limit", "page_cache");
}

TEST_F(TriggerPolicyTest, forget_when_the_cgroup_is_gone_drops_its_history) {
  expect(cross(90, 0, 900, 890), TriggerAction::kCapture, "watermark_90");
  policy_.forget({kId});
  expect(cross(90, 1000, 900, 890), TriggerAction::kCapture, "watermark_90");
}

}  // namespace
}  // namespace oomw
