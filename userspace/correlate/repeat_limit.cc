// SPDX-License-Identifier: Apache-2.0
#include "correlate/repeat_limit.h"

#include <algorithm>

namespace oomw {

bool RepeatLimit::take(const std::string& container, MonotonicTime now) {
  if (config_.per_minute == 0 || container.empty()) return true;
  if (!containers_.contains(container) && containers_.size() >= kMax) forget_idle(now);
  if (!containers_.contains(container) && containers_.size() >= kMax) return true;
  const Nanoseconds every = Nanoseconds(std::chrono::minutes(1)) / config_.per_minute;
  Container& known =
      containers_.try_emplace(container, Container{RateLimit(config_.burst, every), now, std::nullopt}).first->second;
  known.last = std::max(known.last, now);
  return known.limit.take(now);
}

// By then the whole burst is available again.
void RepeatLimit::forget_idle(MonotonicTime now) {
  const Nanoseconds idle = Nanoseconds(std::chrono::minutes(1)) / config_.per_minute * config_.burst;
  std::erase_if(containers_, [&](const auto& entry) { return now - entry.second.last > idle; });
}

std::optional<std::uint64_t> RepeatLimit::newest(const std::string& container) const {
  const auto known = containers_.find(container);
  return known == containers_.end() ? std::nullopt : known->second.newest;
}

void RepeatLimit::set_newest(const std::string& container, std::uint64_t incident) {
  if (const auto known = containers_.find(container); known != containers_.end()) known->second.newest = incident;
}

}  // namespace oomw
