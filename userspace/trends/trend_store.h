// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "events/ids.h"
#include "trends/heap_trend.h"

namespace oomw {

struct TrendStoreConfig {
  std::size_t max_bytes = 8U << 20;
  // A process that is gone stays for its incident: written 5 ms after the kill, amended for seconds.
  Nanoseconds grace = std::chrono::seconds(60);
  // A process not read for this long is gone, although no exit was reported.
  Nanoseconds stale = std::chrono::hours(1);
};

// The trends of all processes whose heap can be read, within one budget.
//
// - Over it, the largest trend loses its least missed readings; once every trend is down to
//   kLeastReadings, the process that was read longest ago is dropped. Both are counted.
// - A trend belongs to one execution of a program: after an exec in the same pid it starts again.
// Pure. One thread at a time.
class TrendStore {
 public:
  // Fewer readings show nothing about a leak, see LeakParameters.
  static constexpr std::size_t kLeastReadings = 6;

  explicit TrendStore(TrendStoreConfig config) : config_(config) {}

  // execution: when this program was first seen in the process; a later one is another program, an
  // earlier one a straggler that is ignored.
  void add(ProcessKey process, MonotonicTime execution, const HeapReading& heap, const ReadingContext& context);
  void gone(ProcessKey process, MonotonicTime now);
  void expire(MonotonicTime now);

  [[nodiscard]] const HeapTrend* find(ProcessKey process) const;
  [[nodiscard]] std::size_t size() const { return trends_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t thinned_readings() const { return thinned_; }   // for the budget
  [[nodiscard]] std::uint64_t dropped_processes() const { return dropped_; }  // for the budget

 private:
  struct Entry {
    MonotonicTime execution;
    HeapTrend trend;
    std::size_t bytes = 0;
    MonotonicTime last_read;
    std::optional<MonotonicTime> gone;
  };
  using Entries = std::map<ProcessKey, Entry>;
  void measure(Entry& entry);
  void drop(Entries::iterator entry);
  void keep_budget();
  [[nodiscard]] bool thin_largest();

  const TrendStoreConfig config_;
  Entries trends_;
  std::size_t bytes_ = 0;
  std::uint64_t thinned_ = 0, dropped_ = 0;
};

}  // namespace oomw
