// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_event.h"

namespace oomw {

CaptureFinished event_of(const CaptureRequest& request, CaptureMethod method, MonotonicTime started) {
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

}  // namespace oomw
