// SPDX-License-Identifier: Apache-2.0
#include "runtimes/heap_reading.h"

#include <cmath>
#include <limits>

#include "base/result.h"

namespace oomw {
namespace {

void add_saturating(std::uint64_t& sum, std::int64_t bytes) {
  if (__builtin_add_overflow(sum, static_cast<std::uint64_t>(bytes), &sum)) {
    sum = std::numeric_limits<std::uint64_t>::max();
  }
}

}  // namespace

HeapAmount unsample(const HeapAmount& sampled, std::int64_t rate) {
  if (sampled.objects == 0 || sampled.bytes == 0) return {};
  if (rate <= 1) return sampled;
  const double average = static_cast<double>(sampled.bytes) / static_cast<double>(sampled.objects);
  const double scale = 1 / (1 - std::exp(-average / static_cast<double>(rate)));
  // A hostile count may not fit; converting it would be undefined.
  const auto truncate = [](double value) {
    return value < 0x1p63 ? static_cast<std::int64_t>(value) : std::int64_t{0x7fffffffffffffff};
  };
  return {truncate(static_cast<double>(sampled.objects) * scale), truncate(static_cast<double>(sampled.bytes) * scale)};
}

double bytes_per_sample(std::uint64_t block_bytes, std::int64_t rate) {
  const auto size = static_cast<double>(block_bytes);
  if (rate <= 1 || block_bytes == 0) return size;
  return size / -std::expm1(-size / static_cast<double>(rate));
}

std::uint32_t PcPool::append(std::span<const std::uint64_t> stack) {
  OOMW_CHECK(stack.size() <= kChunkPcs);
  if (chunks_.empty()) {
    chunks_.emplace_back();
  } else if (chunks_.back().size() + stack.size() > kChunkPcs) {
    chunks_.emplace_back().reserve(kChunkPcs);
  }
  std::vector<std::uint64_t>& chunk = chunks_.back();
  const std::size_t first = (chunks_.size() - 1) * kChunkPcs + chunk.size();
  chunk.insert(chunk.end(), stack.begin(), stack.end());
  size_ += stack.size();
  return static_cast<std::uint32_t>(first);
}

HeapTotals totals_of(const HeapReading& reading) {
  HeapTotals totals;
  for (const HeapHolding& holding : reading.holdings) {
    add_saturating(totals.held_bytes, unsample(holding.held, reading.rate).bytes);
    add_saturating(totals.live_bytes, unsample(holding.live, reading.rate).bytes);
  }
  return totals;
}

}  // namespace oomw
