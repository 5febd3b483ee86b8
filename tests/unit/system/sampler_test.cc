// SPDX-License-Identifier: Apache-2.0
#include "system/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "unit/base/loop_fixture.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using test::TempTree;
using test::V2Cgroup;
using ::testing::IsEmpty;

const std::string kScope = "cri-containerd-" + test::kContainerd + ".scope";

class SamplerTest : public test::LoopFixture {
 protected:
  SamplerTest() {
    tree.write("cg/cgroup.controllers", "memory");
    tree.write("proc/meminfo", "");
    config.proc_root = tree.path("proc");
    config.bundles.host_root = tree.path("host");
    tree.write("host/keep", "");
  }

  void make() {
    cgroups.emplace(*CgroupFs::probe(tree.path("cg")));
    sampler = std::make_unique<Sampler>(*loop, *cgroups, clock, config, [this](Event e) {
      sampler->on_event(e);  // as the daemon does
      events.push_back(std::move(e));
      if (is_enough && is_enough()) loop->stop();
    });
  }
  void run_until(std::function<bool()> enough) {
    is_enough = std::move(enough);
    run();
    is_enough = nullptr;
  }
  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const Event& e : events) {
      if (const auto* one = std::get_if<T>(&e)) found.push_back(*one);
    }
    return found;
  }
  void process(int pid, const std::string& cgroup, const std::string& start = "4711") {
    const std::string dir = "proc/" + std::to_string(pid);
    tree.write(dir + "/stat",
               std::to_string(pid) + " (app) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + start + " 0 0\n");
    tree.write(dir + "/status", "Uid:\t3\t0\t0\t0\n");
    tree.write(dir + "/cgroup", "0::" + cgroup + "\n");
  }
  CgroupId id(const std::string& below) const { return {tree.inode("cg/" + below)}; }
  CgroupCreated created(const std::string& path) const {
    return {MonotonicTime{1}, id(path.substr(1)), {}, path, true};
  }

  TempTree tree;
  SystemClock clock;
  SamplerConfig config;
  std::optional<CgroupFs> cgroups;
  std::vector<Event> events;
  std::function<bool()> is_enough;
  std::unique_ptr<Sampler> sampler;
};

TEST_F(SamplerTest, start_tells_cgroups_owners_readings_and_processes) {
  V2Cgroup{}.write(tree, "cg/system.slice/" + kScope);
  process(42, "/system.slice/" + kScope);
  make();
  sampler->start();
  ASSERT_EQ(all<CgroupCreated>().size(), 3u);
  EXPECT_EQ(all<CgroupCreated>()[2].path, "/system.slice/" + kScope);
  ASSERT_EQ(all<ContainerIdentified>().size(), 1u);
  EXPECT_EQ(all<ContainerIdentified>()[0].identity.id, test::kContainerd);
  EXPECT_FALSE(all<ContainerIdentified>()[0].from_bundle);
  ASSERT_EQ(all<MemorySampled>().size(), 1u);
  EXPECT_EQ(all<MemorySampled>()[0].usage_bytes, 100u << 20);
  ASSERT_EQ(all<ProcessSeen>().size(), 1u);
  EXPECT_EQ(all<ProcessSeen>()[0].process, (ProcessKey{42, 4711}));
  EXPECT_EQ(all<ProcessSeen>()[0].cgroup, id("system.slice/" + kScope));
}

TEST_F(SamplerTest, process_below_the_memory_cgroup_belongs_to_it) {
  V2Cgroup{}.write(tree, "cg/app");
  tree.write("cg/app/child/cgroup.procs", "");
  process(42, "/app/child");
  make();
  sampler->start();
  ASSERT_EQ(all<ProcessSeen>().size(), 1u);
  EXPECT_EQ(all<ProcessSeen>()[0].cgroup, id("app"));
}

