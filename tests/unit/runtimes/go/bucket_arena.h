// SPDX-License-Identifier: Apache-2.0
// Buckets as the Go runtime lays them out, and as a hostile process would.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtimes/go/bucket_bytes.h"
#include "runtimes/go/heap_snapshot.h"

namespace oomw::go::test {

// Counters of a bucket: active and three cycles to come, {allocs, frees} each.
using Cycles = std::array<std::array<std::uint64_t, 2>, 4>;

// Memory that begins at address `base`. Word 0 is the list head, word 1 the sampling rate, word 2
// the cycle; buckets follow, each pushed to the front of the list.
class BucketArena {
 public:
  explicit BucketArena(RecordLayout layout, std::uint64_t base = 0x100000) : layout_(layout), base_(base) {
    words_ = {0, 512 << 10, 6};
  }

  // Returns the bucket's address.
  std::uint64_t push(std::vector<std::uint64_t> pcs, std::uint64_t size, const Cycles& cycles) {
    const std::uint64_t address = base_ + words_.size() * 8;
    words_.insert(words_.end(), {0, words_[0], kMemoryProfile, bucket_hash(pcs, size), size, pcs.size()});
    words_.insert(words_.end(), pcs.begin(), pcs.end());
    for (const auto& [allocs, frees] : cycles) {
      words_.insert(words_.end(), {allocs, frees});
      if (layout_ == RecordLayout::kObjectsAndBytes) words_.insert(words_.end(), {allocs * size, frees * size});
    }
    words_[0] = address;
    return address;
  }

  // A word of the bucket at `address`: 0 next, 1 allnext, 2 type, 3 hash, 4 size, 5 depth, then the stack.
  std::uint64_t& word(std::uint64_t address, std::size_t index) { return words_[(address - base_) / 8 + index]; }
  void set_rate(std::uint64_t rate) { words_[1] = rate; }

  [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)); }
  [[nodiscard]] std::uint64_t base() const { return base_; }
  [[nodiscard]] HeapVariables variables() const { return {base_, base_ + 8, base_ + 16}; }

 private:
  RecordLayout layout_;
  std::uint64_t base_;
  std::vector<std::uint64_t> words_;
};

}  // namespace oomw::go::test
