// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/go_names.h"

#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/check.h"
#include "runtimes/go/go_reading.h"

namespace oomw {
namespace {

using go::Bucket;
using go::Counts;
using go::HeapSnapshot;
using testing::ElementsAre;

HeapSnapshot snapshot_of(std::vector<std::pair<Counts, Counts>> active_and_future, std::uint64_t size = 1024) {
  HeapSnapshot snapshot;
  snapshot.rate = 1;
  snapshot.complete = true;
  for (const auto& [active, future] : active_and_future) {
    const std::array<std::uint64_t, 2> pcs = {0x401010, 0x401020};
    Bucket bucket;
    bucket.first_pc = snapshot.pcs.append(pcs);
    bucket.pc_count = 2;
    bucket.size = size;
    bucket.active = active;
    bucket.future = future;
    snapshot.buckets.push_back(bucket);
  }
  return snapshot;
}

pprof::Profile build(const HeapSnapshot& snapshot, const go::GoBinary& binary = {}, const std::string& path = "") {
  std::shared_ptr<const ExeHandle> exe;
  if (!path.empty()) {
    exe = std::make_shared<const ExeHandle>(UniqueFd(), FileIdentity{}, path, std::make_shared<ExeHandle::Unused>());
  }
  const SystemClock clock;
  go::GoNames names(exe, std::make_shared<const go::GoBinary>(binary), nullptr, {}, clock, {});
  return names.profile_of(go::reading_of(snapshot, {}), {1'000'000'007}, {"first"});
}

TEST(GoProfile, has_the_four_types_of_a_heap_profile) {
  const auto profile = build(snapshot_of({{{2, 1, 2048, 1024}, {1, 0, 1024, 0}}}));
  EXPECT_TRUE(pprof::check(profile).has_value());
  ASSERT_EQ(profile.samples.size(), 1U);
  EXPECT_THAT(profile.samples[0].values, ElementsAre(3, 3072, 2, 2048));
  EXPECT_EQ(profile.default_sample_type, "inuse_space");
  EXPECT_EQ(profile.samples[0].labels.at(0).number, 1024);
  EXPECT_EQ(profile.time_nanos, 1'000'000'007);
  EXPECT_EQ(profile.comments.at(0), "first");
}

TEST(GoProfile, values_are_scaled_for_what_is_allocated_and_in_use_apart) {
  auto snapshot = snapshot_of({{{10, 9, 10240, 9216}, {}}});
  snapshot.rate = 4096;
  const auto values = build(snapshot).samples.at(0).values;
  EXPECT_EQ(values[1], unsample({10, 10240}, 4096).bytes);
  EXPECT_EQ(values[3], unsample({1, 1024}, 4096).bytes);
  EXPECT_GT(values[1], 10240);
}

TEST(GoProfile, equal_frames_are_one_location_and_empty_buckets_none) {
  const auto profile = build(snapshot_of({{{1, 0, 1024, 0}, {}}, {{}, {}}, {{}, {1, 0, 1024, 0}}}));
  EXPECT_EQ(profile.samples.size(), 2U);
  EXPECT_EQ(profile.locations.size(), 2U);
  EXPECT_EQ(profile.samples[0].location_ids, profile.samples[1].location_ids);
}

TEST(GoProfile, totals_saturate_on_hostile_counts) {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  const auto snapshot = snapshot_of({{{1, 0, huge, 0}, {}},
                                     {{1, 0, huge, 0}, {}},
                                     {{1, 0, huge, 0}, {}},
                                     {{1, 0, huge, 0}, {}},
                                     {{1, 0, huge, 0}, {}}});
  EXPECT_EQ(totals_of(go::reading_of(snapshot, {})).held_bytes, std::numeric_limits<std::uint64_t>::max());
}

TEST(GoProfile, hostile_path_is_made_printable) {
  const auto profile = build(snapshot_of({}), {}, "/a\nb\x1b[31m");
  EXPECT_EQ(profile.mappings.at(0).filename.find_first_of("\n\x1b"), std::string::npos);
}

TEST(GoProfile, mapping_of_a_position_independent_program_starts_at_its_bias) {
  go::GoBinary binary;
  binary.is_position_independent = true;
  binary.text = {0x1000, 0x9000};
  binary.build_id = "abc";
  auto snapshot = snapshot_of({});
  snapshot.load_bias = 0x550000000000;
  const auto mapping = build(snapshot, binary).mappings.at(0);
  EXPECT_EQ(mapping.memory_start, 0x550000000000U);
  EXPECT_EQ(mapping.memory_limit, 0x550000009000U);
  EXPECT_EQ(mapping.build_id, "abc");
  EXPECT_FALSE(mapping.has_functions);
}

}  // namespace
}  // namespace oomw
