// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_store.h"

#include <gtest/gtest.h>

#include "unit/trends/heap_story.h"

namespace oomw {
namespace {

using test::at_second;
using test::HeapStory;
using test::kMiB;
using test::scheduled;

constexpr MonotonicTime kExecution{1};

HeapStory heap_of(std::uint32_t sites) {
  HeapStory story;
  for (std::uint32_t site = 0; site < sites; ++site) story.hold(site, 1.0 * kMiB, kMiB);
  return story;
}

TEST(TrendStore, a_new_program_in_the_same_pid_starts_again) {
  TrendStore store({});
  HeapStory story = heap_of(1);
  store.add({7, 1}, kExecution, story.read(), scheduled(20));
  store.add({7, 1}, MonotonicTime{5}, story.read(), scheduled(30));
  store.add({7, 1}, kExecution, story.read(), scheduled(40));  // a straggler of the old one
  ASSERT_NE(store.find({7, 1}), nullptr);
  ASSERT_EQ(store.find({7, 1})->readings().size(), 1u);
  EXPECT_EQ(store.find({7, 1})->readings()[0].time, at_second(30));
}

TEST(TrendStore, who_is_gone_stays_for_the_grace) {
  TrendStore store({});
  store.add({7, 1}, kExecution, heap_of(1).read(), scheduled(20));
  store.gone({7, 1}, at_second(30));
  store.expire(at_second(89));
  EXPECT_NE(store.find({7, 1}), nullptr);
  store.expire(at_second(90));
  EXPECT_EQ(store.find({7, 1}), nullptr);
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_EQ(store.dropped_processes(), 0u);
}

TEST(TrendStore, who_is_not_read_any_more_goes_without_being_told) {
  TrendStore store({});
  store.add({7, 1}, kExecution, heap_of(1).read(), scheduled(20));
  store.expire(at_second(20 + 3599));
  EXPECT_NE(store.find({7, 1}), nullptr);
  store.expire(at_second(20 + 3600));
  EXPECT_EQ(store.find({7, 1}), nullptr);
}

TEST(TrendStore, over_budget_the_largest_is_thinned_and_the_small_one_left_alone) {
  TrendStore store({.max_bytes = 160 << 10});
  HeapStory big = heap_of(1000), small = heap_of(10);
  for (int i = 1; i <= 10; ++i) {
    store.add({1, 1}, kExecution, small.read(), scheduled(i * 10));
    store.add({2, 1}, kExecution, big.read(), scheduled(i * 10));
    EXPECT_LE(store.bytes(), 160u << 10);
  }
  EXPECT_EQ(store.find({1, 1})->readings().size(), 10u);
  EXPECT_LT(store.find({2, 1})->readings().size(), 10u);
  EXPECT_GE(store.find({2, 1})->readings().size(), TrendStore::kLeastReadings);
  EXPECT_GT(store.thinned_readings(), 0u);
  EXPECT_EQ(store.dropped_processes(), 0u);
}

TEST(TrendStore, with_nothing_left_to_thin_the_one_read_longest_ago_goes) {
  TrendStore store({.max_bytes = 256 << 10});
  HeapStory story = heap_of(500);
  for (std::int32_t pid = 1; pid <= 10; ++pid) store.add({pid, 1}, kExecution, story.read(), scheduled(pid * 10));
  EXPECT_LE(store.bytes(), 256u << 10);
  EXPECT_EQ(store.find({1, 1}), nullptr);
  EXPECT_NE(store.find({10, 1}), nullptr);
  EXPECT_EQ(store.dropped_processes() + store.size(), 10u);
}

}  // namespace
}  // namespace oomw
