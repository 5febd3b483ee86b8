// SPDX-License-Identifier: Apache-2.0
#include "cli/read/announced.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace oomw::cli {

Announced::News Announced::note(const Incident& incident, bool is_revision) {
  const bool has_culprit = incident.answer && incident.answer->culprit;
  Answered now{incident.id, incident.verdict ? incident.verdict->cause : "",
               has_culprit ? incident.answer->culprit->code : ""};
  const auto before = std::ranges::find(last_, incident.id, &Answered::id);
  if (before != last_.end()) {
    const bool is_same = before->cause == now.cause && before->culprit == now.culprit;
    *before = std::move(now);
    return is_same ? News::kNone : News::kChanged;
  }
  if (is_revision) return News::kNone;
  last_.push_front(std::move(now));
  if (last_.size() > kMaxRemembered) last_.pop_back();
  return News::kFirst;
}

bool Repeats::is_repeat(const Event& event) {
  constexpr Nanoseconds kBurstsAgain = std::chrono::minutes(10);
  Said now;
  if (const auto* capture = std::get_if<CaptureFinished>(&event); capture && capture->reason != CaptureReason::kNone) {
    now = {
        fmt::format("capture {} {} {}", capture->process.pid, to_string(capture->method), to_string(capture->reason)),
        0};
  } else if (const auto* growth = std::get_if<GrowthProfile>(&event)) {
    now = {fmt::format("growth {} {}", growth->process.pid, growth->started.ns), growth->grown_bytes};
  } else if (const auto* mark = std::get_if<WatermarkCrossed>(&event);
             mark != nullptr && mark->reason == WatermarkReason::kTimeToLimit) {
    now = {fmt::format("burst {} {} {}", mark->cgroup.value, mark->level_percent, mark->time.ns / kBurstsAgain.count()),
           0};
  } else {
    return false;
  }
  const auto before = std::ranges::find(last_, now.what, &Said::what);
  if (before == last_.end()) {
    last_.push_front(std::move(now));
    if (last_.size() > Announced::kMaxRemembered) last_.pop_back();
    return false;
  }
  if (now.bytes <= before->bytes + before->bytes / 2) return true;
  before->bytes = now.bytes;
  return false;
}

}  // namespace oomw::cli
