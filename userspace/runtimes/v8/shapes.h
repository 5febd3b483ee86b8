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

// What one of V8's maps says of the objects that point to it.
struct Shape {
  std::uint64_t map = 0;    // tagged, as objects have it in their first word
  std::uint32_t bytes = 0;  // of an object; 0: its own length says
  std::uint16_t type = 0;
};

// The maps of a heap that were found so far. The map of a map points to itself; whatever points to such a one is a map.
//
// - Bounded: kMaxShapes, kMaxMetaMaps. Borrows nothing.
class Shapes {
 public:
  static constexpr std::size_t kMaxShapes = 256u << 10, kMaxMetaMaps = 32;

  Shapes() : near_(std::make_unique<Near>()), slots_(kLeastSlots, kNone) {}

  // Takes the maps among the words of a block that begins at `address`. Whether a map of maps was among them that was
  // not known before: blocks that were searched before may have maps of it.
  [[nodiscard]] bool scan(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants);

  // Its number in all(), or kNone. tagged: any word.
  [[nodiscard]] std::uint32_t index_of(std::uint64_t tagged) const;
  [[nodiscard]] const Shape* at(std::uint64_t tagged) const;
  [[nodiscard]] bool is_meta(std::uint64_t tagged) const;
  [[nodiscard]] std::size_t meta_maps() const { return meta_maps_.size(); }
  [[nodiscard]] const std::vector<Shape>& all() const { return shapes_; }
  [[nodiscard]] bool is_full() const { return is_full_; }  // there are more maps, which are not known then

  static constexpr std::uint32_t kNone = 0xffffffff;

 private:
  using Near = std::bitset<1u << 20>;
  // A heap has some 5,000 maps: a small table stays in the processor's cache while all objects are looked up.
  static constexpr std::size_t kLeastSlots = 1u << 10, kSlotsOfShape = 4;

  void find_meta_maps(std::uint64_t address, std::span<const std::uint64_t> words, const Constants& constants);
  [[nodiscard]] bool add(const Shape& shape);
  void put_in_slot(std::uint32_t index);
  [[nodiscard]] std::size_t slot_of(std::uint64_t tagged) const;

  std::vector<std::uint64_t> meta_maps_;
  std::vector<Shape> shapes_;
  std::unique_ptr<Near>
      near_;  // blocks in which maps lie, by the low bits of their numbers: most words point elsewhere
  std::vector<std::uint32_t> slots_;
  bool is_full_ = false;
};

// Reads a block, zeros where nothing is present.
[[nodiscard]] Result<> read_block(const AddressSpace& space, PageRange block, std::vector<std::uint64_t>& words);

}  // namespace oomw::v8
