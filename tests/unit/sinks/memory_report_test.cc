// SPDX-License-Identifier: Apache-2.0
#include "sinks/memory_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MonotonicTime kNow{1'000'000'000};
constexpr std::int64_t kWallOffset = 5;

class MemoryReportTest : public ::testing::Test {
 protected:
  void add(std::uint64_t id, std::uint64_t usage, std::uint64_t limit, std::size_t processes = 0) {
    model.apply(CgroupCreated{kNow, {id}, {}, "/" + std::to_string(id), true});
    ContainerIdentity identity;
    identity.runtime = "containerd";
    identity.id = "id-" + std::to_string(id);
    identity.name = "c" + std::to_string(id);
    model.apply(ContainerIdentified{kNow, {id}, identity, true});
    model.apply(MemorySampled{kNow, {id}, usage, limit, usage / 2, 0, false, {}, {}});
    for (std::size_t i = 0; i < processes; ++i) {
      ProcessSeen seen;
      seen.time = kNow;
      seen.process = {static_cast<std::int32_t>(id * 1'000 + i), 7};
      seen.cgroup = {id};
      seen.comm = "p";
      model.apply(seen);
    }
  }
  std::vector<std::string> names(const MemoryReport& report) {
    std::vector<std::string> names;
    for (const ContainerUsage& usage : report.containers) names.push_back(usage.container.name);
    return names;
  }
  MemoryModel model;
};

TEST_F(MemoryReportTest, a_container_comes_with_its_reading_and_only_near_its_limit_with_its_processes) {
  add(1, 79, 100, 2);
  add(2, 80, 100, 2);
  const MemoryReport report = memory_report_of(model, kWallOffset);
  ASSERT_THAT(names(report), ElementsAre("c2", "c1"));
  const ContainerUsage& near = report.containers[0];
  EXPECT_EQ(near.usage_bytes, 80u);
  EXPECT_EQ(near.limit_bytes, 100u);
  EXPECT_EQ(near.nonreclaimable_bytes, 40u);
  EXPECT_EQ(near.time.ns, kNow.ns + kWallOffset);
  EXPECT_EQ(near.cgroup_path, "/2");
  ASSERT_THAT(near.processes, SizeIs(2));
  EXPECT_EQ(near.processes[0].key, (ProcessKey{2'000, 7}));
  EXPECT_THAT(report.containers[1].processes, IsEmpty());
}

TEST_F(MemoryReportTest, beyond_the_bounds_the_smallest_are_left_out_and_counted) {
  for (std::uint64_t id = 1; id <= 5; ++id) add(id, 90 + id, 100, 4);
  const MemoryReport report =
      memory_report_of(model, 0, MemoryReportBounds{.containers = 3, .processes = 7, .processes_each = 3});
  EXPECT_THAT(names(report), ElementsAre("c5", "c4", "c3"));
  EXPECT_THAT(report.containers[0].processes, SizeIs(3));
  EXPECT_THAT(report.containers[1].processes, SizeIs(3));
  EXPECT_THAT(report.containers[2].processes, SizeIs(1));
  EXPECT_EQ(report.containers_left_out, 2u);
  EXPECT_EQ(report.processes_left_out, 5u);
}

TEST_F(MemoryReportTest, a_container_that_is_gone_is_not_in_it) {
  add(1, 90, 100);
  model.apply(CgroupRemoved{kNow, {1}});
  EXPECT_THAT(memory_report_of(model, 0).containers, IsEmpty());
}

}  // namespace
}  // namespace oomw
