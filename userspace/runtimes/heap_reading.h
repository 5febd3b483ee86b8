// SPDX-License-Identifier: Apache-2.0
// A heap as read from outside, for any runtime. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"

namespace oomw {

struct HeapAmount {
  std::int64_t objects = 0, bytes = 0;
  friend bool operator==(const HeapAmount&, const HeapAmount&) = default;
};

// Undoes sampling exactly as Go's runtime/pprof does when it writes a profile: one block of size s is sampled with
// probability 1-exp(-s/rate). rate 1 and below: every block was sampled.
[[nodiscard]] HeapAmount unsample(const HeapAmount& sampled, std::int64_t rate);
// The bytes that one sampled object of this size stands for.
[[nodiscard]] double bytes_per_sample(std::uint64_t block_bytes, std::int64_t rate);

// The stacks of a reading, in chunks of 1 MiB: a growing vector would for a moment hold three times what it needs, and
// 60,000 stacks of 40 frames are 19 MB already. The first chunk does grow: most heaps fit a few KiB, and mapping a MiB
// to read one costs more than the reading.
class PcPool {
 public:
  static constexpr std::size_t kChunkPcs = 128U << 10;

  // Where the stack starts, for at(). A stack is never split; kChunkPcs is its longest.
  [[nodiscard]] std::uint32_t append(std::span<const std::uint64_t> stack);
  [[nodiscard]] std::span<const std::uint64_t> at(std::uint32_t first, std::uint32_t count) const {
    if (count == 0) return {};
    return std::span(chunks_[first / kChunkPcs]).subspan(first % kChunkPcs, count);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::vector<std::vector<std::uint64_t>> chunks_;
  std::size_t size_ = 0;
};

// The allocations of one stack in blocks of one size. Amounts as sampled.
struct HeapHolding {
  std::uint32_t first_pc = 0;  // place in HeapReading::pcs
  std::uint32_t pc_count = 0;
  std::uint64_t block_bytes = 0;
  HeapAmount allocated;  // since the program began
  HeapAmount held;       // not freed yet
  HeapAmount live;       // the part of it that the last collection left
};

struct HeapReading {
  MonotonicTime as_of;
  bool is_complete = false;                 // the whole heap
  std::int64_t rate = 0;                    // bytes per sample, which is the sampling error: see unsample()
  std::optional<std::uint32_t> collection;  // the one that `live` is from; none: not known
  std::uint64_t load_bias = 0;              // pcs minus this are addresses in the executable
  std::vector<HeapHolding> holdings;
  PcPool pcs;
  // Where holdings overlap (a list with what it holds, and the same objects by type): what the process holds in all.
  std::optional<std::uint64_t> whole_bytes;
  // Where only the largest holdings are listed: one that is not holds this at most.
  std::uint64_t unlisted_bytes = 0;
  std::string summary;                         // for a human, printable
  static constexpr std::size_t kMaxFacts = 8;  // that a reader is sent
  std::vector<std::string> facts;              // how it was read, for a profile's comments

  [[nodiscard]] std::span<const std::uint64_t> pcs_of(const HeapHolding& holding) const {
    return pcs.at(holding.first_pc, holding.pc_count);
  }
};

// Sums over all holdings, scaled as in a profile; saturating.
struct HeapTotals {
  std::uint64_t held_bytes = 0;
  std::uint64_t live_bytes = 0;
};
[[nodiscard]] HeapTotals totals_of(const HeapReading& reading);

}  // namespace oomw
