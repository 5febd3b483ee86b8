// SPDX-License-Identifier: Apache-2.0
#include "system/file_events.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "base/files.h"
#include "unit/base/loop_fixture.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using test::TempTree;
using test::V2Cgroup;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A FIFO stands in for /dev/kmsg: like it, one write is one read as long as it is read in time.
class FileEventsTest : public test::LoopFixture {
 protected:
  FileEventsTest() {
    tree.write("cg/cgroup.controllers", "memory");
    tree.write("proc/meminfo", "");
    config.kmsg_path = tree.path("kmsg");
    config.proc_root = tree.path("proc");
    config.poll_slow = milliseconds(10);
    config.poll_fast = milliseconds(5);
    OOMW_CHECK(::mkfifo(config.kmsg_path.c_str(), 0600) == 0);
    kmsg = UniqueFd(::open(config.kmsg_path.c_str(), O_RDWR | O_NONBLOCK));
  }

  void make() {
    cgroups.emplace(*CgroupFs::probe(tree.path("cg")));
    auto made = FileEvents::make(*loop, *cgroups, clock, config, [this](Event e) {
      events.push_back(std::move(e));
      loop->stop();
    });
    ASSERT_TRUE(made.has_value());
    files = std::move(*made);
  }
  void log_line(const std::string& message) const {
    ASSERT_TRUE(write_all(kmsg.get(), "3,1,2,-;" + message + "\n").has_value());
  }
  // The lines in one wake-up each, as the test's FIFO keeps no record boundaries.
  void log_kill(const std::string& memcgs, int pid = 42) {
    if (!memcgs.empty()) {
      log_line("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + memcgs +
               ",task=leak,pid=" + std::to_string(pid) + ",uid=7");
      run_for(milliseconds(20));
    }
    log_line("Memory cgroup out of memory: Killed process " + std::to_string(pid) +
             " (leak) total-vm:200kB, anon-rss:100kB, file-rss:20kB, shmem-rss:4kB, UID:7 pgtables:12kB "
             "oom_score_adj:-998");
    run();
  }
  CgroupId id(const std::string& below) const { return {tree.inode("cg/" + below)}; }
  void tell(const std::string& path) { files->on_event(CgroupCreated{{}, id(path.substr(1)), {}, path, true}); }
  MemorySampled limited(const std::string& below, std::uint64_t limit) const {
    MemorySampled sample;
    sample.cgroup = id(below);
    sample.limit_bytes = limit;
    return sample;
  }
  const OomKill& kill() const { return std::get<OomKill>(events.at(0)); }

  TempTree tree;
  SystemClock clock;
  FileEventsConfig config;
  UniqueFd kmsg;
  std::optional<CgroupFs> cgroups;
  std::vector<Event> events;
  std::unique_ptr<FileEvents> files;
};

class FileKills : public FileEventsTest {
 protected:
  FileKills() { config.kills = true; }
};

TEST_F(FileKills, kill_of_a_limited_ancestor_names_both_cgroups) {
  V2Cgroup{}.write(tree, "cg/pod");
  V2Cgroup{.max = "max"}.write(tree, "cg/pod/app");
  make();
  log_kill("/pod,task_memcg=/pod/app");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(kill().source, "kmsg");
  EXPECT_EQ(kill().victim.pid, 42);
  EXPECT_EQ(kill().victim_comm, "leak");
  EXPECT_EQ(kill().victim_cgroup, id("pod/app"));
  EXPECT_EQ(kill().owner_cgroup, id("pod"));
  EXPECT_TRUE(kill().owner_known && kill().owner_exact);
  EXPECT_EQ(kill().owner_limit_bytes, 256u << 20);
  EXPECT_EQ(kill().owner_usage_bytes, std::nullopt);
  EXPECT_EQ(kill().victim_rss->anon_bytes, 100u * 1024);
  EXPECT_EQ(kill().victim_rss->pgtables_bytes, 12u * 1024);
  EXPECT_EQ(kill().victim_uid, 7u);
  EXPECT_EQ(kill().victim_oom_score_adj, -998);
  EXPECT_THAT(files->problems(), IsEmpty());
}

TEST_F(FileKills, cgroup_removed_before_the_log_is_read_is_still_known) {
  V2Cgroup{}.write(tree, "cg/app");
  make();
  tell("/app");
  const CgroupId app = id("app");
  tree.remove("cg/app");
  files->on_event(CgroupRemoved{{}, app});
  log_kill("/app,task_memcg=/app");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(kill().victim_cgroup, app);
  EXPECT_EQ(kill().owner_cgroup, app);
  EXPECT_EQ(kill().owner_limit_bytes, std::nullopt);
}

TEST_F(FileKills, owner_never_heard_of_is_unknown_not_node_wide) {
  make();
  log_kill("/x,task_memcg=/x");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(kill().owner_known);
  EXPECT_FALSE(kill().owner_exact);
}

TEST_F(FileKills, node_wide_kill_has_no_owner_and_says_so) {
  make();
  log_line("Out of memory: Killed process 42 (leak) total-vm:200kB, anon-rss:100kB");
  run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(kill().owner_known && kill().owner_exact);
  EXPECT_EQ(kill().owner_cgroup, CgroupId{});
}

