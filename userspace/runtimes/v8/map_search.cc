// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/map_search.h"

#include <algorithm>

namespace oomw::v8 {

MapSearch::MapSearch(const AddressSpace& space, const Constants& constants, std::span<const PageRange> blocks)
    : space_(space), constants_(constants), pending_(std::make_unique<Pending>()) {
  for (const PageRange& range : blocks) {
    blocks_.push_back({range});
    pending_->set(range.begin / kBlockBytes % pending_->size());
  }
  std::ranges::sort(blocks_, {}, [](const Block& block) { return block.range.begin; });
}

MapSearch::Block* MapSearch::pending_at(std::uint64_t address) {
  if (!pending_->test(address / kBlockBytes % pending_->size())) return nullptr;
  const auto after =
      std::ranges::upper_bound(blocks_, address, {}, [](const Block& block) { return block.range.begin; });
  if (after == blocks_.begin()) return nullptr;
  Block& block = *std::prev(after);
  return block.is_searched || address >= block.range.end ? nullptr : &block;
}

void MapSearch::scan(Block& block) {
  const bool is_first = searched_++ == 0;
  block.is_searched = true;
  if (read_.has_value()) read_ = read_block(space_, block.range, words_);
  if (!read_.has_value()) {
    may_read_ = false;
    return;
  }
  if (shapes_.scan(block.range.begin, words_, constants_) && !is_first) is_outdated_ = true;
}

void MapSearch::scan_again() {
  is_outdated_ = false;
  for (Block& block : blocks_) {
    if (block.is_searched) scan(block);
  }
}

std::uint32_t MapSearch::index_after(Block& block, std::uint64_t tagged) {
  scan(block);
  if (is_outdated_ && repeats_ < kMaxRepeats) {
    ++repeats_;
    scan_again();
  }
  return shapes_.index_of(tagged);
}

std::uint64_t MapSearch::word_at(std::uint64_t tagged) const {
  const std::uint64_t address = tagged - 1;
  std::uint64_t word = 0;
  const bool is_present = (tagged & 3) == 1 && space_.present().bytes_in(address, address + 8) == 8;
  if (!is_present) return 0;
  const auto read = space_.read_some(address, std::as_writable_bytes(std::span(&word, 1)));
  return read.has_value() && *read == sizeof word ? word : 0;
}

std::uint32_t MapSearch::search(std::uint64_t tagged) {
  if (shapes_.is_full()) return Shapes::kNone;
  // An object's first word points to a map that is known, or will be when the object is counted.
  const std::uint64_t map = word_at(tagged);
  if (!shapes_.is_meta(map)) {
    if (shapes_.at(map) != nullptr || map == 0 || word_at(map) != map) return Shapes::kNone;
    if (Block* other = pending_at(map - 1)) (void)index_after(*other, tagged);
  }
  Block* block = pending_at(tagged - 1);
  return block == nullptr ? shapes_.index_of(tagged) : index_after(*block, tagged);
}

Result<> MapSearch::settle() {
  for (Block& block : blocks_) {
    if (!block.is_searched) scan(block);
  }
  if (is_outdated_) scan_again();
  may_read_ = false;
  return status();
}

Result<> MapSearch::status() const { return read_; }

Result<MapSearch> MapSearch::begin(const AddressSpace& space, const Constants& constants,
                                   std::span<const PageRange> blocks) {
  MapSearch search(space, constants, blocks);
  // In the order given: what never changes comes first, and with it a map of maps.
  for (const PageRange& range : blocks) {
    if (search.shapes_.meta_maps() > 0) break;
    if (Block* block = search.pending_at(range.begin)) search.scan(*block);
  }
  RETURN_IF_ERROR(search.status());
  if (search.shapes_.meta_maps() == 0) return fail(ErrorCode::kNotFound, "no heap of V8");
  return search;
}

}  // namespace oomw::v8
