// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <filesystem>

#include "memory/byte_source.h"
#include "process/open_memory.h"
#include "runtimes/go/go_registry.h"
#include "support/process_space.h"
#include "unit/captures/child_process.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using test::GoHeap;

struct RegistryFixture {
  SystemClock clock;
  GoRegistry processes{clock, {}, {}};

  HeapRead read(int pid, Nanoseconds timeout = std::chrono::seconds(20)) {
    return processes.read({pid, 0}, clock.now() + timeout);
  }
};

TEST(RegistryRead, a_go_heap_gives_a_whole_snapshot_of_the_process_and_its_time) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"leak 20", "gc"}) process.ask(command);
  RegistryFixture f;
  const MonotonicTime before = f.clock.now();
  const HeapRead read = f.read(process.pid());
  ASSERT_TRUE(read.reading.has_value()) << to_string(read.failure.reason) << ": " << read.failure.detail;
  EXPECT_TRUE(read.reading->is_complete);
  EXPECT_EQ(read.process->key.pid, process.pid());
  EXPECT_GE(read.reading->as_of, before);
  EXPECT_LE(read.reading->as_of, f.clock.now());
  EXPECT_EQ(f.processes.find(read.process->key)->record_words, 16u) << "the proved layout goes to the registry";
}

// What lets a trend do without a reading: nothing is new in what is live until a collection ends.
TEST(RegistryRead, it_is_still_at_the_collection_of_its_reading_until_the_next_one) {
  OOMW_BUILD_OR_SKIP(program, "1.26", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"nogc", "leak 5", "gc"}) process.ask(command);
  RegistryFixture f;
  const HeapRead read = f.read(process.pid());
  ASSERT_TRUE(read.reading.has_value() && read.reading->collection.has_value());
  const auto is_still_there = [&] { return f.processes.is_still_at(read.process->key, *read.reading->collection); };
  EXPECT_TRUE(is_still_there());
  process.ask("leak 5");
  EXPECT_TRUE(is_still_there());
  process.ask("gc");
  EXPECT_FALSE(is_still_there());
  EXPECT_FALSE(f.processes.is_still_at({1, 1}, *read.reading->collection)) << "not known";
}

TEST(RegistryRead, a_cycle_word_of_a_process_that_ended_is_an_error) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  RegistryFixture f;
  std::optional<go::HeapTarget> target;
  {
    GoHeap process(program.path, "1");
    process.ask("leak 1");
    target = f.processes.find(f.read(process.pid()).process->key)->target;
  }
  EXPECT_FALSE(go::read_cycle(ProcessMemory(target->image.pid), *target).has_value());
}

TEST(RegistryRead, an_address_of_the_cycle_that_is_not_known_is_no_error) {
  const go::HeapTarget target;
  const auto word = go::read_cycle(ProcessMemory(::getpid()), target);
  ASSERT_TRUE(word.has_value());
  EXPECT_FALSE(word->has_value());
}

TEST(RegistryRead, a_process_that_is_not_go_has_neither_process_nor_snapshot) {
  ChildProcess other;
  RegistryFixture f;
  const HeapRead read = f.read(other.pid());
  EXPECT_EQ(read.process, nullptr);
  EXPECT_EQ(read.failure.reason, CaptureReason::kNotGo);
}

TEST(RegistryRead, a_pid_of_nobody_is_gone) {
  ChildProcess child;
  const int pid = child.pid();
  child.kill();
  RegistryFixture f;
  const HeapRead read = f.read(pid);
  EXPECT_EQ(read.failure.reason, CaptureReason::kGone);
}

TEST(RegistryRead, a_program_without_a_profile_says_why_and_which) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip-nopprof");
  GoHeap process(program.path);
  RegistryFixture f;
  const HeapRead read = f.read(process.pid());
  EXPECT_EQ(read.failure.reason, CaptureReason::kLinkedOut);
  ASSERT_NE(read.process, nullptr);
  EXPECT_EQ(read.process->key.pid, process.pid());
}

TEST(RegistryRead, past_its_deadline_it_is_a_timeout_without_a_snapshot) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 1");
  RegistryFixture f;
  const HeapRead read = f.read(process.pid(), Nanoseconds(0));
  EXPECT_FALSE(read.reading.has_value());
  EXPECT_EQ(read.failure.reason, CaptureReason::kTimeout);
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

TEST(RegistryRead, where_the_hosts_proc_is_mounted_elsewhere_its_processes_are_read_through_it) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"leak 20", "gc"}) process.ask(command);
  test::TemporaryDirectory folder;
  const std::string host_proc = folder / "host_proc";
  std::filesystem::create_directories(host_proc);
  const int status = in_own_pid_namespace(host_proc, [&] {
    SystemClock clock;
    GoRegistry processes(clock, {.proc_root = host_proc}, {});
    const HeapRead read = processes.read({process.pid(), 0}, clock.now() + std::chrono::seconds(20));
    if (!read.reading)
      std::fprintf(stderr, "%s: %s\n", std::string(to_string(read.failure.reason)).c_str(),
                   read.failure.detail.c_str());
    return read.reading && read.reading->is_complete && !read.reading->holdings.empty() ? 0 : 1;
  });
  if (status == kNoNamespace) GTEST_SKIP() << "no pid and mount namespace of its own here";
  EXPECT_EQ(status, 0);
}

TEST(GoRegistry, a_process_that_its_proc_does_not_list_is_not_looked_for_in_another) {
  ChildProcess child;
  test::TemporaryDirectory empty;
  SystemClock clock;
  GoRegistry processes(clock, {.proc_root = empty / "proc"}, {});
  const auto added = processes.add({child.pid(), 0});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace oomw
