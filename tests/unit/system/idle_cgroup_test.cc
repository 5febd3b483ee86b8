// SPDX-License-Identifier: Apache-2.0
#include "system/idle_cgroup.h"

#include <gtest/gtest.h>

#include "support/mib.h"
#include "unit/base/set_clock.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using std::chrono::seconds;
using test::kMiB;
using test::SetClock;
using test::TempTree;
using test::V2Cgroup;

class IdleCgroupTest : public ::testing::Test {
 protected:
  IdleCgroupTest() {
    tree.write("cgroup.controllers", "memory");
    V2Cgroup{}.write(tree, "app");
    cgroups.emplace(*CgroupFs::probe(tree.root()));
  }
  CgroupId id() const { return {tree.inode("app")}; }
  IdleCgroup idle_after_a_whole_reading() const {
    auto idle = IdleCgroup::open(*cgroups, "/app", id());
    OOMW_CHECK(idle.has_value());
    idle->remember(*cgroups->sample("/app", id(), clock, false));
    return std::move(*idle);
  }
  void set_usage(std::uint64_t bytes) const { tree.write("app/memory.current", std::to_string(bytes) + "\n"); }

  TempTree tree;
  SetClock clock;
  std::optional<CgroupFs> cgroups;
};

TEST_F(IdleCgroupTest, unmoved_reads_as_a_whole_reading_does) {
  const IdleCgroup idle = idle_after_a_whole_reading();
  clock.advance(seconds(10));
  const auto sample = idle.read(clock);
  const auto whole = cgroups->sample("/app", id(), clock, false);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->cgroup, id());
  EXPECT_EQ(sample->time, clock.now());
  EXPECT_EQ(sample->usage_bytes, whole->usage_bytes);
  EXPECT_EQ(sample->limit_bytes, whole->limit_bytes);
  EXPECT_EQ(sample->nonreclaimable_bytes, whole->nonreclaimable_bytes);
  EXPECT_EQ(sample->kernel_oom_kills, whole->kernel_oom_kills);
  EXPECT_FALSE(sample->detailed);
}

TEST_F(IdleCgroupTest, a_small_move_is_taken_to_be_nonreclaimable) {
  const IdleCgroup idle = idle_after_a_whole_reading();
  set_usage(101 * kMiB);
  ASSERT_TRUE(idle.read(clock).has_value());
  EXPECT_EQ(idle.read(clock)->usage_bytes, 101 * kMiB);
  EXPECT_EQ(idle.read(clock)->nonreclaimable_bytes, 70 * kMiB);
}

TEST_F(IdleCgroupTest, a_move_by_more_than_a_bit_asks_for_a_whole_reading) {
  const IdleCgroup idle = idle_after_a_whole_reading();
  set_usage(102 * kMiB);
  EXPECT_FALSE(idle.read(clock).has_value());
  set_usage(98 * kMiB);
  EXPECT_FALSE(idle.read(clock).has_value());
}

TEST_F(IdleCgroupTest, a_limit_or_kill_is_news_at_once) {
  const IdleCgroup idle = idle_after_a_whole_reading();
  tree.write("app/memory.max", "max\n");
  tree.write("app/memory.events.local", "oom 1\noom_kill 9\n");
  ASSERT_TRUE(idle.read(clock).has_value());
  EXPECT_EQ(idle.read(clock)->limit_bytes, std::nullopt);
  EXPECT_EQ(idle.read(clock)->kernel_oom_kills, 9u);
}

TEST_F(IdleCgroupTest, after_its_time_asks_for_a_whole_reading) {
  IdleCgroup idle = idle_after_a_whole_reading();
  clock.advance(IdleCgroup::kWholeEvery);
  EXPECT_FALSE(idle.read(clock).has_value());
  idle.remember(*cgroups->sample("/app", id(), clock, false));
  EXPECT_TRUE(idle.read(clock).has_value());
}

TEST_F(IdleCgroupTest, unknown_split_stays_unknown) {
  V2Cgroup{.stat = "anon 1\n"}.write(tree, "app");
  const IdleCgroup idle = idle_after_a_whole_reading();
  ASSERT_TRUE(idle.read(clock).has_value());
  EXPECT_EQ(idle.read(clock)->nonreclaimable_bytes, std::nullopt);
}

TEST_F(IdleCgroupTest, before_a_whole_reading_and_of_garbage_has_nothing) {
  auto fresh = IdleCgroup::open(*cgroups, "/app", id());
  ASSERT_TRUE(fresh.has_value());
  EXPECT_FALSE(fresh->read(clock).has_value());
  const IdleCgroup idle = idle_after_a_whole_reading();
  tree.write("app/memory.max", "soon\n");
  EXPECT_FALSE(idle.read(clock).has_value());
}

TEST_F(IdleCgroupTest, recycled_path_is_not_opened) {
  EXPECT_FALSE(IdleCgroup::open(*cgroups, "/app", CgroupId{id().value + 1}).has_value());
}

}  // namespace
}  // namespace oomw
