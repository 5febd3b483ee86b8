// SPDX-License-Identifier: Apache-2.0
#include "captures/live_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/top.h"
#include "runtimes/go/go_registry.h"
#include "runtimes/go/inspection_jobs.h"
#include "unit/captures/child_process.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using test::GoHeap;
using testing::HasSubstr;
using testing::IsEmpty;

struct LiveFixture {
  SystemClock clock;
  std::vector<std::uint32_t> words;         // record_words of each call of on_ready
  go::SandboxedInspector inspector{clock};  // as in the daemon
  GoRegistry processes{
      clock, {.inspector = &inspector}, {[this](const GoProcess& p) { words.push_back(p.record_words); }, {}}};
  // By a reader, as in the daemon.
  LiveCapture capture{processes, clock, [this](ReadingToStore stored, const RuntimeProcess& process) {
                        const GoProcessPtr known = processes.find(process.key);
                        return store_reading_apart(std::move(stored), *known, {}, inspector.heap_readers(), clock);
                      }};

  CaptureOutcome take_first(std::vector<ProcessKey> keys) {
    return capture.capture(test::request_for(std::move(keys), clock));
  }
  CaptureOutcome take(const GoHeap& process) { return take_first({{process.pid(), 0}}); }
};

std::string profile_of(const CaptureOutcome& outcome) {
  return outcome.profile_file ? outcome.profile_file->read(1U << 20).value_or("") : outcome.profile;
}

std::string first_function_by_go(const std::string& file) {
  int status = 0;
  const std::string out = go::test::run_shell("go tool pprof -top -nodecount=1 " + file + " 2>&1", status);
  const std::size_t header = out.find("flat%");
  const std::size_t row = out.find('\n', header);
  return header == std::string::npos ? out : out.substr(row + 1);
}

// The profile is what the process's own endpoint gives, sample by sample; then names and the tool.
void expect_equal_to_own_endpoint(const std::string& version, const std::string& variant) {
  OOMW_BUILD_OR_SKIP(program, version, variant);
  test::TemporaryDirectory folder;
  GoHeap process(program.path);
  ASSERT_TRUE(process.is_ready());
  for (const char* command : {"nogc", "leak 100", "inline 10", "garbage 20", "gc"}) process.ask(command);
  LiveFixture f;
  const auto outcome = f.take(process);
  process.ask("pprof " + folder / "own");
  ASSERT_EQ(outcome.finished.result, CaptureResult::kOk)
      << to_string(outcome.finished.reason) << ": " << outcome.finished.detail;
  EXPECT_TRUE(outcome.finished.complete) << outcome.finished.detail;
  const auto ours = pprof::read(profile_of(outcome));
  const auto own = pprof::read(test::read_bytes(folder / "own"));
  ASSERT_TRUE(ours.has_value() && own.has_value());
  EXPECT_EQ(ours->sample_types, own->sample_types);
  EXPECT_EQ(ours->period, own->period);
  EXPECT_EQ(ours->period_type, own->period_type);
  EXPECT_EQ(ours->default_sample_type, "inuse_space");
  EXPECT_GT(test::samples_of(*own).size(), 1U);
  EXPECT_THAT(test::differences(test::samples_of(*ours), test::samples_of(*own)), IsEmpty());
  EXPECT_EQ(outcome.finished.inuse_bytes, static_cast<std::uint64_t>(ours->total(3)));
  test::write_bytes(folder / "ours.pb.gz", profile_of(outcome));
  EXPECT_THAT(first_function_by_go(folder / "ours.pb.gz"), HasSubstr("main.leak"));
}

TEST(LiveCapture, profile_equals_the_process_own_endpoint) { expect_equal_to_own_endpoint("1.19", "strip"); }

class LiveCaptureMatrix : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
TEST_P(LiveCaptureMatrix, profile_equals_the_process_own_endpoint) {
  expect_equal_to_own_endpoint(std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(All, LiveCaptureMatrix,
                         testing::Combine(testing::Values("1.19", "1.26", "1.27"),
                                          testing::Values("plain", "strip", "pie-strip")));

TEST(LiveCapture, held_now_and_live_at_the_last_gc_are_told_apart) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  for (const char* command : {"nogc", "leak 10", "gc", "leak 30"}) process.ask(command);
  LiveFixture f;
  const auto outcome = f.take(process);
  ASSERT_EQ(outcome.finished.result, CaptureResult::kOk) << outcome.finished.detail;
  EXPECT_GE(*outcome.finished.inuse_bytes, 40U << 20);
  EXPECT_GE(*outcome.finished.live_bytes, 10U << 20);
  EXPECT_LT(*outcome.finished.live_bytes, 11U << 20);
}

TEST(LiveCapture, comments_say_where_the_profile_comes_from) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 10");
  LiveFixture f;
  const auto outcome = f.take(process);
  const auto profile = pprof::read(profile_of(outcome));
  ASSERT_TRUE(profile.has_value()) << outcome.finished.detail;
  std::string comments;
  for (const auto& line : profile->comments) comments += line + "\n";
  EXPECT_THAT(comments, HasSubstr("method=live trigger=watermark_90 pid=" + std::to_string(process.pid())));
  EXPECT_THAT(comments, HasSubstr("go=go1.19"));
  EXPECT_THAT(comments, HasSubstr("layout=objects_and_bytes"));
  EXPECT_THAT(comments, HasSubstr("complete=yes"));
  ASSERT_EQ(profile->mappings.size(), 1U);
  EXPECT_EQ(profile->mappings[0].filename, program.path);
  EXPECT_FALSE(profile->mappings[0].build_id.empty());
}

