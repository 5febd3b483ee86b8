// SPDX-License-Identifier: Apache-2.0
#include "triggers/trigger_policy.h"

#include <algorithm>
#include <utility>

#include "model/limit_scope.h"

namespace oomw {

namespace {

// 0-100; rounded down, as the kernel side does, so that 79.9 % is below 80.
std::uint32_t percent_of(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 100;
  return static_cast<std::uint32_t>(static_cast<double>(part) / static_cast<double>(whole) * 100);
}

// The sample that followed the crossing, if there is one; else the crossing's own figures.
MemoryReading reading_of(const WatermarkCrossed& e, const MemoryModel& model) {
  const CgroupState* state = model.find_cgroup(e.cgroup);
  if (state == nullptr || !state->sampled || state->sampled_at < e.time) {
    return {e.usage_bytes, e.limit_bytes, std::nullopt};
  }
  return {state->usage_bytes, state->limit_bytes.value_or(e.limit_bytes), state->nonreclaimable_bytes};
}

constexpr CaptureTrigger kTimeToLimit = {CaptureTrigger::Kind::kTimeToLimit};

TriggerDecision skip(CaptureTrigger trigger, CaptureReason reason) {
  return {TriggerAction::kSkip, trigger, reason, true};
}

}  // namespace

std::uint64_t headroom_bytes(const MemoryReading& reading) {
  const std::uint64_t used = reading.usage_bytes;
  const std::uint64_t free = reading.limit_bytes > used ? reading.limit_bytes - used : 0;
  const std::uint64_t held = std::min(reading.nonreclaimable_bytes.value_or(used), used);
  return free + (used - held) / 2;
}

TriggerPolicy::TriggerPolicy(TriggerConfig config) : config_(std::move(config)) {
  std::sort(config_.capture_percents.begin(), config_.capture_percents.end());
}

TriggerDecision TriggerPolicy::on_watermark(const WatermarkCrossed& e, const MemoryModel& model) {
  const bool predicted = e.reason == WatermarkReason::kTimeToLimit;
  if (!predicted && e.level_percent < config_.prepare_percent && capture_level(e.level_percent) == 0) return {};
  History* history = history_of(counted_for(e.cgroup, e.time, model));
  if (history == nullptr)
    return skip(predicted ? kTimeToLimit : CaptureTrigger::watermark(e.level_percent), CaptureReason::kBudget);
  return decide(*history, e, model);
}

TriggerDecision TriggerPolicy::decide(History& history, const WatermarkCrossed& e, const MemoryModel& model) const {
  const bool predicted = e.reason == WatermarkReason::kTimeToLimit;
  const std::uint32_t level = capture_level(e.level_percent);
  const bool is_low = !predicted && level == 0;
  const CaptureTrigger trigger = predicted ? kTimeToLimit : CaptureTrigger::watermark(is_low ? e.level_percent : level);
  if (is_second_report(history, trigger, e)) return {};
  if (is_low) return {TriggerAction::kPrepare};
  const MemoryReading reading = reading_of(e, model);
  if (predicted && is_prediction_too_early(e, reading)) return {TriggerAction::kPrepare};
  // 85 % lies between two capture levels: nothing new if 80 % was captured on this climb.
  const bool is_between = !predicted && level != e.level_percent;
  if (is_between && is_cooling_down(history, trigger, e.time)) return {};
  history.waiting_for_nonreclaimable = is_page_cache(reading, predicted ? e.level_percent : level);
  if (history.waiting_for_nonreclaimable) return skip(trigger, CaptureReason::kPageCache);
  return judge(history, trigger, e.time, reading);
}

bool TriggerPolicy::is_second_report(History& history, CaptureTrigger trigger, const WatermarkCrossed& e) const {
  const auto known = history.reported.try_emplace(trigger, Report{e.cgroup, e.time}).first;
  const bool is_others = known->second.cgroup != e.cgroup;
  if (is_others && e.time - known->second.time < std::max(config_.cooldown, kSameCrossing)) return true;
  known->second = {e.cgroup, e.time};
  return false;
}

TriggerDecision TriggerPolicy::on_sample(const MemorySampled& e, const MemoryModel& model) {
  if (history_.empty() || !e.nonreclaimable_bytes) return {};
  auto it = history_.find(counted_for(e.cgroup, e.time, model));
  if (it == history_.end() || !it->second.waiting_for_nonreclaimable) return {};
  History& history = it->second;
  const CgroupState* state = model.find_cgroup(e.cgroup);
  const auto limit = e.limit_bytes || state == nullptr ? e.limit_bytes : state->limit_bytes;
  if (!limit) return {};
  const std::uint32_t percent = percent_of(*e.nonreclaimable_bytes, *limit);
  const std::uint32_t level = capture_level(percent);
  if (percent + kRearmPoints < history.fired_level) history.fired_level = level;
  if (level <= history.fired_level) return {};
  history.fired_level = level;  // also when skipped below: one decision per level, not one per second
  return judge(history, CaptureTrigger::watermark(level), e.time, {e.usage_bytes, *limit, e.nonreclaimable_bytes});
}

void TriggerPolicy::forget(CgroupId cgroup) { history_.erase(cgroup); }

std::uint32_t TriggerPolicy::capture_level(std::uint32_t percent) const {
  auto above = std::upper_bound(config_.capture_percents.begin(), config_.capture_percents.end(), percent);
  return above == config_.capture_percents.begin() ? 0 : *std::prev(above);
}

bool TriggerPolicy::is_page_cache(const MemoryReading& reading, std::uint32_t level_percent) const {
  if (!reading.nonreclaimable_bytes) return false;
  const double share = static_cast<double>(*reading.nonreclaimable_bytes) /
                       static_cast<double>(std::max<std::uint64_t>(reading.limit_bytes, 1));
  const double wanted = (static_cast<double>(level_percent) - kCacheAllowancePoints) / 100;
  return share < std::max(config_.nonreclaimable_ratio, wanted);
}

// The growth is not cache, but most of the limit is still free.
bool TriggerPolicy::is_prediction_too_early(const WatermarkCrossed& e, const MemoryReading& reading) const {
  if (!reading.nonreclaimable_bytes || capture_level(e.level_percent) != 0) return false;
  const std::uint64_t cache = reading.usage_bytes - std::min(*reading.nonreclaimable_bytes, reading.usage_bytes);
  return percent_of(cache, reading.limit_bytes) < kCacheAllowancePoints && is_page_cache(reading, e.level_percent);
}

bool TriggerPolicy::is_cooling_down(const History& history, CaptureTrigger trigger, MonotonicTime now) const {
  const auto last = history.last.find(trigger);
  return last != history.last.end() && now - last->second < config_.cooldown;
}

TriggerDecision TriggerPolicy::judge(History& history, CaptureTrigger trigger, MonotonicTime now,
                                     const MemoryReading& reading) const {
  if (is_cooling_down(history, trigger, now)) return skip(trigger, CaptureReason::kCooldown);
  std::erase_if(history.captures, [&](MonotonicTime t) { return now - t >= config_.budget_window; });
  if (history.captures.size() >= config_.budget) return skip(trigger, CaptureReason::kBudget);
  history.captures.push_back(now);
  history.last[trigger] = now;
  return {TriggerAction::kCapture, trigger, CaptureReason::kNone,
          headroom_bytes(reading) >= config_.min_headroom_bytes};
}

TriggerPolicy::History* TriggerPolicy::history_of(CgroupId cgroup) {
  if (auto it = history_.find(cgroup); it != history_.end()) return &it->second;
  if (history_.size() >= MemoryModel::kMaxCgroups) return nullptr;
  return &history_[cgroup];
}

}  // namespace oomw
