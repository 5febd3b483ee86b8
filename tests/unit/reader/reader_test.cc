// SPDX-License-Identifier: Apache-2.0
#include "reader/reader.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <oomwitness/victims.h>

#include "base/files.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/victim_marks.h"
#include "reader/protocol.h"
#include "reader/reader_group.h"
#include "reader/reader_process.h"
#include "unit/reader/test_jobs.h"

namespace oomw::reader {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Nanoseconds kLong = 20s;

class ReaderTest : public ::testing::Test {
 protected:
  tl::expected<std::string, Failure> run(std::uint32_t kind, std::string parameters = "",
                                         std::span<const int> files = {}, Nanoseconds limit = kLong) {
    return reader_.run(kind, std::move(parameters), files, limit, clock_.now() + kLong);
  }
  Fault fault_of(std::uint32_t kind, Nanoseconds limit = kLong, std::span<const int> files = {}) {
    const auto result = run(kind, "", files, limit);
    if (result) return Fault::kNone;
    message_ = result.error().error.message;
    return result.error().fault;
  }
  Nanoseconds cpu_of(std::uint32_t kind, Nanoseconds limit = kLong) {
    Nanoseconds cpu{};
    (void)reader_.run(kind, "", {}, limit, clock_.now() + kLong, {}, &cpu);
    return cpu;
  }
  std::string attempt(const std::string& call) { return run(test::kAttempt, call).value_or("no answer"); }

  SystemClock clock_;
  Reader reader_{clock_};
  std::string message_;
};

TEST_F(ReaderTest, answers_jobs_with_one_process_and_reads_the_files_that_it_is_given) {
  EXPECT_EQ(run(test::kEcho, "hello").value(), "hello");
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), " world"));
  ::lseek(file.get(), 0, SEEK_SET);
  const int files[] = {file.get()};
  EXPECT_EQ(run(test::kEcho, "hello", files).value(), "hello world");
  EXPECT_EQ(reader_.counters().started, 1U);
  EXPECT_EQ(reader_.counters().done, 2U);
}

TEST_F(ReaderTest, knows_at_once_who_is_being_killed) {
  const UniqueFd file(::memfd_create("victims", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), sizeof(oomw_victims)), 0);
  ASSERT_TRUE(VictimMarks::attach(file.get()));
  EXPECT_EQ(run(test::kIsVictim, "700").value(), "no");
  const std::uint64_t now = static_cast<std::uint64_t>(clock_.now().ns) >> OOMW_VICTIM_TIME_SHIFT;
  const std::uint64_t mark = std::uint64_t{700} << 32 | now;
  constexpr off_t kSlot = 700 % OOMW_VICTIM_SLOTS * sizeof mark;
  ASSERT_EQ(::pwrite(file.get(), &mark, sizeof mark, kSlot), static_cast<ssize_t>(sizeof mark));
  EXPECT_EQ(run(test::kIsVictim, "700").value(), "yes");
  EXPECT_EQ(reader_.counters().started, 1U);
  VictimMarks::detach();
}

TEST_F(ReaderTest, counts_each_kind_of_job) {
  (void)run(test::kEcho);
  (void)run(test::kFail);
  (void)run(test::kCrash);
  const ReaderCounters counters = reader_.counters();
  EXPECT_EQ(counters.by_kind.size(), 3U);
  EXPECT_EQ(counters.by_kind.at(test::kEcho).done, 1U);
  EXPECT_EQ(counters.by_kind.at(test::kFail).done, 1U);
  EXPECT_EQ(counters.by_kind.at(test::kCrash).failed, 1U);
  EXPECT_EQ(counters.done, 2U);
}

TEST_F(ReaderTest, is_started_by_a_warm_up_and_answers_what_keeps_it) {
  reader_.warm_up();
  reader_.warm_up();
  EXPECT_EQ(run(test::kEcho, "hello").value(), "hello");
  EXPECT_EQ(run(kWakeJob, "").value(), "");
  EXPECT_EQ(reader_.counters().started, 1U);
  EXPECT_EQ(reader_.counters().done, 1U) << "what keeps it is no reading";
}

