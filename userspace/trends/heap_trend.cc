// SPDX-License-Identifier: Apache-2.0
#include "trends/heap_trend.h"

#include <algorithm>
#include <array>
#include <limits>

namespace oomw {
namespace {

// Ages below this count as equal: readings at 80, 90 and 95 % may come within milliseconds.
constexpr double kYoungSeconds = 10;
// Readings from the baseline on; with fewer, most of the history is start-up.
constexpr std::size_t kLeastFromBaseline = 6;
constexpr int kLeastShare = 4;  // the time after the start-up must be this many times as long
// Ratios of ages are at least 1 and rarely above 3.
constexpr double kRedundant = 0.01;

std::uint32_t clamped(std::int64_t objects) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(objects, 0, kMost));
}

std::uint64_t add_saturating(std::uint64_t a, double bytes) {
  constexpr double kMost = 9e18;
  const double sum = static_cast<double>(a) + bytes;
  if (sum >= kMost) return static_cast<std::uint64_t>(kMost);
  return a + static_cast<std::uint64_t>(bytes);
}

// One of the reading's holdings that hold anything now.
struct InUse {
  std::size_t position = 0;
  std::uint32_t live = 0, held = 0;
  double live_bytes = 0, held_bytes = 0;
};

std::vector<InUse> in_use_of(const HeapReading& heap) {
  std::vector<InUse> found;
  found.reserve(heap.holdings.size());
  for (std::size_t i = 0; i < heap.holdings.size(); ++i) {
    const HeapHolding& holding = heap.holdings[i];
    InUse use{i, clamped(holding.live.objects), clamped(holding.held.objects)};
    if ((use.live | use.held) == 0) continue;
    const double each = bytes_per_sample(holding.block_bytes, heap.rate);
    use.live_bytes = each * use.live;
    use.held_bytes = each * use.held;
    found.push_back(use);
  }
  return found;
}

}  // namespace

std::string_view to_string(ReadingOrigin origin) {
  static constexpr std::array<std::string_view, 4> kNames = {"scheduled", "watermark", "at_kill", "request"};
  return kNames[static_cast<std::size_t>(origin)];
}

bool shows_new_counts(const TrendReading& reading, const TrendReading& previous) {
  if (reading.gc_cycle && previous.gc_cycle) return *reading.gc_cycle != *previous.gc_cycle;
  return reading.live_bytes != previous.live_bytes;
}

void HeapTrend::add_buckets(const HeapReading& heap, TrendReading& reading) {
  std::vector<InUse> uses = in_use_of(heap);
  if (table_.buckets() + uses.size() > SiteTable::kMaxBuckets) {
    // Known buckets keep their numbers whatever the order; of the others, the largest come first.
    drop_unused_buckets();
    std::stable_sort(uses.begin(), uses.end(), [](auto& a, auto& b) { return a.held_bytes > b.held_bytes; });
  }
  reading.buckets.reserve(uses.size());
  for (const InUse& use : uses) {
    const HeapHolding& holding = heap.holdings[use.position];
    reading.live_bytes = add_saturating(reading.live_bytes, use.live_bytes);
    reading.held_bytes = add_saturating(reading.held_bytes, use.held_bytes);
    const std::uint32_t number = table_.find_or_add(heap.pcs_of(holding), heap.load_bias, holding.block_bytes);
    if (number == SiteTable::kNone) {
      reading.untracked_bytes = add_saturating(reading.untracked_bytes, use.held_bytes);
    } else {
      reading.buckets.push_back({number, use.live, use.held});
    }
  }
  reading.buckets.shrink_to_fit();
}

TrendReading HeapTrend::make_reading(const HeapReading& heap, const ReadingContext& context) {
  TrendReading reading;
  reading.time = context.time;
  reading.origin = context.origin;
  reading.is_starting_up = context.is_starting_up;
  reading.is_complete = heap.is_complete;
  reading.rate = heap.rate;
  reading.gc_cycle = heap.collection;
  add_buckets(heap, reading);
  reading.unlisted_bytes = heap.unlisted_bytes;
  if (heap.whole_bytes) reading.live_bytes = reading.held_bytes = *heap.whole_bytes;
  return reading;
}