TEST(LiveCapture, proved_layout_is_told_once) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 1");
  LiveFixture f;
  (void)f.take(process);
  (void)f.take_first({{process.pid(), read_process_image(process.pid())->start_time_ticks}});
  EXPECT_THAT(f.words, testing::Contains(16U).Times(1));
}

TEST(LiveCapture, a_program_that_is_not_go_does_not_hide_the_one_that_is) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 1");
  ChildProcess other;
  LiveFixture f;
  const auto outcome = f.take_first({{other.pid(), 0}, {process.pid(), 0}});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk) << outcome.finished.detail;
  EXPECT_EQ(outcome.finished.process.pid, process.pid());
}

TEST(LiveCapture, failure_that_got_furthest_is_told) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip-nopprof");
  GoHeap process(program.path);
  ChildProcess other;
  LiveFixture f;
  const auto outcome = f.take_first({{process.pid(), 0}, {other.pid(), 0}});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kLinkedOut);
  EXPECT_EQ(outcome.finished.process.pid, process.pid());
  EXPECT_EQ(f.take_first({{other.pid(), 0}}).finished.reason, CaptureReason::kNotGo);
  EXPECT_EQ(f.take_first(std::vector<ProcessKey>{}).finished.reason, CaptureReason::kNotGo);
}

TEST(LiveCapture, rate_zero_is_a_failure_and_not_an_empty_heap) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "0");
  LiveFixture f;
  const auto outcome = f.take(process);
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kRateZero);
}

TEST(LiveCapture, thirty_two_bit_go_program_is_named_and_not_read) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "386-strip");
  GoHeap process(program.path, "1");
  if (!process.is_ready()) GTEST_SKIP() << "this kernel runs no 32-bit programs";
  process.ask("leak 1");
  LiveFixture f;
  const auto outcome = f.take(process);
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kNarrow);
  EXPECT_THAT(outcome.finished.detail, HasSubstr("32-bit Go program"));
  EXPECT_FALSE(outcome.has_profile());
  EXPECT_THAT(f.words, IsEmpty());  // nobody was told of an address
  EXPECT_EQ(f.processes.counters().not_found, 1u);
}

TEST(LiveCapture, reused_pid_is_gone) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  LiveFixture f;
  const auto outcome = f.take_first({{process.pid(), 1}});
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kGone);
}

TEST(LiveCapture, process_that_ended_after_it_was_known_is_gone) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  LiveFixture f;
  ProcessKey key;
  {
    GoHeap process(program.path);
    key = (*f.processes.add({process.pid(), 0}))->key;
  }
  EXPECT_EQ(f.take_first({key}).finished.reason, CaptureReason::kGone);
}

TEST(LiveCapture, past_deadline_is_a_timeout) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path);
  LiveFixture f;
  auto request = test::request_for({{process.pid(), 0}}, f.clock);
  request.deadline = f.clock.now();
  EXPECT_EQ(f.capture.capture(request).finished.reason, CaptureReason::kTimeout);
}

TEST(LiveCapture, executable_deleted_before_it_is_known_still_gives_names) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  test::TemporaryDirectory folder;
  const std::string copy = folder / "service";
  std::filesystem::copy_file(program.path, copy);
  GoHeap process(copy, "1");
  process.ask("leak 20");
  std::filesystem::remove(copy);
  LiveFixture f;
  const auto outcome = f.take(process);
  ASSERT_EQ(outcome.finished.result, CaptureResult::kOk) << outcome.finished.detail;
  EXPECT_EQ(pprof::top(*pprof::read(profile_of(outcome))).rows.at(0).function, "main.leak");
}

TEST(ReadGate, second_reader_waits_and_gives_up_at_its_deadline) {
  SystemClock clock;
  ReadGate gate(clock);
  const auto first = gate.enter(clock.now() + std::chrono::seconds(30));
  EXPECT_TRUE(first.is_in());
  EXPECT_FALSE(gate.enter(clock.now()).is_in());
}

TEST(ReadGate, reader_that_hangs_past_its_deadline_blocks_nobody) {
  SystemClock clock;
  ReadGate gate(clock);
  const auto hung = gate.enter(clock.now() - ReadGate::kPatience);
  const auto next = gate.enter(clock.now() + std::chrono::seconds(30));
  EXPECT_TRUE(next.is_in());
  EXPECT_FALSE(gate.enter(clock.now()).is_in());
}

}  // namespace
}  // namespace oomw
