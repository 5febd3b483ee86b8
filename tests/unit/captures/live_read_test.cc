// SPDX-License-Identifier: Apache-2.0
#include "captures/live_read.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>

#include "memory/byte_source.h"
#include "unit/captures/child_process.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using test::GoHeap;

struct Fixture {
  SystemClock clock;
  GoProcesses processes{clock, {}, {}};

  LiveRead read(int pid, Nanoseconds timeout = std::chrono::seconds(20)) {
    return read_live(processes, {pid, 0}, clock, clock.now() + timeout);
  }
};

TEST(LiveRead, a_go_heap_gives_a_whole_snapshot_of_the_process_and_its_time) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"leak 20", "gc"}) process.ask(command);
  Fixture f;
  const MonotonicTime before = f.clock.now();
  const LiveRead read = f.read(process.pid());
  ASSERT_TRUE(read.snapshot.has_value()) << read.failure->reason << ": " << read.failure->detail;
  EXPECT_FALSE(read.failure.has_value());
  EXPECT_TRUE(read.snapshot->complete);
  EXPECT_EQ(read.process->key.pid, process.pid());
  EXPECT_GE(read.taken, before);
  EXPECT_LE(read.taken, f.clock.now());
  EXPECT_EQ(f.processes.find(read.process->key)->record_words, 16u) << "the proved layout goes to the registry";
}

// What lets a trend do without a reading: nothing is new in what is live until the word moves.
TEST(LiveRead, the_cycle_word_stays_until_a_collection_and_is_the_snapshot_s) {
  OOMW_BUILD_OR_SKIP(program, "1.26", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"nogc", "leak 5", "gc"}) process.ask(command);
  Fixture f;
  const LiveRead read = f.read(process.pid());
  ASSERT_TRUE(read.snapshot.has_value() && read.snapshot->cycle.has_value());
  const ProcessMemory memory(process.pid());
  const auto cycle = [&] {
    const auto word = go::read_cycle(memory, *read.process->target);
    return word.has_value() && *word ? **word >> 1 : 0;
  };
  EXPECT_EQ(cycle(), read.snapshot->cycle->cycle());
  process.ask("leak 5");
  EXPECT_EQ(cycle(), read.snapshot->cycle->cycle());
  process.ask("gc");
  EXPECT_GT(cycle(), read.snapshot->cycle->cycle());
}

TEST(LiveRead, a_cycle_word_of_a_process_that_ended_is_an_error) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  Fixture f;
  std::optional<go::HeapTarget> target;
  {
    GoHeap process(program.path, "1");
    process.ask("leak 1");
    target = f.read(process.pid()).process->target;
  }
  EXPECT_FALSE(go::read_cycle(ProcessMemory(target->image.pid), *target).has_value());
}

TEST(LiveRead, an_address_of_the_cycle_that_is_not_known_is_no_error) {
  const go::HeapTarget target;
  const auto word = go::read_cycle(ProcessMemory(::getpid()), target);
  ASSERT_TRUE(word.has_value());
  EXPECT_FALSE(word->has_value());
}

TEST(LiveRead, a_process_that_is_not_go_has_neither_process_nor_snapshot) {
  ChildProcess other;
  Fixture f;
  const LiveRead read = f.read(other.pid());
  EXPECT_EQ(read.process, nullptr);
  ASSERT_TRUE(read.failure.has_value());
  EXPECT_EQ(read.failure->reason, "not_go");
}

TEST(LiveRead, a_pid_of_nobody_is_gone) {
  ChildProcess child;
  const int pid = child.pid();
  child.kill();
  Fixture f;
  const LiveRead read = f.read(pid);
  ASSERT_TRUE(read.failure.has_value());
  EXPECT_EQ(read.failure->reason, "gone");
}

TEST(LiveRead, a_program_without_a_profile_says_why_and_which) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip-nopprof");
  GoHeap process(program.path);
  Fixture f;
  const LiveRead read = f.read(process.pid());
  ASSERT_TRUE(read.failure.has_value());
  EXPECT_EQ(read.failure->reason, "linked_out");
  ASSERT_NE(read.process, nullptr);
  EXPECT_EQ(read.process->key.pid, process.pid());
}

TEST(LiveRead, past_its_deadline_it_is_a_timeout_without_a_snapshot) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 1");
  Fixture f;
  const LiveRead read = f.read(process.pid(), Nanoseconds(0));
  EXPECT_FALSE(read.snapshot.has_value());
  ASSERT_TRUE(read.failure.has_value());
  EXPECT_EQ(read.failure->reason, "timeout");
}

constexpr int kNoNamespace = 77;

// `body` as the first process of a pid namespace that has its own /proc, the host's being mounted at
// `host_proc`: how a pod sees a node without hostPID. Returns its exit status.
int in_own_pid_namespace(const std::string& host_proc, const std::function<int()>& body) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(kNoNamespace);
    const pid_t inner = ::fork();
    if (inner == 0) {
      const bool is_set_up = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             ::mount("/proc", host_proc.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
                             ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
      ::_exit(is_set_up ? body() : kNoNamespace);
    }
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  ::waitpid(outer, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST(LiveRead, where_the_hosts_proc_is_mounted_elsewhere_its_processes_are_read_through_it) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"leak 20", "gc"}) process.ask(command);
  test::ScratchFolder folder;
  const std::string host_proc = folder.file("host_proc");
  std::filesystem::create_directories(host_proc);
  const int status = in_own_pid_namespace(host_proc, [&] {
    SystemClock clock;
    GoProcesses processes(clock, {.proc_root = host_proc}, {});
    const LiveRead read = read_live(processes, {process.pid(), 0}, clock, clock.now() + std::chrono::seconds(20));
    if (!read.snapshot) std::fprintf(stderr, "%s: %s\n", read.failure->reason.c_str(), read.failure->detail.c_str());
    return read.snapshot && read.snapshot->complete && !read.snapshot->buckets.empty() ? 0 : 1;
  });
  if (status == kNoNamespace) GTEST_SKIP() << "no pid and mount namespace of its own here";
  EXPECT_EQ(status, 0);
}

TEST(GoProcesses, a_process_that_its_proc_does_not_list_is_not_looked_for_in_another) {
  ChildProcess child;
  test::ScratchFolder empty;
  SystemClock clock;
  GoProcesses processes(clock, {.proc_root = empty.file("proc")}, {});
  const auto added = processes.add({child.pid(), 0});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace oomw
