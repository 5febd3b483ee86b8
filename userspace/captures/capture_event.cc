// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

bool was_tried(const CaptureFinished& begun, CaptureReason reason) {
  if (begun.method == CaptureMethod::kAtKill) return true;  // the victim was walked, or should have been
  return reason != CaptureReason::kNotGo && (reason < CaptureReason::kHeadroom || reason > CaptureReason::kQueueFull);
}

// The runtime's statuses of goroutines that exist, by number; "" for those that do not, and for numbers it may add.
constexpr auto kStates = std::to_array<std::string_view>(
    {"", "runnable", "running", "in a system call", "waiting", "", "", "", "copystack", "preempted"});
constexpr std::size_t kWaiting = 4;

std::string why_cut(const HeapWalked& walk) {
  if (walk.goroutines_stop != WalkStop::kEnd) return std::string(to_string(walk.goroutines_stop));
  return walk.goroutines_absent > 0 ? "absent" : "";
}

}  // namespace

CaptureFinished begin_capture(const CaptureRequest& request, CaptureMethod method, MonotonicTime started) {
  CaptureFinished event;
  event.method = method;
  event.time = event.started = started;
  event.capture_id = request.capture_id;
  event.cgroup = request.cgroup;
  if (!request.targets.empty()) event.process = request.targets.front().process;
  event.trigger = request.trigger;
  event.usage_bytes = request.usage_bytes;
  event.limit_bytes = request.limit_bytes;
  return event;
}

CaptureRequest request_at_kill(CaptureTarget victim) {
  CaptureRequest request;
  request.cgroup = victim.cgroup;
  request.targets = {std::move(victim)};
  request.trigger = {CaptureTrigger::Kind::kOomKill};
  return request;
}

CaptureFinished not_taken(CaptureFinished begun, MonotonicTime ended, CaptureFailure failure) {
  begun.time = ended;
  if (failure.process.pid != 0) begun.process = failure.process;
  begun.result = was_tried(begun, failure.reason) ? CaptureResult::kFailed : CaptureResult::kSkipped;
  begun.reason = failure.reason;
  begun.detail = std::move(failure.detail);
  return begun;
}

CaptureFinished taken(CaptureFinished begun, MonotonicTime at, TakenHeap heap) {
  begun.time = at;
  begun.process = heap.process;
  begun.of = heap.of;
  begun.result = CaptureResult::kOk;
  begun.reason = heap.shortfall;
  begun.complete = heap.shortfall == CaptureReason::kNone;
  begun.detail = std::move(heap.detail);
  begun.inuse_bytes = heap.inuse_bytes;
  begun.live_bytes = heap.live_bytes;
  begun.sample_count = heap.sample_count;
  begun.memstats = std::move(heap.memstats);
  begun.components = std::move(heap.components);
  begun.sites = std::move(heap.sites);
  return begun;
}

void add_goroutines(CaptureFinished& capture, const HeapWalked& walk, const GoroutineList& list) {
  // A list that leads back into itself, or whose entries are no goroutines, is not the runtime's.
  const bool is_list = walk.goroutines_stop != WalkStop::kLoop && walk.goroutines_stop != WalkStop::kMalformed;
  if (walk.goroutine_states.empty() || !is_list) return;
  std::vector<GoroutineTally> tallies;
  for (std::size_t i = 0; i < std::min(walk.goroutine_states.size(), kStates.size()); ++i) {
    if (i == kWaiting || kStates[i].empty() || walk.goroutine_states[i] == 0) continue;
    tallies.push_back({walk.goroutine_states[i], std::string(kStates[i]), ""});
  }
  for (std::size_t i = 0; i < walk.goroutine_waits.size(); ++i) {
    if (walk.goroutine_waits[i] == 0) continue;
    const std::string reason = i < list.wait_reasons.size() ? list.wait_reasons[i] : "";
    tallies.push_back(
        {walk.goroutine_waits[i], std::string(kStates[kWaiting]), printable(reason, GoroutineList::kMaxReasonChars)});
  }
  std::ranges::stable_sort(tallies, std::greater<>(), &GoroutineTally::count);
  capture.goroutines_cut = why_cut(walk);
  if (tallies.size() > kMaxTallies) {
    tallies.resize(kMaxTallies);
    if (capture.goroutines_cut.empty()) capture.goroutines_cut = to_string(CaptureReason::kLimit);
  }
  capture.goroutines = std::move(tallies);
}

}  // namespace oomw
