// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/go_registry.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <numeric>

#include <gtest/gtest.h>

#include "unit/captures/child_process.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using test::GoHeap;

struct Fixture {
  explicit Fixture(GoRegistryConfig config = {})
      : processes(
            clock, config,
            {[this](const GoProcess& p) { ready.push_back(p.key); }, [this](ProcessKey k) { gone.push_back(k); }}) {}
  SystemClock clock;
  std::vector<ProcessKey> ready, gone;
  GoRegistry processes;
};

int descriptors_of(const std::string& file) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry.path(), error);
    count += !error && target.string().rfind(file, 0) == 0;
  }
  return count;
}

// A child that runs `path` once told to, with a standard input that stays open.
class ExecLater {
 public:
  explicit ExecLater(const std::string& path) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(done_, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      char byte = 0;
      (void)!::read(ends[0], &byte, 1);
      ::close(ends[1]);
      ::dup2(ends[0], 0);
      ::execl(path.c_str(), path.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[0]);
    go_ = UniqueFd(ends[1]);
  }
  ~ExecLater() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(done_[0]);
  }
  // Returns once exec has closed the child's end.
  void exec() {
    ::close(done_[1]);
    (void)!::write(go_.get(), "x", 1);
    char byte = 0;
    (void)!::read(done_[0], &byte, 1);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int done_[2] = {-1, -1};
  UniqueFd go_;
};

TEST(GoRegistry, go_program_is_known_with_its_target_and_the_watcher_told) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  const auto added = f.processes.add({process.pid(), 0}, f.clock.now());
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_TRUE((*added)->target.has_value());
  EXPECT_NE((*added)->key.start_ticks, 0U);
  EXPECT_EQ(f.ready, std::vector{(*added)->key});
  EXPECT_EQ(f.processes.find((*added)->key), *added);
  const auto counters = f.processes.counters();
  EXPECT_EQ(counters.available, 1U);
  EXPECT_EQ(counters.registrations, 1U);
  EXPECT_EQ(std::accumulate(counters.delays.begin(), counters.delays.end(), 0U), 1U);
}

TEST(GoRegistry, known_process_is_not_looked_at_again) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  const auto first = *f.processes.add({process.pid(), 0});
  EXPECT_EQ(*f.processes.add(first->key, first->registered - std::chrono::seconds(1)), first);
  EXPECT_EQ(f.ready.size(), 1U);
}

TEST(GoRegistry, processes_of_one_program_share_one_open_file) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap a(program.path), b(program.path);
  Fixture f;
  const auto first = *f.processes.add({a.pid(), 0});
  const auto second = *f.processes.add({b.pid(), 0});
  EXPECT_EQ(first->exe, second->exe);
  EXPECT_EQ(descriptors_of(program.path), 1);
  EXPECT_EQ(f.processes.counters().files_read, 1U);
}

TEST(GoRegistry, file_is_closed_after_the_grace_and_not_before) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  const ProcessKey key = (*f.processes.add({process.pid(), 0}))->key;
  f.processes.forget(key);
  f.processes.tick(f.clock.now());
  EXPECT_NE(f.processes.find(key), nullptr);
  EXPECT_EQ(descriptors_of(program.path), 1);
  f.processes.tick(f.clock.now() + std::chrono::seconds(11));
  EXPECT_EQ(f.processes.find(key), nullptr);
  EXPECT_EQ(descriptors_of(program.path), 0);
  EXPECT_EQ(f.gone, std::vector{key});
}

TEST(GoRegistry, lost_exit_event_is_made_up_for) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  Fixture f;
  ProcessKey key;
  {
    GoHeap process(program.path);
    key = (*f.processes.add({process.pid(), 0}))->key;
  }
  f.processes.tick(f.clock.now());
  f.processes.tick(f.clock.now() + std::chrono::seconds(11));
  EXPECT_EQ(f.processes.find(key), nullptr);
}

