// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "runtimes/heap_reading.h"
#include "trends/site_table.h"

namespace oomw {

enum class ReadingOrigin { kScheduled, kWatermark, kAtKill, kRequest };
[[nodiscard]] std::string_view to_string(ReadingOrigin origin);

// One reading of a heap, without its stacks: they are in the SiteTable.
struct TrendReading {
  struct Bucket {
    std::uint32_t number = 0;                          // in the SiteTable
    std::uint32_t live_objects = 0, held_objects = 0;  // as sampled; live at the last collection, held now
  };
  MonotonicTime time;
  ReadingOrigin origin = ReadingOrigin::kScheduled;
  bool is_starting_up = false;  // the process was still within its start-up time
  bool is_baseline = false;     // never thinned
  bool is_complete = false;     // the whole list of buckets was read
  std::optional<std::uint32_t> gc_cycle;
  std::int64_t rate = 0;                         // bytes per sample
  std::uint64_t live_bytes = 0, held_bytes = 0;  // scaled against sampling, all buckets
  std::uint64_t untracked_bytes = 0;             // part of held_bytes, in buckets that found no room
  std::uint64_t unlisted_bytes = 0;              // what a bucket without an entry held at most
  std::vector<Bucket> buckets;                   // those that hold anything
};

// What is known about a reading besides the heap itself.
struct ReadingContext {
  MonotonicTime time;
  ReadingOrigin origin = ReadingOrigin::kScheduled;
  bool is_starting_up = false;
};

// The heap of one process over time.
//
// - The baseline, the first reading after start-up, stays for good. kMaxReadings stay in all, new ones dense and old
//   ones sparse: distances grow geometrically with age. Which one goes depends on their times alone.
// - A reading costs 12 bytes per bucket in use; stacks are held once.
// Pure: no clock, no file. One thread at a time.
class HeapTrend {
 public:
  // For a day read every 10 minutes: 16 ages, each 1.4 times the one before.
  static constexpr std::size_t kMaxReadings = 16;

  // Readings may come late (a walk at the kill is decoded after others); they are inserted in order of time.
  void add(const HeapReading& heap, const ReadingContext& context);
  // Drops one reading and the stacks that only it needed; false: no reading is left that may go.
  [[nodiscard]] bool thin();

  [[nodiscard]] const std::vector<TrendReading>& readings() const { return readings_; }  // oldest first
  // Where to judge from: the baseline, once six collections were seen from it on and four fifths of the time lie after
  // it. Until then most of the history is start-up, and this is the oldest reading. 0 without any.
  [[nodiscard]] std::size_t baseline() const;
  // The baseline itself; nothing until the start-up is over.
  [[nodiscard]] std::optional<std::size_t> after_start_up() const;
  [[nodiscard]] const SiteTable& sites() const { return table_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  [[nodiscard]] TrendReading make_reading(const HeapReading& heap, const ReadingContext& context);
  void add_buckets(const HeapReading& heap, TrendReading& reading);
  [[nodiscard]] std::optional<std::size_t> least_missed() const;
  [[nodiscard]] double missed_ratio(std::size_t reading) const;
  [[nodiscard]] bool is_one_of_many(std::size_t reading) const;
  [[nodiscard]] bool drop_reading();
  void drop_unused_buckets();

  SiteTable table_;
  std::vector<TrendReading> readings_;
};

// Whether a collection published its counts between the two. Where the cycle is not known, equal live bytes mean that
// none did.
[[nodiscard]] bool shows_new_counts(const TrendReading& reading, const TrendReading& previous);

}  // namespace oomw
