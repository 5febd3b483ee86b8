// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_snapshot.h"

#include <array>
#include <cmath>

namespace oomw::go {

std::string_view to_string(RecordLayout layout) {
  static constexpr std::array<std::string_view, 4> kNames = {"no_data", "objects_and_bytes", "objects", "unknown"};
  return kNames[static_cast<std::size_t>(layout)];
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

Counts operator+(const Counts& a, const Counts& b) {
  return {a.allocs + b.allocs, a.frees + b.frees, a.alloc_bytes + b.alloc_bytes, a.free_bytes + b.free_bytes};
}

namespace {

std::int64_t difference(std::uint64_t more, std::uint64_t less) {
  const auto value = static_cast<std::int64_t>(more - less);
  return value > 0 ? value : 0;
}

}  // namespace

Amount in_use(const Counts& counts) {
  return {difference(counts.allocs, counts.frees), difference(counts.alloc_bytes, counts.free_bytes)};
}

Amount allocated(const Counts& counts) { return {difference(counts.allocs, 0), difference(counts.alloc_bytes, 0)}; }

Amount unsample(const Amount& sampled, std::int64_t rate) {
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

}  // namespace oomw::go
