// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
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

// Finds V8's maps where objects point to them, in place of all of the heap in a pass of its own (which took 0.45
// of 1.15 ms a MiB). Up to Node 18 they lie together in few blocks, since then anywhere among the objects: so a map is
// read by itself, and a block of which many were is searched for the rest.
//
// - A map that the census comes across is taken from what it reads: of blocks behind it, few are missing.
// - A map of maps is found where it was: in a block that is searched, or behind a reference that leads to no known map.
//   Objects that were looked up before may be of its maps: meta_maps() has grown then, and the census begins again.
// - settle() searches all that is left, in at most two passes, and nothing is found afterwards: for heaps with many
//   maps of maps, and where too little of the heap is explained.
// - After an error of a read everything is unknown, and status() has it.
// Borrows space and constants.
class MapSearch {
 public:
  // kNotFound: no heap of V8. blocks: as candidate_blocks() has them.
  [[nodiscard]] static Result<MapSearch> begin(const AddressSpace& space, const Constants& constants,
                                               std::span<const PageRange> blocks);

  // tagged: any word. is_behind_object: an object ended before it, so it is likely the next one's reference to its map.
  [[nodiscard]] Shape find(std::uint64_t tagged, bool is_behind_object) {
    if (const Shape* known = shapes_.at(tagged)) return *known;
    if ((tagged & 3) != 1 || !may_read_ || tagged < kBlockBytes) return {};
    const bool is_spent = misses_ >= (is_behind_object ? kMissesBehindObjects : kMisses);
    if (is_spent && !is_often(tagged)) return {};
    return search(tagged, is_spent);
  }
  // Another block's words are looked up from here on. A word that is no known map costs one read or two, so few of a
  // block are followed: memory of C++ is full of references to objects. What comes often is followed nevertheless: it
  // may be the map of all objects behind some words that led nowhere.
  void start_block() {
    misses_ = misses_in_known_ = often_ = 0;
    skipped_.fill({});
  }
  // The census came across a map, whose words these are; it is not read again.
  void take(std::uint64_t tagged, std::span<const std::uint64_t> map) {
    if (may_take_unused()) shapes_.take(tagged, map, constants_);
  }
  // All objects that begin in it were looked up.
  void end_block(PageRange block);
  [[nodiscard]] Result<> settle();

  [[nodiscard]] bool is_settled() const { return !may_read_; }

  [[nodiscard]] const Shapes& shapes() const { return shapes_; }
  [[nodiscard]] Result<> status() const;

 private:
  static constexpr int kMisses = 8, kMissesBehindObjects = 256, kMissesInKnown = 2;  // of a block
  static constexpr std::uint32_t kOften = 8;                                         // times in a block
  static constexpr int kMostOften = 16;                                              // such words of a block
  // After so many maps of a block that were read one by one, reading all of it costs less.
  static constexpr int kSingles = 32;
  static constexpr int kMaxRepeats = 4;  // for a new map of maps; the rest settle() repeats
  // The last quarter of what may be known is for maps that an object was seen to have.
  [[nodiscard]] bool may_take_unused() const { return shapes_.all().size() < Shapes::kMaxShapes * 3 / 4; }
  struct Block {
    PageRange range;
    int singles = 0;
    bool is_searched = false, is_walked = false;
  };
  struct Skipped {
    std::uint64_t tagged = 0;
    std::uint32_t times = 0;
  };
  using Candidates = std::bitset<1u << 20>;

  MapSearch(const AddressSpace& space, const Constants& constants, std::span<const PageRange> blocks);
  [[nodiscard]] bool is_often(std::uint64_t tagged) {
    Skipped& skipped = skipped_[tagged / 8 % skipped_.size()];
    if (skipped.tagged != tagged) skipped = {tagged, 0};
    return ++skipped.times == kOften && ++often_ <= kMostOften;
  }
  // is_due: whatever was searched for before.
  [[nodiscard]] Shape search(std::uint64_t tagged, bool is_due);
  [[nodiscard]] bool read_words(std::uint64_t tagged, std::span<std::uint64_t> words) const;
  [[nodiscard]] Block* block_at(std::uint64_t address);
  void scan(Block& block);
  void repeat();
  void search_around(Block& block, std::uint64_t tagged);

  const AddressSpace& space_;
  const Constants& constants_;
  Shapes shapes_;
  std::vector<Block> blocks_;               // by address
  std::unique_ptr<Candidates> candidates_;  // by the low bits of a block's number
  std::vector<std::uint64_t> words_;        // of the block at hand
  std::vector<std::uint64_t> map_;          // the part of a map that is of use
  std::size_t searched_ = 0;
  std::array<Skipped, 64> skipped_;  // of the block at hand
  int misses_ = 0, misses_in_known_ = 0, often_ = 0, repeats_ = 0;
  bool is_outdated_ = false;  // a block was searched before a map of maps was known
  bool may_read_ = true;
  Result<> read_;
};

}  // namespace oomw::v8
