// SPDX-License-Identifier: Apache-2.0
// Real OOM kills in a cgroup of our own.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/kernel_fixture.h"

namespace oomw::test {
namespace {

class OomTest : public KernelTest, public ::testing::WithParamInterface<Rung> {
 protected:
  static KernelConfig config() {
    KernelConfig config;
    config.forced["oom_kill"] = GetParam();
    return config;
  }

  [[nodiscard]] std::vector<OomKill> kills_of(pid_t pid) const {
    return events_where<OomKill>([pid](const OomKill& kill) { return kill.victim.pid == pid; });
  }

  [[nodiscard]] bool names_victims_by_pid_only() const {
    return source_->program_stats().front().program.find("_pid_") != std::string::npos;
  }
};

int leak() {
  touch_memory(mebibytes(200));
  return 0;
}

TEST_P(OomTest, kill_when_limit_reached_carries_every_field) {
  OOMW_LOAD_OR_SKIP(config(), "oom_kill");
  ASSERT_EQ(rung_of(*source_, "oom_kill"), GetParam());
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
  ASSERT_EQ(kills.size(), 1u);
  const OomKill& kill = kills.front();
  EXPECT_EQ(kill.victim, child.key());
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
  EXPECT_EQ(cgroup_->oom_kills(), kills.size());
}

TEST_P(OomTest, kill_when_parent_is_limited_names_parent_as_owner) {
  OOMW_LOAD_OR_SKIP(config(), "oom_kill");
  cgroup_->set_limit(mebibytes(32));
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  ChildProcess child(leaf->get(), leak);
  child.go();
  child.wait();
  collect();

  auto kills = kills_of(child.pid());
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills.front().victim_cgroup, (*leaf)->id());
  EXPECT_EQ(kills.front().owner_cgroup, cgroup_->id());
  EXPECT_EQ(kills.front().owner_limit_bytes, mebibytes(32));
}

TEST_P(OomTest, kill_when_another_process_is_chosen_names_victim_and_trigger) {
  OOMW_LOAD_OR_SKIP(config(), "oom_kill");
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
  EXPECT_EQ(grower.wait(), 0);
  EXPECT_TRUE(WIFSIGNALED(sleeper.wait()));
  collect();

  auto kills = kills_of(sleeper.pid());
  ASSERT_EQ(kills.size(), 1u);
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

INSTANTIATE_TEST_SUITE_P(Rungs, OomTest, ::testing::Values(Rung::kTpBtf, Rung::kRawTp),
                         [](const auto& rung) { return std::string(to_string(rung.param)); });

}  // namespace
}  // namespace oomw::test