TEST_F(SamplerTest, child_of_a_container_is_not_named_again) {
  V2Cgroup{}.write(tree, "cg/" + kScope);
  V2Cgroup{}.write(tree, "cg/" + kScope + "/init.scope");
  make();
  sampler->start();
  EXPECT_EQ(all<ContainerIdentified>().size(), 1u);
}

TEST_F(SamplerTest, a_second_cgroup_with_a_living_container_s_id_is_nobody_s_and_counted) {
  V2Cgroup{}.write(tree, "cg/system.slice/" + kScope);
  make();
  sampler->start();
  V2Cgroup{}.write(tree, "cg/user.slice/" + test::kContainerd);
  sampler->rescan();
  EXPECT_EQ(all<ContainerIdentified>().size(), 1u);
  EXPECT_EQ(sampler->lost().at(LostStage::kClaimedIds), 1u);
}

TEST_F(SamplerTest, a_container_made_again_elsewhere_has_its_id) {
  V2Cgroup{}.write(tree, "cg/a/" + test::kContainerd);
  make();
  sampler->start();
  // Made while the first still exists: a file system may give the number of a removed directory to the next one.
  V2Cgroup{}.write(tree, "later/" + test::kContainerd);
  tree.remove("cg/a");
  std::filesystem::rename(tree.path("later"), tree.path("cg/b"));
  sampler->rescan();
  EXPECT_EQ(all<ContainerIdentified>().size(), 2u);
}

TEST_F(SamplerTest, bundle_written_after_the_cgroup_is_found_on_retry) {
  V2Cgroup{}.write(tree, "cg/" + kScope);
  make();
  sampler->start();
  tree.write("host/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + test::kContainerd + "/config.json",
             R"({"annotations":{"io.kubernetes.cri.container-name":"app"}})");
  run_until([&] { return all<ContainerIdentified>().size() == 2; });
  ASSERT_EQ(all<ContainerIdentified>().size(), 2u);
  EXPECT_TRUE(all<ContainerIdentified>()[1].from_bundle);
  EXPECT_EQ(all<ContainerIdentified>()[1].identity.name, "app");
}

TEST_F(SamplerTest, created_cgroup_is_identified_and_sampled_on_request) {
  make();
  sampler->start();
  V2Cgroup{}.write(tree, "cg/" + kScope);
  sampler->on_event(created("/" + kScope));
  EXPECT_EQ(all<ContainerIdentified>().size(), 1u);
  EXPECT_EQ(sampler->path_of(id(kScope)), "/" + kScope);
  EXPECT_TRUE(sampler->sample_now(id(kScope), true));
  EXPECT_TRUE(all<MemorySampled>().back().detailed);
}

TEST_F(SamplerTest, cut_path_is_completed_from_the_parent) {
  V2Cgroup{}.write(tree, "cg/pod");
  make();
  sampler->start();
  V2Cgroup{}.write(tree, "cg/pod/long-name");
  sampler->on_event(CgroupCreated{{}, id("pod/long-name"), id("pod"), "/pod/lo", false});
  EXPECT_EQ(sampler->path_of(id("pod/long-name")), "/pod/long-name");
  EXPECT_TRUE(all<CgroupCreated>().back().path_complete);
  EXPECT_EQ(all<CgroupCreated>().back().path, "/pod/long-name");
}

TEST_F(SamplerTest, unknown_cgroup_cannot_be_sampled) {
  make();
  EXPECT_FALSE(sampler->sample_now(CgroupId{12345}, false));
}

TEST_F(SamplerTest, vanished_cgroup_is_told_once) {
  V2Cgroup{}.write(tree, "cg/app");
  make();
  sampler->start();
  const CgroupId app = id("app");
  tree.remove("cg/app");
  EXPECT_FALSE(sampler->sample_now(app, false));
  EXPECT_FALSE(sampler->sample_now(app, false));
  ASSERT_EQ(all<CgroupRemoved>().size(), 1u);
  EXPECT_EQ(all<CgroupRemoved>()[0].cgroup, app);
  EXPECT_EQ(sampler->path_of(app), "");
}

