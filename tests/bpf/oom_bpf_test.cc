// SPDX-License-Identifier: Apache-2.0
// Real OOM kills in a cgroup of our own.
#include <pthread.h>
#include <signal.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <fstream>
#include <string>

#include "base/files.h"
#include "base/proc_stat.h"
#include "base/victim_marks.h"
#include "bpf/kernel_fixture.h"
#include "bpf/programs.h"
#include "support/shared_value.h"

namespace oomw::test {
namespace {

std::uint64_t swap_bytes() {
  struct sysinfo info {};
  ::sysinfo(&info);
  return std::uint64_t{info.totalswap} * info.mem_unit;
}

bool write_text(const std::string& path, const char* text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

bool is_asleep(pid_t pid) {
  return ProcStat(read_file("/proc/" + std::to_string(pid) + "/stat", ProcStat::kMaxBytes).value_or("")).state() == 'S';
}

class OomTest : public KernelTest, public ::testing::WithParamInterface<Rung> {
 protected:
  static KernelConfig config() {
    KernelConfig config = config_of_only({"oom_kill"});
    config.forced["oom_kill"] = GetParam();
    return config;
  }

  [[nodiscard]] std::vector<OomKill> kills_of(pid_t pid) const {
    return events_where<OomKill>([pid](const OomKill& kill) { return kill.victim.pid == pid; });
  }

  // With fentry mark_oom_victim() has the task.
  [[nodiscard]] bool names_victims_by_pid_only() const {
    return GetParam() != Rung::kFentry && source_->program_stats().front().program.find("_pid_") != std::string::npos;
  }

  // For those who would read its memory.
  [[nodiscard]] bool is_marked(pid_t pid) const {
    EXPECT_TRUE(VictimMarks::attach(source_->victims_fd()));
    const bool is = VictimMarks::has(pid);
    VictimMarks::detach();
    return is;
  }

  // Known from oom_kill_process() alone.
  void expect_decision(const OomKill& kill, std::uint64_t limit) const {
    EXPECT_FALSE(kill.is_node_wide_said);
    if (GetParam() != Rung::kFentry) {
      EXPECT_FALSE(kill.decision || kill.total_bytes);
      return;
    }
    EXPECT_TRUE(kill.owner_exact);
    ASSERT_TRUE(kill.decision.has_value());
    EXPECT_LE(*kill.decision, kill.time);
    EXPECT_GT(*kill.decision, kill.time - std::chrono::minutes(1));
    EXPECT_GE(kill.total_bytes.value_or(0), limit);
    EXPECT_LE(kill.total_bytes.value_or(0), limit + swap_bytes());
  }
};

int leak() {
  touch_memory(mebibytes(200));
  return 0;
}

TEST_P(OomTest, kill_when_limit_reached_carries_every_field) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  cgroup_->set_limit(mebibytes(32));
  ChildProcess child(cgroup_.get(), [] {
    write_oom_score_adj(321);
    return leak();
  });
  child.go();
  int status = child.wait();
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  collect();

  auto kills = kills_of(child.pid());
  ASSERT_EQ(kills.size(), 1u) << kLostKill;
  const OomKill& kill = kills.front();
  EXPECT_EQ(kill.victim, child.key());
  EXPECT_TRUE(is_marked(child.pid()));
  EXPECT_FALSE(is_marked(::getpid()));
  EXPECT_EQ(kill.victim_cgroup, cgroup_->id());
  EXPECT_EQ(kill.victim_comm, "bpf_tests");
  EXPECT_EQ(kill.victim_uid, ::getuid());
  EXPECT_EQ(kill.victim_oom_score_adj, 321);
  ASSERT_TRUE(kill.victim_rss.has_value());
  EXPECT_GT(kill.victim_rss->anon_bytes, mebibytes(24));
  EXPECT_LE(kill.victim_rss->anon_bytes, mebibytes(40));
  EXPECT_GT(kill.victim_rss->pgtables_bytes.value_or(0), 0u);
  EXPECT_EQ(kill.trigger_pid, child.pid());
  EXPECT_EQ(kill.trigger_comm, "bpf_tests");
  EXPECT_EQ(kill.trigger_cgroup, cgroup_->id());
  EXPECT_TRUE(kill.owner_known);
  EXPECT_EQ(kill.owner_cgroup, cgroup_->id());
  EXPECT_EQ(kill.owner_limit_bytes, mebibytes(32));
  EXPECT_GT(kill.owner_usage_bytes.value_or(0), mebibytes(31));
  EXPECT_LE(kill.owner_usage_bytes.value_or(0), mebibytes(32));
  EXPECT_EQ(kill.source, "bpf");
  EXPECT_FALSE(kill.group);
  expect_decision(kill, mebibytes(32));
  EXPECT_EQ(cgroup_->oom_kills(), kills.size()) << kLostKill;
}

// Sleeping threads until there is no room for the kernel's stack of another one.
int crowd_of_threads() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  while (true) {
    pthread_t thread{};
    if (::pthread_create(
            &thread, &attributes, [](void*) -> void* { return ::pause(), nullptr; }, nullptr) != 0)
      ::usleep(1000);
  }
}

// What is free below the limit when the victim is chosen may be more than any charge: the kernel's own is given back
// late.
TEST_P(OomTest, kills_for_want_of_the_kernels_own_memory_name_the_limit) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  cgroup_->set_limit(mebibytes(32));
  for (int round = 0; round < 20; ++round) {
    ChildProcess child(cgroup_.get(), crowd_of_threads);
    child.go();
    child.wait();
    collect();
    const auto kills = kills_of(child.pid());  // its threads that want memory while they end are marked, too
    ASSERT_FALSE(kills.empty()) << kLostKill;
    for (const OomKill& kill : kills) EXPECT_EQ(kill.owner_cgroup, cgroup_->id()) << "round " << round;
  }
}

