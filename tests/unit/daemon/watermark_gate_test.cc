// SPDX-License-Identifier: Apache-2.0
#include "daemon/watermark_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "unit/base/set_clock.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using std::chrono::seconds;
using test::SetClock;
using test::TempTree;
using test::V2Cgroup;

constexpr std::uint64_t kMiB = 1u << 20;

// A cgroup of 100 MiB in a tree of files, looked at by v2's polling.
class WatermarkGateTest : public ::testing::Test {
 protected:
  WatermarkGateTest() {
    tree.write("cgroup.controllers", "memory\n");
    V2Cgroup{.max = "max"}.write(tree, ".");
    set_usage("app", 10);
    cgroups.emplace(*CgroupFs::probe(tree.root()));
  }

  void make(std::size_t max_watched = 10) {
    const WatermarkGateConfig config{.max_watched = max_watched};
    gate.emplace(*loop, *cgroups, clock, std::vector<std::uint32_t>{50, 70}, config,
                 [this](bool is_wanted) -> Result<> {
                   ++asked;
                   if (refuse) return fail(ErrorCode::kPermission, "no");
                   is_attached = is_wanted;
                   return {};
                 });
  }
  void set_usage(const std::string& name, std::uint64_t mib) const {
    V2Cgroup{.current = std::to_string(mib * kMiB), .max = std::to_string(100 * kMiB)}.write(tree, name);
  }
  [[nodiscard]] CgroupId id_of(const std::string& name) const { return {tree.inode(name)}; }

  // As the sampler tells of it.
  void tell(const std::string& name, bool existed = true) {
    gate->on_event(CgroupCreated{clock.now(), id_of(name), {}, "/" + name, true, existed});
    MemorySampled sample;
    sample.cgroup = id_of(name);
    sample.limit_bytes = 100 * kMiB;
    gate->on_event(sample);
  }
  void rest() {
    clock.advance(seconds(11));
    gate->tick();
  }
  // Until the next poll has read what the files say now.
  void poll() {
    (void)loop->add_once(2 * WatermarkGate::kPoll, [this] { loop->stop(); });
    loop->run();
  }

  TempTree tree;
  SetClock clock;
  std::optional<CgroupFs> cgroups;
  std::unique_ptr<EventLoop> loop = *EventLoop::make();
  bool is_attached = true, refuse = false;
  int asked = 0;
  std::optional<WatermarkGate> gate;
};

TEST_F(WatermarkGateTest, hook_rests_when_nobody_came_near_a_limit_for_the_hold) {
  make();
  tell("app");
  gate->tick();
  EXPECT_TRUE(is_attached);
  rest();
  EXPECT_FALSE(is_attached);
  EXPECT_FALSE(gate->is_open());
  EXPECT_EQ(gate->changes(), 1u);
}

TEST_F(WatermarkGateTest, usage_that_comes_near_the_first_level_brings_it_back) {
  make();
  tell("app");
  rest();
  set_usage("app", 41);
  poll();
  EXPECT_TRUE(is_attached);
  EXPECT_EQ(gate->changes(), 2u);
}

TEST_F(WatermarkGateTest, usage_below_that_does_not) {
  make();
  tell("app");
  rest();
  set_usage("app", 39);
  poll();
  EXPECT_FALSE(is_attached);
}

TEST_F(WatermarkGateTest, steady_use_near_a_limit_lets_it_rest_and_the_next_level_brings_it_back) {
  make();
  set_usage("app", 60);
  tell("app");
  rest();
  EXPECT_FALSE(is_attached);
  poll();
  EXPECT_FALSE(is_attached);
  set_usage("app", 71);
  poll();
  EXPECT_TRUE(is_attached);
}

TEST_F(WatermarkGateTest, new_cgroup_holds_it_until_its_limit_is_known) {
  make();
  rest();
  tell("app", false);
  EXPECT_TRUE(is_attached);
}

TEST_F(WatermarkGateTest, cgroup_found_at_start_up_does_not) {
  make();
  rest();
  tell("app", true);
  EXPECT_FALSE(is_attached);
}

TEST_F(WatermarkGateTest, more_limits_than_may_be_watched_keep_it_attached) {
  make(1);
  tell("app");
  set_usage("other", 10);
  tell("other");
  rest();
  EXPECT_TRUE(is_attached);
}

TEST_F(WatermarkGateTest, limit_that_cannot_be_watched_keeps_it_attached) {
  make();
  tell("app");
  tree.write("bad/memory.max", "1\n");
  std::filesystem::create_symlink("memory.current", tree.path("bad/memory.current"));  // ELOOP
  tell("bad");
  rest();
  EXPECT_TRUE(is_attached);
}

TEST_F(WatermarkGateTest, hook_that_did_not_come_back_is_asked_for_again) {
  make();
  tell("app");
  rest();
  refuse = true;
  tell("app", false);
  EXPECT_FALSE(gate->is_open());
  refuse = false;
  tell("app", false);
  EXPECT_TRUE(gate->is_open());
  EXPECT_TRUE(is_attached);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace oomw