TEST_F(SamplerTest, rescan_tells_what_appeared_and_vanished) {
  V2Cgroup{}.write(tree, "cg/old");
  make();
  sampler->start();
  const CgroupId old = id("old");
  V2Cgroup{}.write(tree, "cg/new");
  tree.remove("cg/old");
  events.clear();
  sampler->rescan();
  ASSERT_EQ(all<CgroupCreated>().size(), 1u);
  EXPECT_EQ(all<CgroupCreated>()[0].path, "/new");
  ASSERT_EQ(all<CgroupRemoved>().size(), 1u);
  EXPECT_EQ(all<CgroupRemoved>()[0].cgroup, old);
}

TEST_F(SamplerTest, keep_rescanning_finds_new_cgroups_by_itself) {
  make();
  sampler->start();
  sampler->keep_rescanning(milliseconds(20));
  V2Cgroup{}.write(tree, "cg/late");
  run_until([&] { return all<CgroupCreated>().back().path == "/late"; });
  EXPECT_EQ(all<CgroupCreated>().back().path, "/late");
}

TEST_F(SamplerTest, slow_schedule_reads_every_cgroup_in_turn) {
  config.slow = milliseconds(100);
  for (int i = 0; i < 40; ++i) V2Cgroup{.max = "max"}.write(tree, "cg/c" + std::to_string(i));
  make();
  sampler->start();
  events.clear();
  run_until([&] { return all<MemorySampled>().size() >= 80; });
  std::map<CgroupId, int> readings;
  for (const auto& sample : all<MemorySampled>()) ++readings[sample.cgroup];
  EXPECT_EQ(readings.size(), 40u);
  for (const auto& [cgroup, count] : readings) EXPECT_LE(count, 3);
}

TEST_F(SamplerTest, calm_cgroup_is_read_on_from_open_files_and_its_moves_are_seen) {
  config.slow = milliseconds(50);
  V2Cgroup{.max = "max"}.write(tree, "cg/calm");
  make();
  sampler->start();
  run_until([&] { return all<MemorySampled>().size() >= 3; });
  tree.write("cg/calm/memory.stat", "active_file 1\ninactive_file 1\n");  // not read while nothing moves
  events.clear();
  run_until([&] { return all<MemorySampled>().size() >= 2; });
  EXPECT_EQ(all<MemorySampled>().back().nonreclaimable_bytes, (100u << 20) - (31u << 20));
  tree.write("cg/calm/memory.current", std::to_string(50u << 20));
  events.clear();
  run_until([&] { return all<MemorySampled>().size() >= 2; });
  EXPECT_EQ(all<MemorySampled>().back().nonreclaimable_bytes, (50u << 20) - 2);
}

TEST_F(SamplerTest, calm_cgroup_that_comes_near_its_limit_is_read_fast) {
  config.slow = milliseconds(50);
  V2Cgroup{.max = "max"}.write(tree, "cg/app");
  make();
  sampler->start();
  run_until([&] { return all<MemorySampled>().size() >= 3; });
  config.slow = std::chrono::hours(1);
  tree.write("cg/app/memory.max", std::to_string(110u << 20));
  events.clear();
  run_until([&] { return all<MemorySampled>().size() >= 3; });
  EXPECT_EQ(all<MemorySampled>().back().limit_bytes, 110u << 20);
}

TEST_F(SamplerTest, near_its_limit_is_read_on_the_fast_schedule) {
  config.slow = std::chrono::hours(1);
  config.fast = milliseconds(10);
  V2Cgroup{.current = "200", .max = "256"}.write(tree, "cg/near");
  V2Cgroup{.current = "20", .max = "256"}.write(tree, "cg/far");
  make();
  sampler->start();
  events.clear();
  run_until([&] { return all<MemorySampled>().size() >= 3; });
  for (const auto& sample : all<MemorySampled>()) EXPECT_EQ(sample.cgroup, id("near"));
}