TEST_F(ReaderTest, is_refused_all_but_reading) {
  for (const char* call : {"open", "create", "stat", "unlink", "socket", "fork", "thread", "exec", "ptrace", "kill",
                           "capset", "prctl", "map_code", "message_elsewhere"}) {
    EXPECT_EQ(attempt(call), "EPERM") << call;
  }
  EXPECT_EQ(reader_.counters().started, 1U) << "an attempt does not cost the process";
}

// What /proc says of a confined process.
TEST(ReaderProcessTest, has_no_capabilities_no_new_privileges_and_no_files_but_the_socket) {
  const auto process = ReaderProcess::start({"/proc/self/exe", "reader"}, 10s, 10s, SystemClock().now() + 10s);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const std::string proc = "/proc/" + std::to_string(process->pid());
  const std::string status = read_file(proc + "/status", 64 << 10).value();
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000")) << set;
  }
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  const std::string limits = read_file(proc + "/limits", 64 << 10).value();
  EXPECT_THAT(limits, testing::ContainsRegex("Max core file size +0 +0"));
  EXPECT_THAT(limits, testing::ContainsRegex("Max open files +32 +32"));
  EXPECT_THAT(limits, testing::ContainsRegex("Max cpu time +30 +30"));
  EXPECT_EQ(read_file(proc + "/environ", 4096).value_or(""), "");
  EXPECT_EQ(trim(read_file(proc + "/oom_score_adj", 64).value()), "1000");
  EXPECT_EQ(list_directory(proc + "/fd", 100)->size(), 4U);
}

TEST_F(ReaderTest, a_crash_is_one_failed_job_and_the_next_works) {
  EXPECT_EQ(fault_of(test::kCrash), Fault::kFailed);
#ifdef OOMW_SANITIZED  // a sanitizer catches the signal, and ends in a way of its own
  EXPECT_THAT(message_, HasSubstr("the reader ended"));
#else
  EXPECT_THAT(message_, HasSubstr("signal 11"));
#endif
  EXPECT_EQ(run(test::kEcho, "again").value(), "again");
  EXPECT_EQ(reader_.counters().failed, 1U);
  EXPECT_EQ(reader_.counters().started, 2U);
}

TEST_F(ReaderTest, a_hang_ends_at_the_time_limit_and_the_next_job_works) {
  EXPECT_EQ(fault_of(test::kHang, 50ms), Fault::kTimeout);
  EXPECT_EQ(fault_of(test::kSpin, 50ms), Fault::kTimeout);
  EXPECT_EQ(run(test::kEcho, "again").value(), "again");
  EXPECT_EQ(reader_.counters().timeouts, 2U);
}

// As on a node where everything wants to run at once: the limit is for the reader's work, not for theirs.
TEST_F(ReaderTest, what_others_run_meanwhile_is_not_the_readers_time) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);  // of this thread, its rivals and the reader
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> rivals;
  for (int i = 0; i < 3; ++i) {
    rivals.emplace_back([&] {
      while (!is_over) continue;
    });
  }
  const Nanoseconds spun = cpu_of(test::kSpin, 200ms);
  is_over = true;
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(spun, 200ms);
  EXPECT_EQ(reader_.counters().timeouts, 1U);
}

// CPU times include what the machine does meanwhile, interrupts for one: the cheapest job has the least of it.
TEST_F(ReaderTest, the_cpu_time_of_a_job_is_told_with_its_result_or_without_and_a_start_is_paid_for_once) {
  const Nanoseconds with_start = cpu_of(test::kEcho);
  // What one used may be told with the next: the kernel adds it up when the process has left its CPU.
  constexpr int kJobs = 10;
  Nanoseconds without{0};
  for (int i = 0; i < kJobs; ++i) without += cpu_of(test::kEcho) / kJobs;
  EXPECT_GT(without, Nanoseconds(0));
  EXPECT_GT(with_start, without);
  EXPECT_LT(cpu_of(test::kHang, 2s), 1s) << "it waits";
  EXPECT_GT(cpu_of(test::kEcho), without) << "a new process";
  EXPECT_GT(cpu_of(test::kSpin, 300ms), without);
}

