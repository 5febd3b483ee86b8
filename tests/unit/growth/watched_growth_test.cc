// SPDX-License-Identifier: Apache-2.0
#include "growth/watched_growth.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr std::uint64_t kSlot = 1u << 20;

class WatchedGrowthTest : public ::testing::Test {
 protected:
  static GrowthTarget target() {
    GrowthTarget target;
    target.slot_bytes = kSlot;
    return target;
  }
  WatchedGrowth watched_{target(), {"shop", ""}};
};

TEST_F(WatchedGrowthTest, slow_growth_before_the_first_event_adds_up) {
  for (std::uint64_t tenth = 0; tenth <= 52; ++tenth)
    watched_.note_bytes(100 * kSlot + tenth * kSlot / 10, false, false);
  EXPECT_EQ(watched_.slots_before, 5u);
}

TEST_F(WatchedGrowthTest, swings_before_the_first_event_do_not_add_up) {
  for (int round = 0; round < 9; ++round) {
    watched_.note_bytes(100 * kSlot, false, false);
    watched_.note_bytes(140 * kSlot, false, false);
  }
  EXPECT_EQ(watched_.slots_before, 40u);
}

TEST_F(WatchedGrowthTest, growth_since_a_rest_counts_until_the_kernel_counts_it) {
  watched_.note_bytes(100 * kSlot, false, false);
  watched_.note_bytes(103 * kSlot, true, true);
  watched_.note_bytes(150 * kSlot, true, true);
  EXPECT_EQ(watched_.slots_since_rest, 0u);
  watched_.note_bytes(157 * kSlot, true, false);
  watched_.note_bytes(159 * kSlot, true, false);
  EXPECT_EQ(watched_.slots_since_rest, 9u);
  watched_.note_bytes(160 * kSlot, true, true);
  EXPECT_EQ(watched_.slots_since_rest, 0u);
  EXPECT_EQ(watched_.slots_before, 0u);
}

TEST_F(WatchedGrowthTest, batches_have_the_records_of_their_heads) {
  constexpr std::uint32_t kStack = 16;
  for (std::uint32_t i = 0; i < 100; ++i) {
    oomw_growth_sample head{};
    head.slot_after = i;
    head.stack_bytes = i % 2 == 0 ? kStack : 0;
    head.size = sizeof(head) + head.stack_bytes;
    watched_.heads.push_back(head);
    if (head.stack_bytes > 0) watched_.records.resize(watched_.records.size() + head.size, std::byte(i));
  }
  const WatchedGrowth::Batch first = watched_.take_batch(), second = watched_.take_batch();
  ASSERT_EQ(first.heads.size(), WatchedGrowth::kMaxBatch);
  ASSERT_EQ(second.heads.size(), 100 - WatchedGrowth::kMaxBatch);
  EXPECT_EQ(first.records.size(), WatchedGrowth::kMaxBatch / 2 * (sizeof(oomw_growth_sample) + kStack));
  EXPECT_EQ(second.heads.front().slot_after, WatchedGrowth::kMaxBatch);
  EXPECT_EQ(second.records.front(), std::byte(WatchedGrowth::kMaxBatch));
  EXPECT_TRUE(watched_.heads.empty() && watched_.records.empty());
}

}  // namespace
}  // namespace oomw
