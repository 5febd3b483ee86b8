// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/map_search.h"

#include <algorithm>

namespace oomw::v8 {

MapSearch::MapSearch(const AddressSpace& space, const Constants& constants, std::span<const PageRange> blocks)
    : space_(space),
      constants_(constants),
      candidates_(std::make_unique<Candidates>()),
      map_(words_of_shape(constants)) {
  for (const PageRange& range : blocks) {
    blocks_.push_back({range});
    candidates_->set(range.begin / kBlockBytes % candidates_->size());
  }
  std::ranges::sort(blocks_, {}, [](const Block& block) { return block.range.begin; });
}

MapSearch::Block* MapSearch::block_at(std::uint64_t address) {
  if (!candidates_->test(address / kBlockBytes % candidates_->size())) return nullptr;
  const auto after =
      std::ranges::upper_bound(blocks_, address, {}, [](const Block& block) { return block.range.begin; });
  if (after == blocks_.begin()) return nullptr;
  Block& block = *std::prev(after);
  return address >= block.range.end ? nullptr : &block;
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

// Whatever was searched may have maps of the map of maps that was found meanwhile.
void MapSearch::repeat() {
  if (!is_outdated_ || repeats_ == kMaxRepeats) return;
  is_outdated_ = false;
  ++repeats_;
  for (Block& block : blocks_) block = {block.range};
}

bool MapSearch::read_words(std::uint64_t tagged, std::span<std::uint64_t> words) const {
  const std::uint64_t address = tagged - 1, end = address + words.size_bytes();
  const bool is_present = (tagged & 3) == 1 && space_.present().bytes_in(address, end) == words.size_bytes();
  if (!is_present) return false;
  const auto read = space_.read_some(address, std::as_writable_bytes(words));
  return read.has_value() && *read == words.size_bytes();
}

// tagged: a map in it, the words of which are in map_.
void MapSearch::search_around(Block& block, std::uint64_t tagged) {
  if (block.is_searched || block.singles < kSingles || !may_take_unused()) {
    ++block.singles;
    shapes_.take(tagged, map_, constants_);
    return;
  }
  scan(block);
  repeat();
}

Shape MapSearch::search(std::uint64_t tagged, bool is_due) {
  ++misses_;
  Block* block = block_at(tagged - 1);
  if (block == nullptr || shapes_.is_full()) return {};
  // What begins there is known, but for maps of a map of maps that is not, or that the process has made since.
  const bool is_known = (block->is_searched || block->is_walked) && !is_due;
  if (is_known && ++misses_in_known_ > kMissesInKnown && !is_often(tagged)) return {};
  if (!read_words(tagged, map_)) return {};
  // An object's first word points to a map that is known, or will be when the object is counted.
  const std::uint64_t meta = map_.front();
  if (!shapes_.is_meta(meta)) {
    std::uint64_t itself = 0;
    const bool is_new = shapes_.at(meta) == nullptr && read_words(meta, std::span(&itself, 1)) && itself == meta;
    Block* other = is_new ? block_at(meta - 1) : nullptr;
    if (other != nullptr && !other->is_searched) {
      scan(*other);
      repeat();
    }
  }
  if (shapes_.is_meta(meta)) search_around(*block, tagged);
  const Shape* found = shapes_.at(tagged);
  if (found == nullptr) return {};
  --misses_;
  return *found;
}

void MapSearch::end_block(PageRange range) {
  if (Block* block = block_at(range.begin)) block->is_walked = true;
}

Result<> MapSearch::settle() {
  for (Block& block : blocks_) {
    if (!block.is_searched) scan(block);
  }
  if (is_outdated_) {
    for (Block& block : blocks_) scan(block);
  }
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
    if (Block* block = search.block_at(range.begin)) search.scan(*block);
  }
  search.repeat();
  RETURN_IF_ERROR(search.status());
  if (search.shapes_.meta_maps() == 0) return fail(ErrorCode::kNotFound, "no heap of V8");
  return search;
}

}  // namespace oomw::v8
