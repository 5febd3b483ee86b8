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
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {

// Finds V8's maps where objects point to them. Maps lie together in few blocks, and reading is most of what a census
// costs; so a block is searched for maps when the first word that may be a reference to one points into it, instead of
// all of the heap in a pass of its own (which took 0.45 of 1.15 ms a MiB).
//
// - A map of maps is found where it was: in a block that is searched, or behind a reference that leads to no known map.
//   Objects that were looked up before may be of its maps: meta_maps() has grown then, and the census begins again.
// - settle() searches all that is left, in at most two passes, and nothing is found afterwards: for heaps with many
// maps
//   of maps, and where too little of the heap is explained.
// - After an error of a read everything is unknown, and status() has it.
// Borrows space and constants.
class MapSearch {
 public:
  // kNotFound: no heap of V8. blocks: as candidate_blocks() has them.
  [[nodiscard]] static Result<MapSearch> begin(const AddressSpace& space, const Constants& constants,
                                               std::span<const PageRange> blocks);

  // Its number in shapes().all(), or kNone. tagged: any word. is_behind_object: an object ended before it, so it is
  // likely the next one's reference to its map.
  [[nodiscard]] std::uint32_t find(std::uint64_t tagged, bool is_behind_object) {
    const std::uint32_t index = shapes_.index_of(tagged);
    if (index != Shapes::kNone || (tagged & 3) != 1 || !may_read_) return index;
    if (tagged < kBlockBytes || misses_ >= (is_behind_object ? kMissesBehindObjects : kMisses)) return Shapes::kNone;
    ++misses_;
    return search(tagged);
  }
  // Another block's words are looked up from here on. A word that is no known map costs one read or two, so few of a
  // block are followed: memory of C++ is full of references to objects.
  void start_block() { misses_ = 0; }
  [[nodiscard]] Result<> settle();

  [[nodiscard]] bool is_settled() const { return !may_read_; }

  [[nodiscard]] const Shapes& shapes() const { return shapes_; }
  [[nodiscard]] Result<> status() const;

 private:
  static constexpr int kMisses = 8, kMissesBehindObjects = 256;  // of a block
  static constexpr int kMaxRepeats =
      4;  // of blocks that were searched without a map of maps; the rest settle() repeats
  struct Block {
    PageRange range;
    bool is_searched = false;
  };
  using Pending = std::bitset<1u << 20>;

  MapSearch(const AddressSpace& space, const Constants& constants, std::span<const PageRange> blocks);
  [[nodiscard]] std::uint32_t search(std::uint64_t tagged);
  [[nodiscard]] std::uint64_t word_at(std::uint64_t tagged) const;  // 0: nothing there
  [[nodiscard]] Block* pending_at(std::uint64_t address);
  void scan(Block& block);
  void scan_again();
  [[nodiscard]] std::uint32_t index_after(Block& block, std::uint64_t tagged);

  const AddressSpace& space_;
  const Constants& constants_;
  Shapes shapes_;
  std::vector<Block> blocks_;         // by address
  std::unique_ptr<Pending> pending_;  // not searched yet, by the low bits of a block's number
  std::vector<std::uint64_t> words_;  // of the block at hand
  std::size_t searched_ = 0;
  int misses_ = 0, repeats_ = 0;
  bool is_outdated_ = false;  // a block was searched before a map of maps was known
  bool may_read_ = true;
  Result<> read_;
};

}  // namespace oomw::v8
