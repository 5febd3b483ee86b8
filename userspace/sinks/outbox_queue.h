// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kubernetes/backoff.h"
#include "sinks/delivery.h"

namespace oomw {

// What one sink may leave undelivered. Retention keeps such incidents on disk, beside what it keeps anyway.
struct OutboxBudget {
  Nanoseconds age = std::chrono::hours(24);
  std::uint64_t bytes = 256u << 20;
};

// Which incidents wait for one sink, and when the next may be tried. Pure: no clock, thread or lock.
//   - an incident waits once, however many revisions it gets meanwhile;
//   - after a failure that may pass, nothing is tried before the backoff (1 s to 60 s, or Retry-After) ends, and the
//     incident goes to the back of the queue: one that always fails does not stop the others;
//   - at most kMax wait. Further ones are on disk, and is_overfull() says that the disk must be read again.
class OutboxQueue {
 public:
  static constexpr std::size_t kMax = 10'000;

  explicit OutboxQueue(OutboxBudget budget, bool is_newest_first = false)
      : budget_(budget), is_newest_first_(is_newest_first) {}

  // `name`: of the incident's directory. `time`: of the kill.
  void add(const std::string& name, WallTime time, MonotonicTime due);
  [[nodiscard]] std::vector<std::string> unmeasured() const;
  void set_bytes(const std::string& name, std::uint64_t bytes);

  // The next one if its time has come; on_delivery() or on_gone() follows.
  [[nodiscard]] std::optional<std::string> take(MonotonicTime now);
  [[nodiscard]] std::optional<MonotonicTime> due() const;  // nullopt: nothing waits
  // Of the one that was taken.
  void on_delivery(const Delivery& delivery, MonotonicTime now, double random);
  void on_nothing_to_do();
  // Nothing is tried before.
  void pause_until(MonotonicTime time) { paused_until_ = std::max(paused_until_, time); }

  struct Over {
    std::string name;
    DeliveryReason reason = DeliveryReason::kAge;
  };
  // Takes out what is beyond the budget, oldest first.
  [[nodiscard]] std::vector<Over> take_over_budget(WallTime now);

  [[nodiscard]] bool contains(const std::string& name) const;
  [[nodiscard]] std::size_t size() const { return waiting_.size() + (taken_ ? 1 : 0); }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::optional<WallTime> oldest() const;
  [[nodiscard]] bool take_overfull() { return std::exchange(is_overfull_, false); }

 private:
  struct Entry {
    WallTime time;
    MonotonicTime due;
    std::uint64_t order = 0;  // of waiting
    std::optional<std::uint64_t> bytes;
    bool was_tried = false;
  };
  [[nodiscard]] std::map<std::string, Entry>::const_iterator first() const;

  const OutboxBudget budget_;
  const bool is_newest_first_;
  std::map<std::string, Entry> waiting_;  // names begin with the time
  std::optional<std::pair<std::string, Entry>> taken_;
  std::uint64_t next_order_ = 0;
  MonotonicTime paused_until_;
  Backoff backoff_;
  bool is_overfull_ = false;
};

}  // namespace oomw