TEST_F(FileKills, rate_limited_kill_is_owned_by_the_only_limit_above) {
  V2Cgroup{}.write(tree, "cg/pod");
  V2Cgroup{.max = "max"}.write(tree, "cg/pod/app");
  make();
  tell("/pod");
  tell("/pod/app");
  ProcessSeen seen;
  seen.process = {42, 4711};
  seen.cgroup = id("pod/app");
  files->on_event(seen);
  log_kill("");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(kill().victim_cgroup, id("pod/app"));
  EXPECT_EQ(kill().owner_cgroup, id("pod"));
  EXPECT_TRUE(kill().owner_known);
  EXPECT_FALSE(kill().owner_exact);
}

TEST_F(FileKills, rate_limited_kill_below_two_limits_has_no_known_owner) {
  V2Cgroup{}.write(tree, "cg/pod");
  V2Cgroup{}.write(tree, "cg/pod/app");
  make();
  tell("/pod/app");
  ProcessSeen seen;
  seen.process = {42, 4711};
  seen.cgroup = id("pod/app");
  files->on_event(seen);
  log_kill("");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(kill().owner_known);
}

TEST_F(FileKills, unreadable_log_is_a_problem_and_counts_still_rise) {
  config.kmsg_path = tree.path("absent");
  V2Cgroup{}.write(tree, "cg/app");
  make();
  ASSERT_EQ(files->problems().size(), 1u);
  EXPECT_THAT(files->problems()[0], HasSubstr("absent"));
  tell("/app");
  V2Cgroup more;
  more.events_local = "oom_kill 3\n";
  more.write(tree, "cg/app");
  run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<MemorySampled>(events[0]).kernel_oom_kills, 3u);
}

class FileWatermarks : public FileEventsTest {
 protected:
  FileWatermarks() { config.watermarks = true; }
  // In place and in one write, as the watch keeps the file open; a reading must never see it empty.
  void use(std::uint64_t bytes) const {
    const UniqueFd file(::open(tree.path("cg/app/memory.current").c_str(), O_WRONLY));
    ASSERT_TRUE(write_all(file.get(), std::to_string(bytes) + "\n").has_value());
  }
};

TEST_F(FileWatermarks, rising_usage_crosses_levels_once) {
  V2Cgroup{.current = "10", .max = "1000"}.write(tree, "cg/app");
  make();
  tell("/app");
  files->on_event(limited("app", 1000));
  use(850);
  run();
  ASSERT_EQ(events.size(), 1u);
  const auto& crossed = std::get<WatermarkCrossed>(events[0]);
  EXPECT_EQ(crossed.cgroup, id("app"));
  EXPECT_EQ(crossed.level_percent, 85u);
  EXPECT_EQ(crossed.usage_bytes, 850u);
  EXPECT_EQ(crossed.limit_bytes, 1000u);
  run_for(milliseconds(60));
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(FileWatermarks, usage_already_high_is_told_at_once) {
  V2Cgroup{.current = "960", .max = "1000"}.write(tree, "cg/app");
  make();
  tell("/app");
  files->on_event(limited("app", 1000));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<WatermarkCrossed>(events[0]).level_percent, 95u);
}

TEST_F(FileWatermarks, growth_gives_a_time_to_the_limit) {
  config.poll_slow = milliseconds(30);  // well above the shortest interval that a slope is taken over
  V2Cgroup{.current = "0", .max = "100000000"}.write(tree, "cg/app");
  make();
  tell("/app");
  files->on_event(limited("app", 100'000'000));
  run_for(milliseconds(50));
  use(60'000'000);
  run();
  ASSERT_EQ(events.size(), 1u);
  const auto& crossed = std::get<WatermarkCrossed>(events[0]);
  ASSERT_TRUE(crossed.growth_bytes_per_second.has_value());
  EXPECT_GT(*crossed.growth_bytes_per_second, 0);
  EXPECT_TRUE(crossed.time_to_limit.has_value());
}

TEST_F(FileWatermarks, without_a_limit_or_removed_it_is_not_watched) {
  V2Cgroup{.current = "960", .max = "max"}.write(tree, "cg/app");
  make();
  tell("/app");
  MemorySampled unlimited = limited("app", 0);
  unlimited.limit_bytes.reset();
  files->on_event(unlimited);
  EXPECT_THAT(events, IsEmpty());
  files->on_event(limited("app", 10'000));
  files->on_event(CgroupRemoved{{}, id("app")});
  use(9'900);
  run_for(milliseconds(60));
  EXPECT_THAT(events, IsEmpty());
}

TEST_F(FileWatermarks, more_than_can_be_watched_are_counted) {
  config.max_watched = 1;
  V2Cgroup{}.write(tree, "cg/a");
  V2Cgroup{}.write(tree, "cg/b");
  make();
  for (const char* name : {"a", "b"}) {
    tell(std::string("/") + name);
    files->on_event(limited(name, 1u << 30));
  }
  EXPECT_EQ(files->lost().at(LostStage::kWatchedLimits), 1u);
}

}  // namespace
}  // namespace oomw
