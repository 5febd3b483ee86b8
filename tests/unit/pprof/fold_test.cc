// SPDX-License-Identifier: Apache-2.0
#include "pprof/fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/codec.h"

namespace oomw::pprof {
namespace {

using testing::Le;
using testing::SizeIs;

// A heap with `stacks` stacks of `depth` frames: a common root, and leaves of their own.
Profile heap_of(std::uint64_t stacks, std::uint64_t depth) {
  Profile profile;
  profile.sample_types = {{"alloc_space", "bytes"}, {"inuse_space", "bytes"}};
  const auto add_frame = [&](const std::string& name) {
    const std::uint64_t id = profile.locations.size() + 1;
    profile.functions.push_back({id, name, name, name + ".go", 1});
    profile.locations.push_back({id, 0, 0, {{id, 7}}});
    return id;
  };
  std::vector<std::uint64_t> shared;
  for (std::uint64_t i = 0; i + 1 < depth; ++i) shared.push_back(add_frame("main.common" + std::to_string(i)));
  for (std::uint64_t i = 0; i < stacks; ++i) {
    std::vector<std::uint64_t> ids = {add_frame("main.leaf" + std::to_string(i))};
    ids.insert(ids.end(), shared.begin(), shared.end());
    const auto bytes = static_cast<std::int64_t>(i + 1);
    profile.samples.push_back({ids, {10 * bytes, bytes}, {}});
  }
  return profile;
}

TEST(Folded, a_small_profile_keeps_every_sample) {
  const Profile small = folded(heap_of(100, 5), {});
  EXPECT_THAT(small.samples, SizeIs(100));
  EXPECT_EQ(small.samples.front().location_ids.size(), 5u);
}

TEST(Folded, too_many_stacks_become_fewer_with_the_same_totals) {
  const Profile whole = heap_of(20'000, 6);
  const Profile small = folded(whole, {.max_samples = 15'000});
  EXPECT_THAT(small.samples.size(), Le(15'000u));
  EXPECT_EQ(small.total(0), whole.total(0));
  EXPECT_EQ(small.total(1), whole.total(1));
  // The largest stack is as it was.
  EXPECT_EQ(small.samples.front().values[1], 20'000);
  EXPECT_EQ(small.samples.front().location_ids, whole.samples.back().location_ids);
}

TEST(Folded, stacks_without_a_common_root_fold_into_one_that_says_so) {
  const Profile whole = heap_of(1'000, 1);
  const Profile small = folded(whole, {.max_samples = 10});
  EXPECT_THAT(small.samples, SizeIs(6));
  EXPECT_EQ(small.total(1), whole.total(1));
  EXPECT_EQ(small.functions.back().name, "(small stacks)");
}

TEST(Folded, the_bound_of_bytes_holds) {
  const Profile whole = heap_of(5'000, 20);
  const Profile small = folded(whole, {.max_samples = 15'000, .max_bytes = 100'000});
  EXPECT_THAT(raw_bytes(small), Le(100'000u));
  EXPECT_EQ(small.total(1), whole.total(1));
}

TEST(Folded, what_comes_out_is_a_profile_without_unused_names) {
  const Profile small = folded(heap_of(20'000, 6), {.max_samples = 1'000});
  const auto again = read(write(small));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_THAT(again->functions.size(), Le(506u));
}

}  // namespace
}  // namespace oomw::pprof