void HeapTrend::add(const HeapReading& heap, const ReadingContext& context) {
  TrendReading reading = make_reading(heap, context);
  const bool has_baseline = std::ranges::any_of(readings_, &TrendReading::is_baseline);
  reading.is_baseline = !has_baseline && !reading.is_starting_up && reading.is_complete;
  const auto place = std::ranges::upper_bound(readings_, reading.time, {}, &TrendReading::time);
  readings_.insert(place, std::move(reading));
  while (readings_.size() > kMaxReadings && drop_reading()) {
  }
}

std::optional<std::size_t> HeapTrend::after_start_up() const {
  const auto marked = std::ranges::find_if(readings_, &TrendReading::is_baseline);
  if (marked == readings_.end()) return std::nullopt;
  return static_cast<std::size_t>(marked - readings_.begin());
}

std::size_t HeapTrend::baseline() const {
  const std::size_t marked = after_start_up().value_or(0);
  if (marked == 0) return 0;
  std::size_t seen = 1;
  for (std::size_t i = marked + 1; i < readings_.size(); ++i) seen += shows_new_counts(readings_[i], readings_[i - 1]);
  const Nanoseconds start_up = readings_[marked].time - readings_.front().time;
  const Nanoseconds since = readings_.back().time - readings_[marked].time;
  return seen < kLeastFromBaseline || since < kLeastShare * start_up ? 0 : marked;
}

// Between two readings of the same collection, which already have its live bytes.
bool HeapTrend::is_one_of_many(std::size_t i) const {
  return i > 0 && !shows_new_counts(readings_[i], readings_[i - 1]) &&
         !shows_new_counts(readings_[i + 1], readings_[i]);
}

// The ratio of its neighbours' ages; the smaller, the less the reading is missed.
double HeapTrend::missed_ratio(std::size_t i) const {
  const auto age = [this](std::size_t at) {
    return to_seconds(readings_.back().time - readings_[at].time) + kYoungSeconds;
  };
  const double ratio = age(i == 0 ? 0 : i - 1) / age(i + 1);
  if (i < baseline()) return 0;  // it only shows the start-up, so it goes first
  return is_one_of_many(i) ? ratio * kRedundant : ratio;
}

// The reading whose neighbours are closest to each other, measured by the ratio of their ages. Never the baseline, the
// newest, or one taken at a kill. Ties go to the oldest.
std::optional<std::size_t> HeapTrend::least_missed() const {
  std::optional<std::size_t> least;
  double least_ratio = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 1 < readings_.size(); ++i) {
    const bool stays = readings_[i].is_baseline || readings_[i].origin == ReadingOrigin::kAtKill;
    if (stays) continue;
    const double ratio = missed_ratio(i);
    if (ratio >= least_ratio) continue;
    least = i;
    least_ratio = ratio;
  }
  return least;
}

bool HeapTrend::drop_reading() {
  const auto victim = least_missed();
  if (!victim) return false;
  readings_.erase(readings_.begin() + static_cast<std::ptrdiff_t>(*victim));
  return true;
}

bool HeapTrend::thin() {
  if (!drop_reading()) return false;
  drop_unused_buckets();
  return true;
}

void HeapTrend::drop_unused_buckets() {
  std::vector<bool> is_used(table_.buckets());
  for (const TrendReading& reading : readings_) {
    for (const TrendReading::Bucket& bucket : reading.buckets) is_used[bucket.number] = true;
  }
  const auto unused = static_cast<std::size_t>(std::ranges::count(is_used, false));
  if (unused * 4 < is_used.size() || unused == 0) return;  // not worth rebuilding the table
  std::vector<std::uint32_t> new_numbers;
  table_ = table_.keep(is_used, new_numbers);
  for (TrendReading& reading : readings_) {
    for (TrendReading::Bucket& bucket : reading.buckets) bucket.number = new_numbers[bucket.number];
  }
}

std::size_t HeapTrend::bytes() const {
  std::size_t sum = sizeof(*this) + table_.bytes() + readings_.capacity() * sizeof(TrendReading);
  for (const TrendReading& reading : readings_) sum += reading.buckets.capacity() * sizeof(TrendReading::Bucket);
  return sum;
}

}  // namespace oomw
