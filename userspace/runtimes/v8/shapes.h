// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/v8/constants.h"

namespace oomw::v8 {

// V8 takes its heap in pieces of this size, aligned to it.
inline constexpr std::uint64_t kBlockBytes = 256u << 10;

// Pieces of mappings that may be V8's heap: private, without a file or a name, aligned as V8 aligns; those that may not
// be written come first, as V8 keeps what never changes there.
[[nodiscard]] std::vector<PageRange> candidate_blocks(const AddressSpace& space);

// The mappings that may be, in order of address.
[[nodiscard]] std::vector<PageRange> possible_heap(const MemoryMap& map);

// kMapOfNoted: a closer look is taken at it, also at objects whose properties are a table.
// What the size of an object follows from: its map, which may be all that there is to know of it, or its own length.
enum class Extent : std::uint8_t { kMap, kMapOfNoted, kString, kFreeSpace, kWords, kBytes, kProperties, kDescriptors };

// What one of V8's maps says of the objects that point to it. 16 bytes, as each object is looked up.
struct Shape {
  std::uint64_t map = 0;  // tagged, as objects have it in their first word; 0: none
  std::uint32_t index = 0;
  std::uint16_t type = 0;
  std::uint8_t words = 0;  // of an object; 0: its own length says
  Extent extent = Extent::kMap;
  [[nodiscard]] std::uint32_t bytes() const { return 8u * words; }
};

// Of the map at that place, whose words these are.
[[nodiscard]] Shape shape_of_map(std::uint64_t tagged, std::span<const std::uint64_t> map, const Constants& constants);

// Words of a map that its shape follows from.
[[nodiscard]] std::size_t words_of_shape(const Constants& constants);

// The maps of a heap that were found so far. The map of a map points to itself; whatever points to such a one is a map.
//
// - Bounded: kMaxShapes, kMaxMetaMaps. Borrows nothing.
class Shapes {
 public:
  static constexpr std::size_t kMaxShapes = 256u << 10, kMaxMetaMaps = 32;

  Shapes() : near_(std::make_unique<Near>()), slots_(kLeastSlots) {}

  // Takes the maps among the words of a block that begins at `address`. Whether a map of maps was among them that was
  // not known before: blocks that were searched before may have maps of it.
  [[nodiscard]] bool scan(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants);

  // Takes one map: its words from its first one on, which points to a map of maps.
  void take(std::uint64_t tagged, std::span<const std::uint64_t> map, const Constants& constants);

  // Takes a map of maps, if the words there are one: it points to itself. For who came to it by an object, and so does
  // not search for it.
  void take_meta(std::uint64_t tagged, std::span<const std::uint64_t> map, const Constants& constants);

  // tagged: any word. nullptr: no map that is known; valid until another one is taken.
  [[nodiscard]] const Shape* at(std::uint64_t tagged) const {
    if ((tagged & kTagMask) != kTag || !near_->test(tagged / kBlockBytes % near_->size())) return nullptr;
    const Shape& found = slots_[slot_of(tagged)];
    return found.map == 0 ? nullptr : &found;
  }
  [[nodiscard]] bool is_meta(std::uint64_t tagged) const;
  [[nodiscard]] std::size_t meta_maps() const { return meta_maps_.size(); }
  [[nodiscard]] const std::vector<Shape>& all() const { return shapes_; }  // by index
  [[nodiscard]] bool is_full() const { return is_full_; }  // there are more maps, which are not known then

 private:
  using Near = std::bitset<1u << 20>;
  static constexpr std::uint64_t kTagMask = 3, kTag = 1;
  // A heap has 5,000 maps or 100,000. All that an object's size follows from lies in one slot, and maps that lie
  // together, as those do that were made one after another, share cache lines: a random one costs more than all else.
  static constexpr std::size_t kLeastSlots = 1u << 11, kGrowth = 4, kSlotsOfShape = 2, kGroupSlots = 16;
  static constexpr std::uint64_t kGroupBytes = 1024;

  [[nodiscard]] std::size_t slot_of(std::uint64_t tagged) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t group = tagged / kGroupBytes * 0x9E3779B97F4A7C15ull >> 32;
    std::size_t slot = (group * kGroupSlots + tagged % kGroupBytes / (kGroupBytes / kGroupSlots)) & mask;
    while (slots_[slot].map != 0 && slots_[slot].map != tagged) slot = (slot + 1) & mask;
    return slot;
  }
  void find_meta_maps(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants);

  std::vector<std::uint64_t> meta_maps_;
  std::vector<Shape> shapes_;
  std::unique_ptr<Near>
      near_;                  // blocks in which maps lie, by the low bits of their numbers: most words point elsewhere
  std::vector<Shape> slots_;  // by address
  bool is_full_ = false;
};

// Reads a block, zeros where nothing is present.
[[nodiscard]] Result<> read_block(const AddressSpace& space, PageRange block, std::vector<std::uint64_t>& words);

}  // namespace oomw::v8