TEST_P(OomTest, kill_when_parent_is_limited_names_parent_as_owner) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  cgroup_->set_limit(mebibytes(32));
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  ChildProcess child(leaf->get(), leak);
  child.go();
  child.wait();
  collect();

  auto kills = kills_of(child.pid());
  ASSERT_EQ(kills.size(), 1u) << kLostKill;
  EXPECT_EQ(kills.front().victim_cgroup, (*leaf)->id());
  EXPECT_EQ(kills.front().owner_cgroup, cgroup_->id());
  EXPECT_EQ(kills.front().owner_limit_bytes, mebibytes(32));
  expect_decision(kills.front(), mebibytes(32));
}

TEST_P(OomTest, kill_after_a_burst_that_nobody_reads_still_has_room) {
  KernelConfig config = config_of_only({"oom_kill", "cgroup_lifecycle"});
  config.forced["oom_kill"] = GetParam();
  config.ring_bytes = 4096;
  OOMW_LOAD_RUNG_OR_SKIP(config, "oom_kill", GetParam());
  auto crowd = TestCgroup::make();  // on v2 a cgroup with children takes no processes
  ASSERT_TRUE(crowd.has_value()) << crowd.error().message;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*crowd)->make_child().has_value());
  cgroup_->set_limit(mebibytes(32));
  ChildProcess child(cgroup_.get(), leak);
  child.go();
  child.wait();
  collect();

  EXPECT_EQ(kills_of(child.pid()).size(), 1u) << kLostKill;
  EXPECT_EQ(lost(LostStage::kRingbufKill), 0u);
  EXPECT_GT(lost(LostStage::kRingbufCgroup), 0u) << "the burst was to be too large";
}

TEST_P(OomTest, each_decision_has_a_time_of_its_own) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  cgroup_->set_limit(mebibytes(32));
  std::optional<MonotonicTime> last;
  for (int i = 0; i < 3; ++i) {
    ChildProcess child(cgroup_.get(), leak);
    child.go();
    child.wait();
    collect();
    auto kills = kills_of(child.pid());
    ASSERT_EQ(kills.size(), 1u) << kLostKill;
    expect_decision(kills.front(), mebibytes(32));
    if (last) {
      EXPECT_GT(*kills.front().decision, *last);
    }
    last = kills.front().decision;
  }
}

TEST_P(OomTest, victims_of_a_group_share_the_decision_and_name_the_group) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  cgroup_->set_limit(mebibytes(32));
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  if (!write_text(cgroup_->directory() + "/memory.oom.group", "1")) GTEST_SKIP() << "no memory.oom.group (cgroup v1)";
  std::vector<std::unique_ptr<ChildProcess>> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(std::make_unique<ChildProcess>(leaf->get(), [] { return ::pause(); }));
    idle.back()->go();
  }
  ChildProcess child(leaf->get(), leak);
  child.go();
  child.wait();
  for (auto& process : idle) EXPECT_TRUE(WIFSIGNALED(process->wait()));
  collect();

  auto first = kills_of(child.pid());
  ASSERT_FALSE(first.empty()) << kLostKill;
  EXPECT_EQ(first.front().group, cgroup_->id());
  for (auto& process : idle) {
    auto kills = kills_of(process->pid());
    ASSERT_EQ(kills.size(), 1u) << kLostKill;
    if (names_victims_by_pid_only()) continue;
    EXPECT_EQ(kills.front().victim, process->key());
    EXPECT_EQ(kills.front().group, cgroup_->id());
    EXPECT_EQ(kills.front().owner_cgroup, cgroup_->id());
    EXPECT_EQ(kills.front().decision, first.front().decision);
    expect_decision(kills.front(), mebibytes(32));
  }
}

