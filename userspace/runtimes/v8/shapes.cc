// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/shapes.h"

#include <algorithm>
#include <string_view>

#include "runtimes/native/words.h"

namespace oomw::v8 {
namespace {

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

// Calls take(i) for every i of which differ(i) is 0. That is seldom any, so words are first looked at in groups,
// without a branch for each: all of a heap goes through here.
template <typename Differ, typename Take>
void for_each_place(std::span<const std::uint64_t> words, const Differ& differ, const Take& take) {
  constexpr std::size_t kGroup = 64;
  for (std::size_t begin = 0; begin < words.size(); begin += kGroup) {
    const std::size_t end = std::min(begin + kGroup, words.size());
    bool is_any = false;
    for (std::size_t i = begin; i < end; ++i) is_any |= differ(i) == 0;
    for (std::size_t i = begin; is_any && i < end; ++i) {
      if (differ(i) == 0) take(i);
    }
  }
}

Extent extent_of(const Constants& constants, const Shape& shape, bool is_table) {
  const bool is_noted =
      shape.type == constants.type_map || shape.type == constants.type_buffer || shape.type == constants.type_free;
  if (shape.words != 0) return is_noted || is_table ? Extent::kMapOfNoted : Extent::kMap;
  if (shape.type < constants.first_non_string) return Extent::kString;
  if (shape.type == constants.type_free) return Extent::kFreeSpace;
  const auto name = constants.type_names.find(shape.type);
  const std::string_view type = name == constants.type_names.end() ? "" : std::string_view(name->second);
  if (type == "ByteArray" || type == "BytecodeArray") return Extent::kBytes;
  if (type == "PropertyArray") return Extent::kProperties;
  if (type == "DescriptorArray" || type == "StrongDescriptorArray") return Extent::kDescriptors;
  return Extent::kWords;
}

}  // namespace

Shape shape_of_map(std::uint64_t tagged, std::span<const std::uint64_t> map, const Constants& constants) {
  const std::span<const std::byte> bytes = std::as_bytes(map);
  Shape shape;
  shape.map = tagged;
  shape.type = native::number_at<std::uint16_t>(bytes, constants.map_type);
  shape.words = native::number_at<std::uint8_t>(bytes, constants.map_words);
  const Constants::Names& names = constants.names;
  const bool is_table = names.is_known && shape.type == names.type_object &&
                        (native::number_at<std::uint32_t>(bytes, names.map_bits) >> names.dictionary_shift & 1) != 0;
  shape.extent = extent_of(constants, shape, is_table);
  return shape;
}

std::size_t words_of_shape(const Constants& constants) {
  return std::max({constants.map_type, constants.map_words, constants.names.map_bits}) / 8 + 1;
}

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

bool Shapes::is_meta(std::uint64_t tagged) const { return std::ranges::find(meta_maps_, tagged) != meta_maps_.end(); }

void Shapes::take(std::uint64_t tagged, std::span<const std::uint64_t> map, const Constants& constants) {
  const std::size_t slot = slot_of(tagged);
  if (slots_[slot].map != 0) return;
  if (shapes_.size() >= kMaxShapes) {
    is_full_ = true;
    return;
  }
  shapes_.push_back(shape_of_map(tagged, map, constants));
  shapes_.back().index = static_cast<std::uint32_t>(shapes_.size() - 1);
  near_->set(tagged / kBlockBytes % near_->size());
  if (shapes_.size() * kSlotsOfShape <= slots_.size()) {
    slots_[slot] = shapes_.back();
    return;
  }
  slots_.assign(slots_.size() * kGrowth, {});
  for (const Shape& shape : shapes_) slots_[slot_of(shape.map)] = shape;
}

void Shapes::take_meta(std::uint64_t tagged, std::span<const std::uint64_t> map, const Constants& constants) {
  if (map.empty() || map.front() != tagged || is_meta(tagged) || meta_maps_.size() >= kMaxMetaMaps) return;
  const Shape shape = shape_of_map(tagged, map, constants);
  const bool is_sound =
      shape.type == constants.type_map && shape.bytes() >= kLeastMapBytes && shape.bytes() <= kMostMapBytes;
  if (is_sound) meta_maps_.push_back(tagged);
}

void Shapes::find_meta_maps(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants) {
  const auto take = [&](std::size_t at) {
    const std::uint64_t self = address + at * 8 + kTag;
    const bool is_used =
        !meta_maps_.empty() || static_cast<std::size_t>(std::ranges::count(words, self)) >= kLeastReferences;
    if (is_used) take_meta(self, words.subspan(at), constants);
  };
  for_each_place(
      words, [&](std::size_t at) { return words[at] - (address + at * 8 + kTag); }, take);
}

bool Shapes::scan(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants) {
  const std::size_t known = meta_maps_.size();
  find_meta_maps(address, words, constants);
  for (const std::uint64_t meta : meta_maps_) {
    for_each_place(
        words, [&](std::size_t at) { return words[at] ^ meta; },
        [&](std::size_t at) { take(address + at * 8 + kTag, words.subspan(at), constants); });
  }
  return meta_maps_.size() > known;
}

}  // namespace oomw::v8
