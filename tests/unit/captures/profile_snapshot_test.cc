// SPDX-License-Identifier: Apache-2.0
#include "captures/profile_snapshot.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "captures/go_profile.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr std::int64_t kRate = 512 << 10;
constexpr std::uint64_t kBias = 0x7f0000000000;

goruntime::HeapSnapshot random_snapshot(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  goruntime::HeapSnapshot snapshot;
  snapshot.rate = kRate;
  snapshot.layout = goruntime::RecordLayout::kObjects;
  snapshot.complete = true;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::uint64_t> pcs;
    for (std::size_t frame = 0; frame < 1 + random() % 30; ++frame) pcs.push_back(kBias + 0x401000 + random() % 4096);
    pcs.push_back(kBias + 0x500000 + static_cast<std::uint64_t>(i));  // no two stacks alike
    goruntime::Bucket& bucket = snapshot.buckets.emplace_back();
    bucket.first_pc = snapshot.pcs.append(pcs);
    bucket.pc_count = static_cast<std::uint32_t>(pcs.size());
    bucket.size = 8 + random() % (i % 2 == 0 ? 4096 : 4 << 20);
    const std::uint64_t objects = 1 + random() % 1000;
    bucket.active = {objects, 0, objects * bucket.size, 0};
  }
  return snapshot;
}

pprof::Profile profile_of(const goruntime::HeapSnapshot& snapshot) {
  return build_profile(snapshot, nullptr, {WallTime{}, "", goruntime::GoBinary{}, {}});
}

// Written by us as Go writes it, and read back: the sampled counts, exactly.
TEST(ProfileSnapshot, sampled_counts_and_stacks_come_back_as_they_were) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const goruntime::HeapSnapshot before = random_snapshot(seed);
    const auto after = snapshot_of_profile(*pprof::read(pprof::write(profile_of(before))), kBias);
    ASSERT_TRUE(after.has_value());
    EXPECT_EQ(after->rate, kRate);
    EXPECT_TRUE(after->complete);
    EXPECT_EQ(after->load_bias, kBias);
    ASSERT_EQ(after->buckets.size(), before.buckets.size());
    for (std::size_t i = 0; i < before.buckets.size(); ++i) {
      const goruntime::Bucket &a = after->buckets[i], &b = before.buckets[i];
      EXPECT_EQ(a.size, b.size);
      EXPECT_EQ(a.active, b.active) << i;
      EXPECT_TRUE(a.future.is_zero());
      EXPECT_TRUE(std::ranges::equal(after->pcs_of(a), before.pcs_of(b)));
    }
  }
}

pprof::Profile small_profile() {
  pprof::Profile profile;
  profile.sample_types = {{"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  profile.period = 1;
  profile.functions = {{.id = 1, .name = "main.leak", .system_name = {}, .filename = {}, .start_line = 0},
                       {.id = 2, .name = "main.main", .system_name = {}, .filename = {}, .start_line = 0}};
  profile.locations = {{1, 0, 0, {{1, 10}}}, {2, 0, 0, {{2, 20}}}, {3, 0, 0, {{1, 11}}}};
  profile.samples = {{{1, 2}, {4, 4096}, {}}, {{3, 2}, {2, 2048}, {}}, {{1, 2}, {1, 64}, {{"bytes", "", 64, ""}}}};
  return profile;
}

TEST(ProfileSnapshot, stacks_without_addresses_are_told_by_function_and_line) {
  const auto snapshot = snapshot_of_profile(small_profile(), 0);
  ASSERT_TRUE(snapshot.has_value());
  ASSERT_EQ(snapshot->buckets.size(), 3u);
  const auto stack = [&](std::size_t i) { return snapshot->pcs_of(snapshot->buckets[i]); };
  EXPECT_TRUE(std::ranges::equal(stack(0), stack(2)));
  EXPECT_FALSE(std::ranges::equal(stack(0), stack(1)));
  EXPECT_EQ(stack(0)[1], stack(1)[1]);
  const auto again = snapshot_of_profile(small_profile(), 0);
  EXPECT_TRUE(std::ranges::equal(again->pcs_of(again->buckets[1]), stack(1))) << "the next profile has the same";
}

TEST(ProfileSnapshot, block_size_is_the_label_or_the_mean) {
  const auto snapshot = snapshot_of_profile(small_profile(), 0);
  EXPECT_EQ(snapshot->buckets[0].size, 1024u);
  EXPECT_EQ(snapshot->buckets[2].size, 64u);
}

TEST(ProfileSnapshot, nothing_in_use_is_left_out_and_less_than_nothing_too) {
  pprof::Profile profile = small_profile();
  profile.samples[0].values = {0, 0};
  profile.samples[1].values = {-5, -500};
  profile.samples[2].values = {3, 0};
  EXPECT_TRUE(snapshot_of_profile(profile, 0)->buckets.empty());
}

TEST(ProfileSnapshot, what_is_no_heap_profile_is_refused) {
  pprof::Profile profile = small_profile();
  profile.sample_types[1].type = "cpu";
  EXPECT_FALSE(snapshot_of_profile(profile, 0).has_value());
}

TEST(ProfileSnapshot, numbers_that_no_heap_has_are_survived) {
  pprof::Profile profile = small_profile();
  profile.period = INT64_MIN;
  profile.samples[0].values = {INT64_MAX, INT64_MAX};
  profile.samples[1].values = {1, INT64_MAX};
  profile.samples[2].labels[0].number = INT64_MAX;
  profile.samples[2].location_ids.assign(5000, 1);
  const auto snapshot = snapshot_of_profile(profile, 0);
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->rate, 1);
  EXPECT_LE(snapshot->pcs_of(snapshot->buckets[2]).size(), 1026u);
}

}  // namespace
}  // namespace oomw
