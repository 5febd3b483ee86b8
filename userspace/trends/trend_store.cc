// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_store.h"

#include <algorithm>
#include <vector>

namespace oomw {

void TrendStore::add(ProcessKey process, MonotonicTime execution, const HeapReading& heap,
                     const ReadingContext& context) {
  Entry& entry = trends_[process];
  if (execution < entry.execution) return;
  if (execution > entry.execution) {
    entry.trend = HeapTrend();
    entry.execution = execution;
  }
  entry.trend.add(heap, context);
  entry.last_read = std::max(entry.last_read, context.time);
  measure(entry);
  keep_budget();
}

void TrendStore::gone(ProcessKey process, MonotonicTime now) {
  const auto entry = trends_.find(process);
  if (entry != trends_.end() && !entry->second.gone) entry->second.gone = now;
}

void TrendStore::expire(MonotonicTime now) {
  for (auto it = trends_.begin(); it != trends_.end();) {
    const auto entry = it++;
    const bool is_over = entry->second.gone && now - *entry->second.gone >= config_.grace;
    if (is_over || now - entry->second.last_read >= config_.stale) drop(entry);
  }
}

const HeapTrend* TrendStore::find(ProcessKey process) const {
  const auto entry = trends_.find(process);
  return entry == trends_.end() ? nullptr : &entry->second.trend;
}

void TrendStore::measure(Entry& entry) {
  bytes_ -= entry.bytes;
  entry.bytes = entry.trend.bytes() + sizeof(Entries::value_type);
  bytes_ += entry.bytes;
}

void TrendStore::drop(Entries::iterator entry) {
  bytes_ -= entry->second.bytes;
  trends_.erase(entry);
}

void TrendStore::keep_budget() {
  while (bytes_ > config_.max_bytes && !trends_.empty()) {
    if (thin_largest()) {
      ++thinned_;
      continue;
    }
    drop(std::ranges::min_element(trends_, {}, [](const auto& entry) { return entry.second.last_read; }));
    ++dropped_;
  }
}

// Thins the largest trend that has a reading to lose.
bool TrendStore::thin_largest() {
  std::vector<Entry*> by_size;
  for (auto& [process, entry] : trends_) by_size.push_back(&entry);
  std::ranges::stable_sort(by_size, [](const Entry* a, const Entry* b) { return a->bytes > b->bytes; });
  for (Entry* entry : by_size) {
    if (entry->trend.readings().size() <= kLeastReadings || !entry->trend.thin()) continue;
    measure(*entry);
    return true;
  }
  return false;
}

}  // namespace oomw