TEST_F(SamplerTest, fast_schedule_is_bounded_and_counts) {
  config.max_fast = 2;
  for (int i = 0; i < 5; ++i) V2Cgroup{.current = "200", .max = "256"}.write(tree, "cg/c" + std::to_string(i));
  make();
  sampler->start();
  EXPECT_EQ(sampler->lost().at(LostStage::kFastSampling), 3u);
}

TEST_F(SamplerTest, exec_is_read_a_moment_later) {
  V2Cgroup{}.write(tree, "cg/app");
  make();
  sampler->start();
  process(42, "/app");
  sampler->on_event(ProcessExec{{}, {42, 4711}, 0, id("app"), "app"});
  EXPECT_THAT(all<ProcessSeen>(), IsEmpty());
  run_until([&] { return !all<ProcessSeen>().empty(); });
  ASSERT_EQ(all<ProcessSeen>().size(), 1u);
  EXPECT_EQ(all<ProcessSeen>()[0].uid, 3u);
}

TEST_F(SamplerTest, the_command_line_follows_as_a_second_reading_without_a_cgroup) {
  V2Cgroup{}.write(tree, "cg/app");
  process(42, "/app");
  tree.write("proc/42/cmdline", std::string("app\0-v\0", 7));
  make();
  sampler->start();
  ASSERT_EQ(all<ProcessSeen>().size(), 1u);
  EXPECT_EQ(all<ProcessSeen>()[0].cmdline, "");
  run_until([&] { return all<ProcessSeen>().size() == 2; });
  EXPECT_EQ(all<ProcessSeen>()[1].process, (ProcessKey{42, 4711}));
  EXPECT_EQ(all<ProcessSeen>()[1].cmdline, "app -v");
  EXPECT_EQ(all<ProcessSeen>()[1].uid, 3u);
  EXPECT_FALSE(all<ProcessSeen>()[1].cgroup);
}

TEST_F(SamplerTest, recycled_pid_is_not_taken_for_the_one_that_execed) {
  make();
  sampler->start();
  process(42, "/", "9999");
  sampler->on_event(ProcessExec{{}, {42, 4711}, 0, {}, "app"});
  run_for(milliseconds(150));
  EXPECT_THAT(all<ProcessSeen>(), IsEmpty());
}

TEST_F(SamplerTest, exec_storm_is_bounded_and_counted) {
  config.max_pending = 10;
  make();
  for (int pid = 1; pid <= 15; ++pid) sampler->on_event(ProcessExec{{}, {pid, 1}, 0, {}, "x"});
  EXPECT_EQ(sampler->lost().at(LostStage::kIdentifyQueue), 5u);
}

TEST_F(SamplerTest, processes_of_a_cgroup_are_read_once) {
  V2Cgroup{.procs = "42\n43\n44\n"}.write(tree, "cg/app");
  make();
  sampler->start();
  process(42, "/app");
  process(43, "/app");
  sampler->read_processes_now(id("app"), 10);
  EXPECT_EQ(all<ProcessSeen>().size(), 2u);
  sampler->read_processes_now(id("app"), 10);
  EXPECT_EQ(all<ProcessSeen>().size(), 2u);
}

TEST_F(SamplerTest, read_process_now_says_whether_it_is_there) {
  process(42, "/");
  make();
  EXPECT_TRUE(sampler->read_process_now(42));
  EXPECT_FALSE(sampler->read_process_now(43));
}

TEST_F(SamplerTest, destroyed_with_work_waiting_runs_none_of_it) {
  V2Cgroup{}.write(tree, "cg/" + kScope);
  make();
  sampler->start();
  sampler->on_event(ProcessExec{{}, {42, 4711}, 0, {}, "app"});
  const std::size_t told = events.size();
  sampler.reset();
  run_for(milliseconds(150));
  EXPECT_EQ(events.size(), told);
}

}  // namespace
}  // namespace oomw