// The writer of memory.max kills, from outside and with room to spare where it lives itself.
TEST_P(OomTest, limit_lowered_below_usage_is_the_limit_that_kills) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  if (::access((cgroup_->directory() + "/memory.max").c_str(), W_OK) != 0) GTEST_SKIP() << "v1 refuses such a limit";
  cgroup_->set_limit(mebibytes(64));
  // Usage comes to 40 MiB before the last page is touched, and a child that still runs triggers the kill itself: its
  // stack or the kernel may need a page once more before it sleeps.
  const SharedValue<std::atomic<bool>> has_touched;
  ChildProcess child(cgroup_.get(), [&has_touched] {
    touch_memory(mebibytes(40));
    *has_touched = true;
    return ::pause();
  });
  child.go();
  while (!*has_touched || !is_asleep(child.pid())) ::usleep(1000);
  ChildProcess writer(nullptr, [this] {
    cgroup_->set_limit(mebibytes(16));
    return 0;
  });
  writer.go();
  EXPECT_TRUE(WIFSIGNALED(child.wait()));
  EXPECT_EQ(writer.wait(), 0);
  collect();

  auto kills = kills_of(child.pid());
  ASSERT_EQ(kills.size(), 1u) << kLostKill;
  EXPECT_EQ(kills.front().trigger_pid, writer.pid());
  if (names_victims_by_pid_only()) return;
  EXPECT_EQ(kills.front().owner_cgroup, cgroup_->id());
  EXPECT_EQ(kills.front().owner_limit_bytes, mebibytes(16));
}

// Asks the kernel itself for a kill: only where the test's environment allows it.
TEST_P(OomTest, kill_for_the_node_is_said_to_be_one) {
  if (::getenv("OOMW_MAY_OOM_NODE") == nullptr) GTEST_SKIP() << "kills by sysrq: set OOMW_MAY_OOM_NODE=1 in a VM";
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  ChildProcess child(cgroup_.get(), [] {
    write_oom_score_adj(1000);
    touch_memory(mebibytes(16));
    return ::pause();
  });
  child.go();
  while (cgroup_->usage_bytes() < mebibytes(16)) ::usleep(1000);
  ASSERT_TRUE(write_text("/proc/sysrq-trigger", "f"));
  EXPECT_TRUE(WIFSIGNALED(child.wait()));
  collect();

  auto kills = kills_of(child.pid());
  ASSERT_EQ(kills.size(), 1u) << kLostKill;
  EXPECT_TRUE(kills.front().owner_known);
  EXPECT_FALSE(kills.front().owner_cgroup);
  if (GetParam() != Rung::kFentry) return;
  EXPECT_TRUE(kills.front().is_node_wide_said);
  EXPECT_TRUE(kills.front().owner_exact);
  EXPECT_GT(kills.front().total_bytes.value_or(0), mebibytes(64));
  EXPECT_EQ(kills.front().victim, child.key());
}

TEST_P(OomTest, kill_when_another_process_is_chosen_names_victim_and_trigger) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "oom_kill", GetParam());
  cgroup_->set_limit(mebibytes(64));
  ChildProcess sleeper(cgroup_.get(), [] {
    write_oom_score_adj(900);
    touch_memory(mebibytes(40));
    ::kill(::getpid(), SIGSTOP);
    return 0;
  });
  sleeper.go();
  int status = 0;
  ASSERT_EQ(::waitpid(sleeper.pid(), &status, WUNTRACED), sleeper.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  ChildProcess grower(cgroup_.get(), [] {
    touch_memory(mebibytes(30));
    return 0;
  });
  grower.go();
  grower.wait();  // a second victim where the first takes long to leave, as on an emulated CPU
  EXPECT_TRUE(WIFSIGNALED(sleeper.wait()));
  collect();

  auto kills = kills_of(sleeper.pid());
  ASSERT_EQ(kills.size(), 1u) << kLostKill;
  EXPECT_EQ(kills.front().trigger_pid, grower.pid());
  EXPECT_EQ(kills.front().owner_cgroup, cgroup_->id());
  if (names_victims_by_pid_only()) {  // mark_victim(int pid): unknown, and said so
    EXPECT_EQ(kills.front().victim.start_ticks, 0u);
    EXPECT_EQ(kills.front().victim_oom_score_adj, std::nullopt);
    EXPECT_FALSE(kills.front().victim_rss.has_value());
    return;
  }
  EXPECT_EQ(kills.front().victim, sleeper.key());
  EXPECT_EQ(kills.front().victim_oom_score_adj, 900);
}

INSTANTIATE_TEST_SUITE_P(Rungs, OomTest, ::testing::Values(Rung::kFentry, Rung::kTpBtf, Rung::kRawTp),
                         [](const auto& rung) { return std::string(to_string(rung.param)); });

}  // namespace
}  // namespace oomw::test
