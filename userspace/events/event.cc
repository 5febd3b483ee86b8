// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

namespace oomw {

MonotonicTime time_of(const Event& event) {
  return std::visit([](const auto& e) { return e.time; }, event);
}

std::string_view to_string(WatermarkReason reason) {
  return reason == WatermarkReason::kLevel ? "level" : "time_to_limit";
}

std::string_view to_string(CaptureMethod method) {
  switch (method) {
    case CaptureMethod::kAtKill:
      return "at_kill";
    case CaptureMethod::kLive:
      return "live";
    case CaptureMethod::kHttp:
      return "http";
  }
  return "http";
}

std::string_view to_string(WalkStop stop) {
  switch (stop) {
    case WalkStop::kEnd:
      return "end";
    case WalkStop::kFault:
      return "fault";
    case WalkStop::kMalformed:
      return "malformed";
    case WalkStop::kLoop:
      return "loop";
    case WalkStop::kPoolFull:
      return "pool_full";
    case WalkStop::kBucketLimit:
      return "bucket_limit";
    case WalkStop::kTimeLimit:
      return "time_limit";
  }
  return "fault";
}

std::string_view to_string(CaptureResult result) {
  switch (result) {
    case CaptureResult::kOk:
      return "ok";
    case CaptureResult::kFailed:
      return "failed";
    case CaptureResult::kSkipped:
      return "skipped";
  }
  return "failed";
}

}  // namespace oomw
