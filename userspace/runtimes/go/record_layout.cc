// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/record_layout.h"

#include <algorithm>

namespace oomw::go {

namespace {

constexpr std::size_t kCycles = 4;  // active and three of the future
constexpr std::uint64_t kLongBytes = 128, kShortBytes = 64;
// From this many buckets on, two without anything between them are a certainty.
constexpr std::uint64_t kManyBuckets = 64;
// More sampled bytes than any heap: an upper bound for counts of the short layout.
constexpr std::uint64_t kMaxCounted = std::uint64_t{1} << 60;

using Words = std::array<std::uint64_t, kRecordWords>;

// Cycle i of the record as the long layout has it.
Counts long_cycle(const Words& words, std::size_t i) {
  return {words[i * 4], words[i * 4 + 1], words[i * 4 + 2], words[i * 4 + 3]};
}

Counts short_cycle(const Words& words, std::size_t i, std::uint64_t size) {
  const std::uint64_t allocs = words[i * 2], frees = words[i * 2 + 1];
  return {allocs, frees, allocs * size, frees * size};
}

bool agrees(const Counts& c, std::uint64_t size) {
  return c.alloc_bytes == c.allocs * size && c.free_bytes == c.frees * size;
}

bool has_counts(const Words& words, std::size_t count) {
  return std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), [](auto w) { return w != 0; });
}

bool long_holds(const RawBucket& bucket) {
  if (bucket.record_words < kRecordWords) return false;
  for (std::size_t i = 0; i < kCycles; ++i) {
    if (!agrees(long_cycle(bucket.record, i), bucket.size)) return false;
  }
  // Blocks of size 0 have no bytes: they prove nothing.
  return bucket.size != 0 && has_counts(bucket.record, kRecordWords);
}

bool short_holds(const RawBucket& bucket) {
  std::uint64_t allocs = 0, frees = 0;
  const std::uint64_t limit = kMaxCounted / std::max<std::uint64_t>(bucket.size, 1);
  for (std::size_t i = 0; i < kCycles; ++i) {
    const Counts cycle = short_cycle(bucket.record, i, bucket.size);
    if (cycle.allocs > limit || cycle.frees > limit) return false;
    allocs += cycle.allocs;
    frees += cycle.frees;
  }
  return bucket.record[0] >= bucket.record[1] && allocs >= frees && allocs > 0;
}

// 19 of 20, and at least one.
bool prevails(std::uint64_t holds, std::uint64_t broken) { return holds > 0 && holds >= 19 * broken; }

}  // namespace

void LayoutEvidence::add(const RawBucket& bucket) {
  // A bucket without a first count proves nothing; in the short layout, words 8 on belong to others.
  if (bucket.size == 0 || !has_counts(bucket.record, bucket.record_words)) return;
  ++(long_holds(bucket) ? long_holds_ : long_broken_);
  ++(short_holds(bucket) ? short_holds_ : short_broken_);
}

void LayoutEvidence::add_gap(std::uint64_t gap) {
  if (gap < kLongBytes) ++overlaps_;
  if (gap < kShortBytes) ++short_overlaps_;
  if (gap == kLongBytes) ++long_strides_;
  if (gap == kShortBytes) ++short_strides_;
}

RecordLayout LayoutEvidence::decide() const {
  if (long_holds_ + long_broken_ + short_holds_ + short_broken_ == 0) return RecordLayout::kNoData;
  // Bytes that agree with objects are no accident, even if a neighbour leaves no room for them.
  if (prevails(long_holds_, long_broken_)) {
    return overlaps_ == 0 ? RecordLayout::kObjectsAndBytes : RecordLayout::kUnknown;
  }
  // Some other layout could look like small counts. Buckets of the short one come side by side
  // sooner or later: 64 B apart, never 128 exactly without one at 64, never less.
  const bool many = short_holds_ >= kManyBuckets;
  const bool neighbours_agree = short_overlaps_ == 0 && (short_strides_ > 0 || (!many && long_strides_ == 0));
  if (neighbours_agree && prevails(short_holds_, short_broken_)) return RecordLayout::kObjects;
  return RecordLayout::kUnknown;
}

std::string LayoutEvidence::describe() const {
  return "128 B record: " + std::to_string(long_holds_) + " buckets hold, " + std::to_string(long_broken_) +
         " do not, " + std::to_string(overlaps_) + " overlap; 64 B record: " + std::to_string(short_holds_) +
         " hold, " + std::to_string(short_broken_) + " do not, " + std::to_string(short_strides_) + " adjoin";
}

DecodedRecord decode_record(const RawBucket& bucket, RecordLayout layout) {
  DecodedRecord decoded;
  for (std::size_t i = 0; i < kCycles; ++i) {
    Counts cycle = layout == RecordLayout::kObjectsAndBytes ? long_cycle(bucket.record, i)
                                                            : short_cycle(bucket.record, i, bucket.size);
    if (!agrees(cycle, bucket.size)) {
      decoded.is_torn = true;
      cycle.alloc_bytes = cycle.allocs * bucket.size;
      cycle.free_bytes = cycle.frees * bucket.size;
    }
    Counts& sum = i == 0 ? decoded.active : decoded.future;
    sum = sum + cycle;
  }
  return decoded;
}

}  // namespace oomw::go
