// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/pointer_bits.h"

#include <array>
#include <vector>

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kBitmapBytes = kGoPageBytes / 64;
constexpr std::array<std::uint64_t, 2> kPlaces = {kBitmapBytes, 2 * kBitmapBytes};

bool bit(std::span<const std::byte> page, std::uint64_t from_end, std::uint64_t word) {
  const auto byte = page[page.size() - from_end + word / 8];
  return (byte & std::byte{1} << (word % 8)) != std::byte{0};
}

}  // namespace

PointerBits PointerBits::find(const SpanTable& spans, CachedReader& memory) {
  constexpr std::size_t kMaxSpans = 64, kEnough = 50;
  PointerBits found;
  if (!spans.layout().has_type_headers) return found;
  std::array<std::size_t, 2> marked{};
  std::size_t pointers = 0, read = 0;
  std::vector<std::byte> page(kGoPageBytes);
  const std::size_t step = std::max<std::size_t>(1, spans.spans().size() / 512);
  for (std::size_t i = 0; i < spans.spans().size() && read < kMaxSpans; i += step) {
    const Span& span = spans.spans()[i];
    if (!span.has_pointers() || span.pages != 1 || span.slot_bytes < 16 || span.slot_bytes > kLargestInSpan) continue;
    ++read;
    if (!memory.read(span.start, page).has_value()) return found;
    const std::uint64_t used = std::min<std::uint64_t>(span.slots * span.slot_bytes, kGoPageBytes - 2 * kBitmapBytes);
    for (std::uint64_t at = 0; at + 8 <= used; at += 8) {
      if (spans.is_free(span, span.start + at / span.slot_bytes * span.slot_bytes)) continue;
      const auto word = value_at<std::uint64_t>(page, at);
      const auto target = spans.object_at(word);
      if (!target || target->base != word) continue;
      ++pointers;
      for (std::size_t p = 0; p < kPlaces.size(); ++p) marked[p] += bit(page, kPlaces[p], at / 8) ? 1 : 0;
    }
  }
  const std::size_t best = marked[1] > marked[0] ? 1 : 0;
  if (pointers >= kEnough && marked[best] * 10 >= pointers * 9) found.from_end_ = kPlaces[best];
  return found;
}

bool PointerBits::may_point(const SpanTable& spans, TypeTable& types, const Span& span, std::uint64_t base,
                            std::uint64_t address, std::span<const std::byte> block,
                            std::uint64_t block_address) const {
  if (!spans.layout().has_type_headers) return true;
  if (span.slot_bytes <= kLargestInSpan) {
    const std::uint64_t at = span.start - block_address;
    const bool is_whole = span.start >= block_address && at + kGoPageBytes <= block.size();
    if (from_end_ == 0 || span.pages != 1 || span.slot_bytes < 16 || !is_whole) return true;
    return bit(block.subspan(at, kGoPageBytes), from_end_, (address - span.start) / 8);
  }
  std::uint64_t offset = address - base;
  std::uint64_t type_address = span.large_type;
  if (!span.is_large()) {
    if (offset < 8) return false;  // the type's own address
    offset -= 8;
    if (base < block_address || base - block_address + 8 > block.size()) return true;
    type_address = value_at<std::uint64_t>(block, base - block_address);
  }
  const Type* type = types.at(type_address);
  return !type || types.may_point(*type, offset);
}

}  // namespace oomw::go::retention