#if !defined(OOMW_SANITIZED)
TEST_F(ReaderTest, a_bomb_ends_at_the_memory_limit_and_the_next_job_works) {
  EXPECT_EQ(fault_of(test::kBomb), Fault::kLimit);
  EXPECT_EQ(run(test::kEcho, "again").value(), "again");
  EXPECT_EQ(reader_.counters().limits, 1U);
}
#endif

TEST_F(ReaderTest, an_answer_cannot_fill_the_memory_of_the_node) {
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  const int files[] = {file.get()};
  EXPECT_EQ(fault_of(test::kWrite, kLong, files), Fault::kLimit);
  struct stat status {};
  ASSERT_EQ(::fstat(file.get(), &status), 0);
  EXPECT_LE(status.st_size, 64 << 20);
}

TEST_F(ReaderTest, a_jobs_own_failure_is_no_fault_of_the_reader) {
  const auto result = run(test::kFail);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().fault, Fault::kNone);
  EXPECT_EQ(result.error().error.code, ErrorCode::kInvalid);
  EXPECT_EQ(result.error().error.message, R"(not a\x0aprofile)");
  EXPECT_EQ(fault_of(test::kLongAnswer), Fault::kNone);
  EXPECT_FALSE(run(99).has_value());
  EXPECT_EQ(reader_.counters().started, 1U);
}

TEST_F(ReaderTest, faults_do_not_start_processes_without_end) {
  for (int i = 0; i < 2 * Reader::kMaxFaults; ++i) (void)run(test::kCrash);
  EXPECT_LE(reader_.counters().started, Reader::kMaxFaults + 5U);
}

// Whoever comes next is not to blame.
TEST_F(ReaderTest, job_for_which_no_process_is_started_is_no_fault) {
  for (int i = 0; i < 2 * Reader::kMaxFaults; ++i) (void)run(test::kCrash);
  const ReaderCounters counters = reader_.counters();
  EXPECT_LT(counters.failed, 2U * Reader::kMaxFaults);
  EXPECT_EQ(counters.failed + counters.busy, 2U * Reader::kMaxFaults);
}

TEST(ReaderLifeTest, ends_itself_when_idle_and_is_started_again) {
  const SystemClock clock;
  // Long enough that a process which has just been started does not end before the job comes, also on a busy machine.
  Reader reader(clock, {.idle = 50ms});
  for (std::uint64_t i = 1; i < 4; ++i) {
    const auto echo = reader.run(test::kEcho, "x", {}, kLong, clock.now() + kLong);
    ASSERT_TRUE(echo.has_value()) << echo.error().error.message;
    EXPECT_EQ(*echo, "x");
    std::this_thread::sleep_for(49ms + i * 1ms);  // all ways are right: it waits, is about to end, or has ended
  }
  EXPECT_EQ(reader.counters().failed, 0U);
}

TEST(ReaderLifeTest, a_program_that_is_not_there_or_answers_nothing_is_a_fault) {
  const SystemClock clock;
  for (const char* program : {"/nowhere", "/bin/true", "/bin/cat"}) {
    Reader reader(clock, {.command = {program}});
    const auto result = reader.run(test::kEcho, "x", {}, kLong, clock.now() + kLong);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().fault, Fault::kFailed) << program;
  }
}

