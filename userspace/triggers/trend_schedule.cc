// SPDX-License-Identifier: Apache-2.0
#include "triggers/trend_schedule.h"

#include <algorithm>
#include <tuple>

#include "triggers/jitter.h"

namespace oomw {

TrendSchedule::Entry TrendSchedule::new_entry(const Process& process, MonotonicTime now) const {
  const MonotonicTime first = process.started + jittered(config_.first_interval, process.key);
  const MonotonicTime spread = now + scaled(config_.first_round, phase_of(process.key));
  Entry entry;
  entry.started = process.started;
  entry.due = now - process.started < config_.first_round ? std::max(first, now) : spread;
  return entry;
}

void TrendSchedule::set_processes(const std::vector<Process>& processes, MonotonicTime now) {
  std::map<ProcessKey, Entry> entries;
  for (const Process& process : processes) {
    const auto known = entries_.find(process.key);
    entries.emplace(process.key, known != entries_.end() ? known->second : new_entry(process, now));
  }
  entries_ = std::move(entries);
  std::erase_if(own_, [&](const auto& one) { return one.second.is_idle(now); });
}

void TrendSchedule::note_memory(ProcessKey process, ContainerMemory memory) {
  const auto found = entries_.find(process);
  if (found == entries_.end() || memory.limit_bytes == 0) return;
  Entry& entry = found->second;
  const std::uint64_t left = memory.limit_bytes - std::min(memory.used_bytes, memory.limit_bytes);
  entry.left_bytes = left;
  if (!entry.left_bytes_at_read) entry.left_bytes_at_read = left;
  entry.limit_bytes = memory.limit_bytes;
  if (!entry.is_under_way) entry.owner = memory.owner;
  entry.is_near = has_moved(entry);
  if (!entry.is_near) {
    entry.left_bytes_when_calm = left;
    entry.calm_at = memory.as_of;
  }
  if (!entry.is_near || entry.is_under_way || entry.last == MonotonicTime{}) return;
  const MonotonicTime due = entry.last + near_interval(entry);
  if (due >= entry.due) return;
  entry.due = due;
  ++brought_forward_;
}

bool TrendSchedule::has_moved(const Entry& entry) const {
  const auto left = static_cast<double>(*entry.left_bytes), before = static_cast<double>(*entry.left_bytes_at_read);
  if (left < before * (1 - config_.near_step)) return true;
  const auto limit = static_cast<double>(entry.limit_bytes);
  return config_.follows_falls && limit - left < (limit - before) * (1 - config_.near_step);
}

std::vector<ProcessKey> TrendSchedule::take_turn(std::size_t max) {
  std::vector<ProcessKey> keys;
  auto next = entries_.upper_bound(turn_);
  while (keys.size() < std::min(max, entries_.size())) {
    if (next == entries_.end()) next = entries_.begin();
    keys.push_back((next++)->first);
  }
  if (!keys.empty()) turn_ = keys.back();
  return keys;
}

void TrendSchedule::pay_off(MonotonicTime now) {
  if (paid_ != MonotonicTime{}) {
    debt_ -= scaled(now - paid_, config_.max_core_share + config_.near_core_share);
    debt_ = std::max(debt_, Nanoseconds(0));
    own_debt_ -= std::min(own_debt_, scaled(now - paid_, config_.own_core_share));
  }
  paid_ = now;
}

std::vector<ProcessKey> TrendSchedule::take_due(MonotonicTime now) {
  pay_off(now);
  std::vector<std::tuple<bool, MonotonicTime, ProcessKey>> due;
  for (const auto& [key, entry] : entries_) {
    if (entry.due <= now) due.emplace_back(!entry.is_near, entry.due, key);
  }
  std::ranges::sort(due);
  std::vector<ProcessKey> keys;
  for (const auto& [is_calm, when, key] : due) {
    if (keys.size() == config_.max_due) break;
    Entry& entry = entries_.at(key);
    entry.pays_own = has_own(entry, now);
    if (!entry.pays_own && debt_ >= (is_calm ? 1 : 2) * config_.burst) continue;
    entry.due = now + 2 * config_.max_interval;
    entry.is_under_way = true;
    keys.push_back(key);
  }
  return keys;
}

bool TrendSchedule::ends_soon(const Entry& entry, MonotonicTime now) const {
  const auto left = static_cast<double>(*entry.left_bytes);
  const double gone = static_cast<double>(entry.left_bytes_when_calm) - left;
  return gone > 0 && to_seconds(now - entry.calm_at) * left <= to_seconds(config_.soon) * gone;
}

bool TrendSchedule::has_own(const Entry& entry, MonotonicTime now) const {
  const bool may_pay = config_.own_core_share > 0 && entry.cost <= config_.own;
  if (!may_pay || !entry.is_near || !ends_soon(entry, now)) return false;
  const auto known = own_.find(entry.owner);
  if (known == own_.end() && own_.size() >= kMaxOwners) return false;
  if (own_debt_ >= config_.own_ahead / (known == own_.end() ? 1 : 2)) return false;
  if (known != own_.end() && !known->second.may_go(now)) return false;
  return std::ranges::none_of(
      entries_, [&](const auto& other) { return other.second.pays_own && other.second.owner == entry.owner; });
}

// The interval at which `sharers` such processes can all be inspected within the share. While little is owed the share
// does not matter: few processes, or a node where all have been read, get the interval for their age.
Nanoseconds TrendSchedule::affordable(Nanoseconds cost, std::size_t sharers, double core_share) const {
  if (debt_ < config_.burst / 4) return Nanoseconds(0);
  return std::min(scaled(cost, static_cast<double>(sharers) / core_share), config_.max_interval);
}

Nanoseconds TrendSchedule::calm_interval(const Entry& entry, MonotonicTime now) const {
  const Nanoseconds by_age =
      std::clamp(scaled(now - entry.started, config_.age_share), config_.min_interval, config_.max_interval);
  return std::max(by_age, affordable(entry.cost, entries_.size(), config_.max_core_share));
}

Nanoseconds TrendSchedule::near_interval(const Entry& entry) const {
  if (has_own(entry, paid_)) return config_.min_interval;
  const auto near = std::ranges::count_if(entries_, [](const auto& other) { return other.second.is_near; });
  return std::max(config_.min_interval,
                  affordable(entry.cost, static_cast<std::size_t>(near), config_.near_core_share));
}

void TrendSchedule::pay(Entry& entry, Nanoseconds cost, MonotonicTime now) {
  const Nanoseconds of_own = entry.pays_own ? std::min(cost, config_.own) : Nanoseconds(0);
  if (entry.pays_own) own_[entry.owner].charge(cost, config_.own, now);
  entry.pays_own = false;
  own_debt_ += of_own;
  debt_ += cost - of_own;
}

void TrendSchedule::done(ProcessKey process, Nanoseconds cost, MonotonicTime now, bool was_read) {
  const auto found = entries_.find(process);
  if (found == entries_.end()) {
    debt_ += cost;  // it ended meanwhile
    return;
  }
  Entry& entry = found->second;
  pay(entry, cost, now);
  entry.is_under_way = false;
  entry.last = now;
  entry.cost = cost;
  if (was_read) note_what_is_left(entry);
  entry.due = now + jittered(calm_interval(entry, now), process);
}

void TrendSchedule::note_read(ProcessKey process, MonotonicTime now) {
  const auto found = entries_.find(process);
  if (found == entries_.end() || found->second.is_under_way) return;
  Entry& entry = found->second;
  entry.last = now;
  note_what_is_left(entry);
  entry.due = std::max(entry.due, now + calm_interval(entry, now));
}

void TrendSchedule::note_what_is_left(Entry& entry) {
  entry.left_bytes_at_read = entry.left_bytes;
  entry.is_near = false;
}

}  // namespace oomw
