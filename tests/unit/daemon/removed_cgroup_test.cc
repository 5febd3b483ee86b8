// SPDX-License-Identifier: Apache-2.0
// A cgroup that goes right after a kill in it: the sampler sees the kernel's count before the ring
// tells of the kill, or after.
#include <gtest/gtest.h>

#include "daemon/pipeline.h"
#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at;

constexpr CgroupId kRemovedCgroup{100};

class RemovedCgroup : public ::testing::Test {
 protected:
  RemovedCgroup() {
    pipeline.heard(at(seconds(1)));
    pipeline.apply(CgroupCreated{at(seconds(1)), kRemovedCgroup, CgroupId{1}, "/app", true});
  }
  void kernel_counted(std::uint64_t kills, Nanoseconds t) {
    MemorySampled sample;
    sample.time = at(t);
    sample.cgroup = kRemovedCgroup;
    sample.kernel_oom_kills = kills;
    pipeline.apply(sample);
  }
  void kill(Nanoseconds t) {
    OomKill kill;
    kill.time = at(t);
    kill.victim = {4242, 77};
    kill.victim_cgroup = kill.owner_cgroup = kRemovedCgroup;
    kill.owner_known = true;
    kill.source = "bpf";
    pipeline.apply(kill);
  }
  void removed(Nanoseconds t) { pipeline.apply(CgroupRemoved{at(t), kRemovedCgroup}); }
  std::uint64_t counted() const {
    std::uint64_t sum = 0;
    for (const auto& [labels, count] : pipeline.ledger().counts()) sum += count;
    return sum;
  }
  Pipeline pipeline{TriggerConfig{}, {}, std::nullopt};
};

TEST_F(RemovedCgroup, kill_told_before_it_was_gone_counts_once) {
  kill(seconds(2));
  kernel_counted(1, seconds(2) + milliseconds(1));
  removed(seconds(2) + milliseconds(2));
  pipeline.heard(at(seconds(4)));
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
}

TEST_F(RemovedCgroup, kill_told_after_it_was_gone_counts_once) {
  kernel_counted(1, seconds(2));
  removed(seconds(2) + milliseconds(1));
  kill(seconds(2));
  pipeline.heard(at(seconds(4)));
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
}

TEST_F(RemovedCgroup, kill_whose_record_was_not_complete_when_the_ring_was_read_counts_once) {
  kernel_counted(1, seconds(2));
  removed(seconds(2) + milliseconds(1));
  pipeline.heard(at(seconds(2) + milliseconds(300)));
  EXPECT_EQ(counted(), 0u);
  kill(seconds(2));
  pipeline.heard(at(seconds(4)));
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
}

TEST_F(RemovedCgroup, kill_that_nobody_told_counts_once_the_grace_is_over) {
  kernel_counted(1, seconds(2));
  removed(seconds(2) + milliseconds(1));
  pipeline.heard(at(seconds(2) + milliseconds(400)));
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
  pipeline.heard(at(seconds(2) + milliseconds(501)));
  EXPECT_EQ(counted(), 1u);
  EXPECT_EQ(pipeline.unobserved_kills(), 1u);
  pipeline.heard(at(seconds(9)));
  EXPECT_EQ(counted(), 1u);
}

TEST_F(RemovedCgroup, id_used_again_within_the_grace_is_settled_first) {
  kernel_counted(1, seconds(2));
  removed(seconds(2) + milliseconds(1));
  pipeline.apply(CgroupCreated{at(seconds(2) + milliseconds(2)), kRemovedCgroup, CgroupId{1}, "/next", true});
  EXPECT_EQ(pipeline.unobserved_kills(), 1u);
  kernel_counted(0, seconds(3));
  kernel_counted(0, seconds(5));
  pipeline.heard(at(seconds(9)));
  EXPECT_EQ(pipeline.unobserved_kills(), 1u);
}

}  // namespace
}  // namespace oomw
