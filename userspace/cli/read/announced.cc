// SPDX-License-Identifier: Apache-2.0
#include "cli/read/announced.h"

#include <algorithm>
#include <utility>

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

}  // namespace oomw::cli
