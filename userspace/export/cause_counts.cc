// SPDX-License-Identifier: Apache-2.0
#include "export/cause_counts.h"

#include <algorithm>

#include "incident/incident.h"

namespace oomw {

void CauseCounts::note(const Incident& incident, bool is_revision, MonotonicTime now) {
  const auto known = waiting_.find(incident.id);
  if (known == waiting_.end() && is_revision) return;  // it counts already
  const bool is_judged = incident.verdict && !incident.verdict->cause.empty();
  Waiting& waiting = known == waiting_.end() ? waiting_[incident.id] : known->second;
  if (known == waiting_.end()) waiting.since = now;
  waiting.cause = is_judged ? incident.verdict->cause : "unknown";
  waiting.victims = std::max<std::uint64_t>(1, incident.victim_count);
  if (waiting_.size() > kMaxWaiting) settle_oldest();
}

const std::map<std::string, std::uint64_t>& CauseCounts::settled(MonotonicTime now) {
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    if (now - one->second.since >= kSettle) settle(one);
    one = next;
  }
  return counts_;
}

void CauseCounts::settle(std::map<std::string, Waiting>::iterator one) {
  const bool has_room = counts_.contains(one->second.cause) || counts_.size() < kMaxCauses;
  counts_[has_room ? one->second.cause : "other"] += one->second.victims;
  waiting_.erase(one);
}

void CauseCounts::settle_oldest() {
  settle(std::ranges::min_element(waiting_, {}, [](const auto& entry) { return entry.second.since; }));
}

}  // namespace oomw
