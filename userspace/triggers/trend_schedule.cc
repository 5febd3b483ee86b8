// SPDX-License-Identifier: Apache-2.0
#include "triggers/trend_schedule.h"

#include <algorithm>

namespace oomw {
namespace {

Nanoseconds scaled(Nanoseconds duration, double factor) {
  return Nanoseconds(static_cast<std::int64_t>(static_cast<double>(duration.count()) * factor));
}

// 0 to 1, the same for a process every time.
double phase_of(ProcessKey process) {
  const std::uint64_t mixed =
      (process.start_ticks * 31 + static_cast<std::uint32_t>(process.pid)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<double>(mixed >> 40) / static_cast<double>(1U << 24);
}

Nanoseconds jittered(Nanoseconds interval, ProcessKey process) {
  return scaled(interval, 0.9 + 0.2 * phase_of(process));
}

}  // namespace

void TrendSchedule::set_processes(const std::vector<Process>& processes, MonotonicTime now) {
  std::map<ProcessKey, Entry> entries;
  for (const Process& process : processes) {
    const auto known = entries_.find(process.key);
    if (known != entries_.end()) {
      entries.insert(*known);
      continue;
    }
    // Those that were there before are spread over one interval.
    const MonotonicTime first = process.started + jittered(config_.min_interval, process.key);
    const MonotonicTime spread = now + scaled(config_.min_interval, phase_of(process.key));
    entries.emplace(process.key, Entry{process.started, first > now ? first : spread});
  }
  entries_ = std::move(entries);
}

std::vector<ProcessKey> TrendSchedule::take_due(MonotonicTime now) {
  std::vector<std::pair<MonotonicTime, ProcessKey>> due;
  for (const auto& [key, entry] : entries_) {
    if (entry.due <= now) due.emplace_back(entry.due, key);
  }
  std::ranges::sort(due);
  if (due.size() > config_.max_due) due.resize(config_.max_due);
  std::vector<ProcessKey> keys;
  for (const auto& [when, key] : due) {
    entries_.at(key).due = now + 2 * config_.max_interval;
    keys.push_back(key);
  }
  return keys;
}

Nanoseconds TrendSchedule::interval(const Entry& entry, Nanoseconds cost, MonotonicTime now) const {
  const Nanoseconds by_age =
      std::clamp(scaled(now - entry.started, config_.age_share), config_.min_interval, config_.max_interval);
  const Nanoseconds by_cost = scaled(cost, static_cast<double>(entries_.size()) / config_.max_core_share);
  return std::max(by_age, std::min(by_cost, config_.max_interval));
}

void TrendSchedule::done(ProcessKey process, Nanoseconds cost, MonotonicTime now) {
  const auto entry = entries_.find(process);
  if (entry == entries_.end()) return;
  entry->second.due = now + jittered(interval(entry->second, cost, now), process);
}

}  // namespace oomw