// A child that ends only when the test ends it, like a reader whose file system does not answer.
class Lingering {
 public:
  Lingering() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
  }
  ~Lingering() { end(); }
  Lingering(const Lingering&) = delete;
  Lingering& operator=(const Lingering&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Leaves it to be reaped by whoever was given it.
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    siginfo_t info;
    (void)::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

TEST(UnreapedReadersTest, an_owner_gets_no_further_process_until_its_hung_one_ends_and_others_always_do) {
  SystemClock clock;
  UnreapedReaders unreaped;
  Reader reader(clock, {.unreaped = &unreaped});
  Lingering hung;
  const std::vector<std::string> mine = {"pod a", "file system 0:40"}, same_files = {"pod b", "file system 0:40"};
  const std::vector<std::string> others = {"pod c"};
  unreaped.add(hung.pid(), mine);
  const auto run = [&](const std::vector<std::string>& owners) {
    const auto answer = reader.run(test::kEcho, "hello", {}, kLong, clock.now() + kLong, owners);
    return answer ? Fault::kNone : answer.error().fault;
  };
  EXPECT_EQ(run(mine), Fault::kRefused);
  EXPECT_EQ(run(same_files), Fault::kRefused);
  EXPECT_EQ(run(others), Fault::kNone);
  EXPECT_EQ(run({}), Fault::kNone);
  EXPECT_EQ(reader.counters().refused, 2U);
  hung.end();
  EXPECT_EQ(run(mine), Fault::kNone);
  EXPECT_EQ(unreaped.count(), 0U);
}

TEST(UnreapedReadersTest, with_as_many_as_may_hang_no_process_is_started) {
  SystemClock clock;
  UnreapedReaders unreaped;
  Reader reader(clock, {.unreaped = &unreaped});
  std::vector<Lingering> hung(UnreapedReaders::kMax);
  for (const Lingering& one : hung) unreaped.add(one.pid(), {});
  EXPECT_FALSE(reader.run(test::kEcho, "hello", {}, kLong, clock.now() + kLong).has_value());
  EXPECT_EQ(reader.counters().started, 0U);
  hung.front().end();
  EXPECT_TRUE(unreaped.has_room());
  EXPECT_TRUE(reader.run(test::kEcho, "hello", {}, kLong, clock.now() + kLong).has_value());
  hung.clear();
  unreaped.reap();
}

TEST(ReaderLifeTest, a_job_waits_for_others_no_longer_than_its_deadline) {
  const SystemClock clock;
  Reader reader(clock);
  std::thread other([&] { (void)reader.run(test::kHang, "", {}, 500ms, clock.now() + kLong); });
  while (reader.counters().started == 0) std::this_thread::sleep_for(1ms);
  const auto result = reader.run(test::kEcho, "x", {}, kLong, clock.now() + 10ms);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().fault, Fault::kBusy);
  other.join();
}

TEST(ReaderProtocolTest, messages_survive_the_way_and_anything_else_is_refused) {
  const Job job{3, 7, std::string("a\0b", 3)};
  const auto decoded = decode_job(*encode(job));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->parameters, job.parameters);
  const Answer answer{7, Answer::Status::kError, ErrorCode::kLimit, "why"};
  EXPECT_EQ(decode_answer(*encode(answer))->code, ErrorCode::kLimit);
  const std::string bytes = *encode(answer);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_answer(bytes.substr(0, size)));
  EXPECT_FALSE(decode_answer(bytes + "x"));
  std::string unknown = bytes;
  unknown[8] = 9;
  EXPECT_FALSE(decode_answer(unknown));
  EXPECT_FALSE(encode(Job{1, 1, std::string(kMaxMessage, 'x')}));
}

// A count that two threads change at once would make a reader seem busy for ever.
TEST_F(ReaderTest, a_group_is_entered_and_left_by_many_threads_at_once) {
  ReaderGroup group(clock_, ReaderConfig{}, 2);
  std::latch done(4);  // a process ends with the thread that started it
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int job = 0; job < 5; ++job) EXPECT_TRUE(group.run(test::kEcho, "", {}, kLong, clock_.now() + kLong));
      done.arrive_and_wait();
    });
  }
}

}  // namespace
}  // namespace oomw::reader
