// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

CaptureRequest request() {
  CaptureRequest request;
  request.capture_id = 3;
  request.cgroup = {9};
  request.targets = {{{41, 1}, {10}, "a", ""}, {{42, 2}, {10}, "b", ""}};
  request.trigger = CaptureTrigger::watermark(80);
  request.usage_bytes = 5;
  return request;
}

CaptureResult result_of(CaptureMethod method, CaptureReason reason) {
  return not_taken(begin_capture(request(), method, {1}), {2}, {reason, ""}).result;
}

TEST(CaptureEvent, begins_as_its_request_and_its_first_target) {
  const CaptureFinished begun = begin_capture(request(), CaptureMethod::kHttp, {7});
  EXPECT_EQ(begun.capture_id, 3u);
  EXPECT_EQ(begun.cgroup, CgroupId{9});
  EXPECT_EQ(begun.process, (ProcessKey{41, 1}));
  EXPECT_EQ(begun.trigger, CaptureTrigger::watermark(80));
  EXPECT_EQ(begun.usage_bytes, 5u);
  EXPECT_EQ(begun.started, MonotonicTime{7});
}

TEST(CaptureEvent, what_was_not_tried_is_skipped_and_all_else_failed) {
  EXPECT_EQ(result_of(CaptureMethod::kHttp, CaptureReason::kBudget), CaptureResult::kSkipped);
  EXPECT_EQ(result_of(CaptureMethod::kLive, CaptureReason::kQueueFull), CaptureResult::kSkipped);
  EXPECT_EQ(result_of(CaptureMethod::kLive, CaptureReason::kNotGo), CaptureResult::kSkipped);
  EXPECT_EQ(result_of(CaptureMethod::kLive, CaptureReason::kGone), CaptureResult::kFailed);
  EXPECT_EQ(result_of(CaptureMethod::kHttp, CaptureReason::kNoEndpoint), CaptureResult::kFailed);
  EXPECT_EQ(result_of(CaptureMethod::kAtKill, CaptureReason::kNoWalk), CaptureResult::kFailed);
  EXPECT_EQ(result_of(CaptureMethod::kAtKill, CaptureReason::kQueueFull), CaptureResult::kFailed)
      << "the victim should have been walked";
}

TEST(CaptureEvent, a_failure_that_names_no_process_leaves_the_first_target) {
  const CaptureFinished begun = begin_capture(request(), CaptureMethod::kHttp, {1});
  EXPECT_EQ(not_taken(begun, {2}, {CaptureReason::kTimeout, "late"}).process.pid, 41);
  const CaptureFinished failed = not_taken(begun, {2}, {CaptureReason::kRefused, "no", {42, 2}});
  EXPECT_EQ(failed.process.pid, 42);
  EXPECT_EQ(failed.detail, "no");
  EXPECT_EQ(failed.time, MonotonicTime{2});
  EXPECT_FALSE(failed.complete);
}

TEST(CaptureEvent, a_taken_heap_is_whole_unless_something_is_missing) {
  const CaptureFinished begun = begin_capture(request(), CaptureMethod::kLive, {1});
  const CaptureFinished whole = taken(begun, {2}, {{42, 2}, RuntimeKind::kGo, 8, 6, 4});
  EXPECT_EQ(whole.result, CaptureResult::kOk);
  EXPECT_TRUE(whole.complete);
  EXPECT_EQ(whole.of, RuntimeKind::kGo);
  EXPECT_EQ(whole.inuse_bytes, 8u);
  EXPECT_EQ(whole.live_bytes, 6u);
  EXPECT_EQ(whole.sample_count, 4u);
  EXPECT_THAT(whole.components, testing::IsEmpty());
  const CaptureFinished part = taken(
      begun, {2}, {{42, 2}, {}, 8, 6, 4, CaptureReason::kPoolFull, "", {}, {{"receiver", "otlp", "module", 8, 1}}});
  ASSERT_EQ(part.components.size(), 1u);
  EXPECT_EQ(part.components[0].id, "otlp");
  EXPECT_EQ(part.result, CaptureResult::kOk);
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(part.of, std::nullopt);
  EXPECT_EQ(part.reason, CaptureReason::kPoolFull);
}

TEST(CaptureEvent, at_a_kill_the_victim_s_heap_is_asked_for) {
  const CaptureRequest request = request_at_kill({{41, 1}, {10}, "a", ""});
  EXPECT_EQ(request.cgroup, CgroupId{10});
  EXPECT_EQ(request.targets.at(0).process.pid, 41);
  EXPECT_EQ(to_string(request.trigger), "oom_kill");
}

HeapWalked walk_with(std::vector<std::uint64_t> states, std::vector<std::uint64_t> waits) {
  HeapWalked walk;
  walk.goroutine_states = std::move(states);
  walk.goroutine_waits = std::move(waits);
  return walk;
}

const GoroutineList kList = {1, 144, 176, {"", "chan receive", "select"}};

CaptureFinished counted(const HeapWalked& walk) {
  CaptureFinished capture;
  add_goroutines(capture, walk, kList);
  return capture;
}

TEST(CaptureEvent, goroutines_at_the_kill_are_told_by_state_and_reason_and_dead_ones_are_none) {
  const CaptureFinished capture = counted(walk_with({7, 2, 1, 0, 905, 0, 40}, {0, 900, 4, 1}));
  EXPECT_THAT(capture.goroutines,
              testing::ElementsAre(GoroutineTally{900, "waiting", "chan receive"},
                                   GoroutineTally{4, "waiting", "select"}, GoroutineTally{2, "runnable", ""},
                                   GoroutineTally{1, "running", ""}, GoroutineTally{1, "waiting", ""}));
  EXPECT_EQ(capture.goroutines_cut, "");
}

TEST(CaptureEvent, part_of_the_goroutines_is_said_to_be_one) {
  HeapWalked walk = walk_with({0, 0, 0, 0, 5}, {0, 5});
  walk.goroutines_stop = WalkStop::kTimeLimit;
  EXPECT_EQ(counted(walk).goroutines_cut, "time_limit");
  EXPECT_EQ(counted(walk).goroutines.size(), 1u);
  walk.goroutines_stop = WalkStop::kEnd;
  walk.goroutines_absent = 1;
  EXPECT_EQ(counted(walk).goroutines_cut, "absent");
  const CaptureFinished many = counted(walk_with({}, std::vector<std::uint64_t>(64, 1)));
  EXPECT_TRUE(many.goroutines.empty()) << "without states nothing was counted";
  const CaptureFinished cut = counted(walk_with({0, 0, 0, 0, 64}, std::vector<std::uint64_t>(64, 1)));
  EXPECT_EQ(cut.goroutines.size(), kMaxTallies);
  EXPECT_EQ(cut.goroutines_cut, "limit");
}

TEST(CaptureEvent, list_that_is_none_of_the_runtimes_tells_nothing) {
  for (const WalkStop stop : {WalkStop::kLoop, WalkStop::kMalformed}) {
    HeapWalked walk = walk_with({0, 0, 0, 0, 5}, {0, 5});
    walk.goroutines_stop = stop;
    EXPECT_TRUE(counted(walk).goroutines.empty());
  }
}

}  // namespace
}  // namespace oomw
