// SPDX-License-Identifier: Apache-2.0
#include "model/victim_set.h"

namespace oomw {

bool VictimSet::contains(ProcessKey victim, MonotonicTime now) const {
  for (auto it = by_key_.lower_bound({victim.pid, 0}); it != by_key_.end() && it->first.pid == victim.pid; ++it) {
    if (it->first.start_ticks != 0 && it->first.start_ticks == victim.start_ticks) return true;
    const bool pid_only = it->first.start_ticks == 0 || victim.start_ticks == 0;
    const Nanoseconds apart = now < it->second ? it->second - now : now - it->second;
    if (pid_only && apart < kPidOnlyWindow) return true;
  }
  return false;
}

bool VictimSet::add(ProcessKey victim, MonotonicTime now) {
  expire(now);
  if (contains(victim, now)) return false;
  by_key_[victim] = now;
  by_age_.emplace_back(now, victim);
  return true;
}

void VictimSet::expire(MonotonicTime now) {
  while (!by_age_.empty() && (by_age_.size() >= kMax || now - by_age_.front().first >= kMemory)) {
    const auto [added, key] = by_age_.front();
    by_age_.pop_front();
    // A pid-only victim may have been added again since; then the newer entry stays.
    if (auto it = by_key_.find(key); it != by_key_.end() && it->second == added) by_key_.erase(it);
  }
}

}  // namespace oomw
