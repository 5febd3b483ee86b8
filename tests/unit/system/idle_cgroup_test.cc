// SPDX-License-Identifier: Apache-2.0
#include "system/calm_cgroup.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using std::chrono::seconds;
using test::SetClock;
using test::TempTree;
using test::V2Cgroup;

constexpr std::uint64_t kMiB = 1u << 20;

class CalmCgroupTest : public ::testing::Test {
 protected:
  CalmCgroupTest() {
    tree.write("cgroup.controllers", "memory");
    V2Cgroup{}.write(tree, "app");
    cgroups.emplace(*CgroupFs::probe(tree.root()));
  }
  CgroupId id() const { return {tree.inode("app")}; }
  CalmCgroup calm_after_a_whole_reading() const {
    auto calm = CalmCgroup::open(*cgroups, "/app", id());
    OOMW_CHECK(calm.has_value());
    calm->remember(*cgroups->sample("/app", id(), clock, false));
    return std::move(*calm);
  }
  void set_usage(std::uint64_t bytes) const { tree.write("app/memory.current", std::to_string(bytes) + "\n"); }

  TempTree tree;
  SetClock clock;
  std::optional<CgroupFs> cgroups;
};

TEST_F(CalmCgroupTest, unmoved_reads_as_a_whole_reading_does) {
  const CalmCgroup calm = calm_after_a_whole_reading();
  clock.time = clock.time + seconds(10);
  const auto sample = calm.read(clock);
  const auto whole = cgroups->sample("/app", id(), clock, false);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->cgroup, id());
  EXPECT_EQ(sample->time, clock.time);
  EXPECT_EQ(sample->usage_bytes, whole->usage_bytes);
  EXPECT_EQ(sample->limit_bytes, whole->limit_bytes);
  EXPECT_EQ(sample->nonreclaimable_bytes, whole->nonreclaimable_bytes);
  EXPECT_EQ(sample->kernel_oom_kills, whole->kernel_oom_kills);
  EXPECT_FALSE(sample->detailed);
}

TEST_F(CalmCgroupTest, a_small_move_is_taken_to_be_nonreclaimable) {
  const CalmCgroup calm = calm_after_a_whole_reading();
  set_usage(101 * kMiB);
  ASSERT_TRUE(calm.read(clock).has_value());
  EXPECT_EQ(calm.read(clock)->usage_bytes, 101 * kMiB);
  EXPECT_EQ(calm.read(clock)->nonreclaimable_bytes, 70 * kMiB);
}

TEST_F(CalmCgroupTest, a_move_by_more_than_a_bit_asks_for_a_whole_reading) {
  const CalmCgroup calm = calm_after_a_whole_reading();
  set_usage(102 * kMiB);
  EXPECT_FALSE(calm.read(clock).has_value());
  set_usage(98 * kMiB);
  EXPECT_FALSE(calm.read(clock).has_value());
}

TEST_F(CalmCgroupTest, a_limit_or_kill_is_news_at_once) {
  const CalmCgroup calm = calm_after_a_whole_reading();
  tree.write("app/memory.max", "max\n");
  tree.write("app/memory.events.local", "oom 1\noom_kill 9\n");
  ASSERT_TRUE(calm.read(clock).has_value());
  EXPECT_EQ(calm.read(clock)->limit_bytes, std::nullopt);
  EXPECT_EQ(calm.read(clock)->kernel_oom_kills, 9u);
}

TEST_F(CalmCgroupTest, after_its_time_asks_for_a_whole_reading) {
  CalmCgroup calm = calm_after_a_whole_reading();
  clock.time = clock.time + CalmCgroup::kWholeEvery;
  EXPECT_FALSE(calm.read(clock).has_value());
  calm.remember(*cgroups->sample("/app", id(), clock, false));
  EXPECT_TRUE(calm.read(clock).has_value());
}

TEST_F(CalmCgroupTest, unknown_split_stays_unknown) {
  V2Cgroup{.stat = "anon 1\n"}.write(tree, "app");
  const CalmCgroup calm = calm_after_a_whole_reading();
  ASSERT_TRUE(calm.read(clock).has_value());
  EXPECT_EQ(calm.read(clock)->nonreclaimable_bytes, std::nullopt);
}

TEST_F(CalmCgroupTest, before_a_whole_reading_and_of_garbage_has_nothing) {
  auto fresh = CalmCgroup::open(*cgroups, "/app", id());
  ASSERT_TRUE(fresh.has_value());
  EXPECT_FALSE(fresh->read(clock).has_value());
  const CalmCgroup calm = calm_after_a_whole_reading();
  tree.write("app/memory.max", "soon\n");
  EXPECT_FALSE(calm.read(clock).has_value());
}

TEST_F(CalmCgroupTest, recycled_path_is_not_opened) {
  EXPECT_FALSE(CalmCgroup::open(*cgroups, "/app", CgroupId{id().value + 1}).has_value());
}

}  // namespace
}  // namespace oomw
