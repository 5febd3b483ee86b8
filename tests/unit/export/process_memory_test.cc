// SPDX-License-Identifier: Apache-2.0
#include "export/process_memory.h"

#include <atomic>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr MonotonicTime kReadAt{1'000'000'000};

class ProcessMemoryTest : public testing::Test {
 protected:
  // A container with a limit of 100, whose processes have the pids id * 1,000 and up.
  void add(std::uint64_t id, std::uint64_t usage, std::int32_t processes) {
    model.apply(CgroupCreated{kReadAt, {id}, {}, "/" + std::to_string(id), true});
    ContainerIdentity identity;
    identity.runtime = "containerd";
    identity.id = "id-" + std::to_string(id);
    identity.name = "c" + std::to_string(id);
    identity.pod_name = "pod";
    identity.pod_namespace = "ns";
    model.apply(ContainerIdentified{kReadAt, {id}, identity, true});
    model.apply(MemorySampled{kReadAt, {id}, usage, 100, usage / 2, 0, false, {}, {}});
    for (std::int32_t i = 0; i < processes; ++i) {
      ProcessSeen seen;
      seen.time = kReadAt;
      seen.process = {static_cast<std::int32_t>(id) * 1'000 + i, 7};
      seen.cgroup = {id};
      seen.comm = "app";
      model.apply(seen);
    }
  }
  // Resident memory grows with the pid; those in `gone` cannot be read.
  ReadProcessMemory reader(std::set<std::int32_t> gone = {}) {
    return [gone = std::move(gone)](ProcessMemoryMetrics::Process& process) {
      process.resident_bytes = static_cast<std::uint64_t>(process.key.pid);
      process.virtual_bytes = 2 * process.resident_bytes;
      return !gone.contains(process.key.pid);
    };
  }
  static std::vector<std::int32_t> pids(const ProcessMemoryMetrics& metrics) {
    std::vector<std::int32_t> pids;
    for (const auto& process : metrics.processes) pids.push_back(process.key.pid);
    return pids;
  }
  MemoryModel model;
};

TEST_F(ProcessMemoryTest, processes_of_a_container_near_its_limit_are_read_and_others_are_not) {
  add(1, 79, 2);
  add(2, 80, 1);
  const ProcessMemoryMetrics metrics = read_processes(processes_near_limit(model), reader());
  ASSERT_THAT(pids(metrics), ElementsAre(2'000));
  const ProcessMemoryMetrics::Process& process = metrics.processes[0];
  EXPECT_EQ(process.k8s_namespace, "ns");
  EXPECT_EQ(process.pod, "pod");
  EXPECT_EQ(process.container, "c2");
  EXPECT_EQ(process.executable, "app");
  EXPECT_EQ(process.resident_bytes, 2'000u);
  EXPECT_EQ(process.virtual_bytes, 4'000u);
}

TEST_F(ProcessMemoryTest, beyond_the_bounds_the_smallest_are_left_out_and_counted) {
  for (std::uint64_t id = 1; id <= 4; ++id) add(id, 80 + id, 4);
  ProcessMemoryBounds bounds{.containers = 3, .processes_each = 2, .read_each = 3, .read = 7};
  const ProcessMemoryMetrics metrics = read_processes(processes_near_limit(model, bounds), reader(), bounds);
  EXPECT_THAT(pids(metrics), ElementsAre(4'002, 4'001, 3'002, 3'001, 2'000));
  EXPECT_EQ(metrics.containers_left_out, 1u);
  EXPECT_EQ(metrics.processes_left_out, 7u);  // of the three containers that are shown
}

TEST_F(ProcessMemoryTest, one_that_is_gone_is_neither_shown_nor_left_out) {
  add(1, 90, 3);
  const ProcessMemoryMetrics metrics = read_processes(processes_near_limit(model), reader({1'002}));
  EXPECT_THAT(pids(metrics), ElementsAre(1'001, 1'000));
  EXPECT_EQ(metrics.processes_left_out, 0u);
}

TEST_F(ProcessMemoryTest, no_node_shows_more_than_256_processes) {
  for (std::uint64_t id = 1; id <= 20; ++id) add(id, 90, 40);
  const ProcessMemoryMetrics metrics = read_processes(processes_near_limit(model), reader());
  EXPECT_LE(metrics.processes.size(), 256u);
  EXPECT_EQ(metrics.processes.size() + metrics.processes_left_out, 16u * 40);
  EXPECT_EQ(metrics.containers_left_out, 4u);
}

TEST_F(ProcessMemoryTest, they_are_read_on_another_thread_and_shown_until_they_end) {
  add(1, 90, 2);
  std::atomic<std::thread::id> read_on;
  ProcessGauges memory([&, read = reader()](ProcessMemoryMetrics::Process& process) {
    read_on = std::this_thread::get_id();
    return read(process);
  });
  EXPECT_THAT(memory.newest(model).processes, IsEmpty());
  memory.tick(model, kReadAt);
  while (memory.newest(model).processes.empty()) std::this_thread::yield();
  EXPECT_THAT(pids(memory.newest(model)), ElementsAre(1'001, 1'000));
  EXPECT_NE(read_on.load(), std::this_thread::get_id());
  model.apply(ProcessExit{kReadAt, {1'001, 7}});
  EXPECT_THAT(pids(memory.newest(model)), ElementsAre(1'000));
}

}  // namespace
}  // namespace oomw