TEST(GoRegistry, program_that_is_not_go_costs_one_look_and_is_not_kept) {
  ChildProcess a, b;  // both run this test's own binary
  Fixture f;
  EXPECT_EQ(f.processes.add({a.pid(), 0}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(f.processes.add({b.pid(), 0}).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(f.processes.counters().files_read, 1U);
  EXPECT_EQ(f.processes.counters().open_files, 0U);
}

TEST(GoRegistry, kernel_thread_is_not_go) {
  if (!std::filesystem::exists("/proc/2/comm") || test::read_bytes("/proc/2/comm") != "kthreadd\n") {
    GTEST_SKIP() << "no kernel threads in this pid namespace";
  }
  Fixture f;
  EXPECT_EQ(f.processes.add({2, 0}).error().code, ErrorCode::kUnsupported);
}

TEST(GoRegistry, reused_pid_is_not_found) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  EXPECT_EQ(f.processes.add({process.pid(), 1}).error().code, ErrorCode::kNotFound);
}

TEST(GoRegistry, exec_in_the_same_pid_makes_it_another_program) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip-nopprof");
  Fixture f;
  ExecLater process(program.path);
  EXPECT_EQ(f.processes.add({process.pid(), 0}).error().code, ErrorCode::kUnsupported);
  process.exec();
  const auto added = f.processes.add({process.pid(), 0}, f.clock.now());
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_EQ((*added)->reason, CaptureReason::kLinkedOut);
  EXPECT_EQ(f.processes.counters().linked_out, 1U);
  EXPECT_EQ(f.ready.size(), 0U);
}

TEST(GoRegistry, newer_exec_time_makes_it_inspect_again) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  const auto first = *f.processes.add({process.pid(), 0});
  const auto second = *f.processes.add(first->key, f.clock.now());
  EXPECT_NE(first, second);
  EXPECT_EQ(f.ready.size(), 2U);
  EXPECT_EQ(f.processes.find(first->key), second);
}

TEST(GoRegistry, full_registry_counts_and_makes_room_from_the_dead_only) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap a(program.path), b(program.path);
  Fixture f(GoRegistryConfig{.max_processes = 1});
  const ProcessKey first = (*f.processes.add({a.pid(), 0}))->key;
  const auto second = f.processes.add({b.pid(), 0});
  ASSERT_TRUE(second.has_value());  // good for a capture, but not remembered
  EXPECT_EQ(f.processes.find((*second)->key), nullptr);
  EXPECT_EQ(f.processes.counters().dropped, 1U);
  f.processes.forget(first);
  (void)f.processes.add({b.pid(), 0});
  EXPECT_NE(f.processes.find((*second)->key), nullptr);
  EXPECT_EQ(f.gone, std::vector{first});
}

TEST(GoRegistry, no_room_for_another_file_means_no_names_but_a_registration) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f(GoRegistryConfig{.max_open_files = 0});
  const auto added = f.processes.add({process.pid(), 0});
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ((*added)->exe, nullptr);
  EXPECT_EQ(f.processes.counters().without_file, 1U);
}

TEST(GoRegistry, file_replaced_on_disk_is_not_the_one_that_runs) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  test::TemporaryDirectory folder;
  const std::string copy = folder / "service";
  std::filesystem::copy_file(program.path, copy);
  GoHeap process(copy);
  std::filesystem::remove(copy);
  test::write_bytes(copy, "#!/bin/true\n");
  Fixture f;
  const auto added = f.processes.add({process.pid(), 0});
  ASSERT_TRUE(added.has_value()) << added.error().message;
  EXPECT_TRUE((*added)->target.has_value()) << (*added)->detail;
}

TEST(GoRegistry, layout_is_passed_on_for_the_current_entry_only) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  const auto first = *f.processes.add({process.pid(), 0});
  const auto second = *f.processes.inspect_again(first->key);
  f.processes.set_layout(*first, go::RecordLayout::kObjects);
  EXPECT_EQ(f.ready.size(), 2U);
  f.processes.set_layout(*second, go::RecordLayout::kObjects);
  EXPECT_EQ(f.ready.size(), 3U);
  EXPECT_EQ(second->record_words, 8U);
}

TEST(GoRegistry, what_is_learnt_of_a_process_is_passed_on_until_it_exits) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  Fixture f;
  const auto known = *f.processes.add({process.pid(), 0});
  f.processes.set_goroutines(known->key, {1, 144, 176, {}});
  f.processes.set_goroutines(known->key, {1, 144, 176, {}});
  EXPECT_EQ(f.ready.size(), 2U) << "once";
  f.processes.forget(known->key);
  f.processes.set_goroutines(known->key, {2, 144, 176, {}});
  f.processes.set_layout(*known, go::RecordLayout::kObjects);
  EXPECT_EQ(f.ready.size(), 2U) << "its pid may be another's by now";
}

}  // namespace
}  // namespace oomw
