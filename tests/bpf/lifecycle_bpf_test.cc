// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "bpf/kernel_fixture.h"
#include "bpf/programs.h"

namespace oomw::test {
namespace {

class LifecycleTest : public KernelTest, public ::testing::WithParamInterface<Rung> {
 protected:
  static KernelConfig config() {
    KernelConfig config = config_of_only({"process_lifecycle", "cgroup_lifecycle"});
    config.forced["process_lifecycle"] = GetParam();
    config.forced["cgroup_lifecycle"] = GetParam();
    return config;
  }

  [[nodiscard]] std::vector<ProcessExit> exits_of(pid_t pid) const {
    return events_where<ProcessExit>([pid](const ProcessExit& exit) { return exit.process.pid == pid; });
  }
};

TEST_P(LifecycleTest, exec_carries_identity_and_cgroup) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "process_lifecycle", GetParam());
  ChildProcess child(cgroup_.get(), [] {
    ::execl("/bin/true", "true", nullptr);
    return 1;
  });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  collect();

  auto execs = events_where<ProcessExec>([&](const ProcessExec& exec) { return exec.process.pid == child.pid(); });
  ASSERT_EQ(execs.size(), 1u);
  EXPECT_EQ(execs.front().process, child.key());
  EXPECT_EQ(execs.front().uid, ::getuid());
  EXPECT_EQ(execs.front().cgroup, cgroup_->id());
  EXPECT_EQ(execs.front().comm, "true");
}

TEST_P(LifecycleTest, exit_carries_identity) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "process_lifecycle", GetParam());
  ChildProcess child(cgroup_.get(), [] { return 42; });
  child.go();
  child.wait();
  collect();

  auto exits = exits_of(child.pid());
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits.front().process, child.key());
}

TEST_P(LifecycleTest, exit_by_signal_is_one) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "process_lifecycle", GetParam());
  ChildProcess child(cgroup_.get(), [] {
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  child.go();
  child.wait();
  collect();

  auto exits = exits_of(child.pid());
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits.front().process, child.key());
}

TEST_P(LifecycleTest, thread_that_leaves_is_not_an_exit) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "process_lifecycle", GetParam());
  ChildProcess child(cgroup_.get(), [] {
    for (int i = 0; i < 8; ++i) std::thread([] {}).join();
    // Before 6.16 the hook does not mark the last thread, and a thread that was joined may not have come to it yet.
    ::usleep(200'000);
    return 0;
  });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  collect();

  EXPECT_EQ(exits_of(child.pid()).size(), 1u);
}

TEST_P(LifecycleTest, cgroup_made_and_removed_carries_path_and_parent) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "cgroup_lifecycle", GetParam());
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  CgroupId id = (*leaf)->id();
  std::string path = (*leaf)->path();
  leaf->reset();
  collect();

  auto created = events_where<CgroupCreated>([id](const CgroupCreated& event) { return event.cgroup == id; });
  ASSERT_EQ(created.size(), 1u);
  EXPECT_EQ(created.front().parent, cgroup_->id());
  EXPECT_EQ(created.front().path, path);
  EXPECT_TRUE(created.front().path_complete);
  auto removed = events_where<CgroupRemoved>([id](const CgroupRemoved& event) { return event.cgroup == id; });
  EXPECT_EQ(removed.size(), 1u);
}

TEST_P(LifecycleTest, cgroup_of_a_hierarchy_without_memory_is_not_reported) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "cgroup_lifecycle", GetParam());
  std::string directory = "/sys/fs/cgroup/pids/oomw-test-" + std::to_string(::getpid()) + "-pids";
  if (::mkdir(directory.c_str(), 0755) != 0) GTEST_SKIP() << "no v1 pids hierarchy";
  struct stat status {};
  int error = ::stat(directory.c_str(), &status);
  ::rmdir(directory.c_str());
  ASSERT_EQ(error, 0);
  collect();

  auto created = events_where<CgroupCreated>(
      [](const CgroupCreated& event) { return event.path.find("-pids") != std::string::npos; });
  EXPECT_TRUE(created.empty());
}

INSTANTIATE_TEST_SUITE_P(Rungs, LifecycleTest, ::testing::Values(Rung::kTpBtf, Rung::kRawTp),
                         [](const auto& rung) { return std::string(to_string(rung.param)); });

}  // namespace
}  // namespace oomw::test
