// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_event.h"

#include <utility>

namespace oomw {
namespace {

bool was_tried(const CaptureFinished& begun, CaptureReason reason) {
  if (begun.method == CaptureMethod::kAtKill) return true;  // the victim was walked, or should have been
  return reason != CaptureReason::kNotGo && (reason < CaptureReason::kHeadroom || reason > CaptureReason::kQueueFull);
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

}  // namespace oomw
