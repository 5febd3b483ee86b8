// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/shapes.h"

#include <algorithm>

#include "runtimes/native/words.h"

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kTagMask = 3, kTag = 1;
constexpr std::size_t kLeastReferences = 30;  // to the map of maps, from its own block: 600 were seen
constexpr std::uint32_t kLeastMapBytes = 40, kMostMapBytes = 160;

bool may_hold_heap(const Mapping& mapping) {
  const bool is_nameless = mapping.name.empty() || mapping.name.starts_with("[anon:");
  return is_nameless && mapping.is_readable && !mapping.is_executable && !mapping.is_shared && !mapping.has_file();
}

void add_blocks(const AddressSpace& space, const Mapping& mapping, std::vector<PageRange>& blocks) {
  std::uint64_t at = (mapping.begin + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  while (at < mapping.end) {
    const auto present = space.present().ranges_in(at, mapping.end);
    if (present.empty()) break;
    at = std::max(at, present.front().begin / kBlockBytes * kBlockBytes);
    const std::uint64_t end = std::min(mapping.end, at + kBlockBytes);
    if (space.present().bytes_in(at, end) > 0) blocks.push_back({at, end});
    at = end;
  }
}

// Of the map that begins at words[at].
Shape shape_at(std::uint64_t address, std::span<const std::uint64_t> words, std::size_t at,
               const Constants& constants) {
  const std::span<const std::byte> bytes = std::as_bytes(words.subspan(at));
  Shape shape;
  shape.map = address + at * 8 + kTag;
  shape.type = native::number_at<std::uint16_t>(bytes, constants.map_type);
  shape.bytes = 8u * native::number_at<std::uint8_t>(bytes, constants.map_words);
  return shape;
}

}  // namespace

std::vector<PageRange> candidate_blocks(const AddressSpace& space) {
  std::vector<PageRange> blocks;
  for (const bool is_writable : {false, true}) {
    for (const Mapping& mapping : space.map().mappings()) {
      if (may_hold_heap(mapping) && mapping.is_writable == is_writable) add_blocks(space, mapping, blocks);
    }
  }
  return blocks;
}

std::vector<PageRange> possible_heap(const MemoryMap& map) {
  std::vector<PageRange> ranges;
  for (const Mapping& mapping : map.mappings()) {
    if (may_hold_heap(mapping)) ranges.push_back({mapping.begin, mapping.end});
  }
  return ranges;
}

Result<> read_block(const AddressSpace& space, PageRange block, std::vector<std::uint64_t>& words) {
  words.resize(block.size() / 8);
  const auto read = space.read_present(block.begin, std::as_writable_bytes(std::span(words)));
  if (!read.has_value()) return tl::unexpected(read.error());
  return {};
}

std::size_t Shapes::slot_of(std::uint64_t tagged) const {
  std::size_t slot = (tagged >> 3) * 0x9E3779B97F4A7C15ull >> 46;
  while (slots_[slot] != kNone && shapes_[slots_[slot]].map != tagged) slot = (slot + 1) % kSlots;
  return slot;
}

std::uint32_t Shapes::index_of(std::uint64_t tagged) const {
  if ((tagged & kTagMask) != kTag || !near_->test(tagged / kBlockBytes % near_->size())) return kNone;
  return slots_[slot_of(tagged)];
}

const Shape* Shapes::at(std::uint64_t tagged) const {
  const std::uint32_t index = index_of(tagged);
  return index == kNone ? nullptr : &shapes_[index];
}

bool Shapes::is_meta(std::uint64_t tagged) const { return std::ranges::find(meta_maps_, tagged) != meta_maps_.end(); }

bool Shapes::add(const Shape& shape) {
  const std::size_t slot = slot_of(shape.map);
  if (slots_[slot] != kNone) return true;
  if (shapes_.size() >= kMaxShapes) return false;
  slots_[slot] = static_cast<std::uint32_t>(shapes_.size());
  near_->set(shape.map / kBlockBytes % near_->size());
  shapes_.push_back(shape);
  return true;
}

// Whether a map of maps was found that was not known before.
bool Shapes::scan(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants) {
  bool is_new = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t self = address + i * 8 + kTag;
    if (words[i] != self || is_meta(self) || meta_maps_.size() >= kMaxMetaMaps) continue;
    const Shape shape = shape_at(address, words, i, constants);
    const bool is_sound =
        shape.type == constants.type_map && shape.bytes >= kLeastMapBytes && shape.bytes <= kMostMapBytes;
    if (!is_sound ||
        (meta_maps_.empty() && static_cast<std::size_t>(std::ranges::count(words, self)) < kLeastReferences)) {
      continue;
    }
    meta_maps_.push_back(self);
    is_new = true;
  }
  if (meta_maps_.empty()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((words[i] & kTagMask) != kTag || !is_meta(words[i])) continue;
    if (!add(shape_at(address, words, i, constants))) is_full_ = true;
  }
  return is_new;
}

Result<Shapes> Shapes::find(const AddressSpace& space, const Constants& constants, std::span<const PageRange> blocks) {
  Shapes shapes;
  std::vector<std::uint64_t> words;
  // Blocks before the last new map of maps are read again, as its maps may lie there.
  std::size_t again = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    RETURN_IF_ERROR(read_block(space, blocks[i], words));
    if (shapes.scan(blocks[i].begin, words, constants)) again = i;
  }
  for (std::size_t i = 0; i < again; ++i) {
    RETURN_IF_ERROR(read_block(space, blocks[i], words));
    (void)shapes.scan(blocks[i].begin, words, constants);
  }
  if (shapes.meta_maps_.empty()) return fail(ErrorCode::kNotFound, "no heap of V8");
  if (shapes.is_full_) return fail(ErrorCode::kLimit, "more object shapes than are read");
  return shapes;
}

}  // namespace oomw::v8
