// SPDX-License-Identifier: Apache-2.0
#include "sinks/outbox_queue.h"

#include <tuple>
#include <utility>

namespace oomw {

void OutboxQueue::add(const std::string& name, WallTime time, MonotonicTime due) {
  if (waiting_.contains(name)) return;
  if (waiting_.size() >= kMax) {
    is_overfull_ = true;
    return;
  }
  waiting_.emplace(name, Entry{time, due, next_order_++, std::nullopt, false});
}

std::vector<std::string> OutboxQueue::unmeasured() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : waiting_) {
    if (!entry.bytes) names.push_back(name);
  }
  return names;
}

void OutboxQueue::set_bytes(const std::string& name, std::uint64_t bytes) {
  if (const auto found = waiting_.find(name); found != waiting_.end()) found->second.bytes = bytes;
}

std::map<std::string, OutboxQueue::Entry>::const_iterator OutboxQueue::first() const {
  return std::min_element(waiting_.begin(), waiting_.end(), [this](const auto& a, const auto& b) {
    if (is_newest_first_ && a.second.was_tried != b.second.was_tried) return b.second.was_tried;
    if (is_newest_first_ && a.second.time != b.second.time) return b.second.time < a.second.time;
    return std::tie(a.second.due, a.second.order) < std::tie(b.second.due, b.second.order);
  });
}

std::optional<std::string> OutboxQueue::take(MonotonicTime now) {
  const auto next = first();
  if (taken_ || next == waiting_.end() || now < paused_until_ || now < next->second.due) return std::nullopt;
  taken_.emplace(*next);
  waiting_.erase(next);
  return taken_->first;
}

std::optional<MonotonicTime> OutboxQueue::due() const {
  const auto next = first();
  if (next == waiting_.end()) return std::nullopt;
  return std::max(next->second.due, paused_until_);
}

void OutboxQueue::on_delivery(const Delivery& delivery, MonotonicTime now, double random) {
  auto [name, entry] = *std::exchange(taken_, std::nullopt);
  if (delivery.outcome != Delivery::Outcome::kRetry) return backoff_.reset();
  paused_until_ = now + std::max(backoff_.next(random), delivery.retry_after);
  entry.due = paused_until_;
  entry.order = next_order_++;
  entry.was_tried = true;
  waiting_.insert_or_assign(name, entry);  // a revision may have been added meanwhile
}

void OutboxQueue::on_nothing_to_do() { taken_.reset(); }

std::vector<OutboxQueue::Over> OutboxQueue::take_over_budget(WallTime now) {
  std::vector<Over> over;
  std::uint64_t sum = bytes();
  for (auto entry = waiting_.begin(); entry != waiting_.end();) {
    const bool is_old = now.ns - entry->second.time.ns > budget_.age.count();
    if (!is_old && sum <= budget_.bytes) break;
    over.push_back({entry->first, is_old ? DeliveryReason::kAge : DeliveryReason::kBytes});
    sum -= entry->second.bytes.value_or(0);
    entry = waiting_.erase(entry);
  }
  return over;
}

bool OutboxQueue::contains(const std::string& name) const {
  return waiting_.contains(name) || (taken_ && taken_->first == name);
}

std::uint64_t OutboxQueue::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, entry] : waiting_) sum += entry.bytes.value_or(0);
  return sum;
}

std::optional<WallTime> OutboxQueue::oldest() const {
  std::optional<WallTime> oldest;
  if (taken_) oldest = taken_->second.time;
  if (!waiting_.empty() && (!oldest || waiting_.begin()->second.time < *oldest)) oldest = waiting_.begin()->second.time;
  return oldest;
}

}  // namespace oomw
