// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/memory_contents.h"
#include "runtimes/native/glibc_arenas.h"

namespace oomw::native {

// Receives the blocks in use, arena after arena. What came since begin() counts only if keep() follows: an arena that
// changed while it was read is read again.
class ChunkSink {
 public:
  // Of a block: enough for an object behind two heads.
  static constexpr std::size_t kWords = 6;

  virtual ~ChunkSink() = default;
  virtual void begin() = 0;
  // address: as the program has it. bytes: that the program may use, at least.
  virtual void chunk(std::uint64_t address, std::uint64_t bytes, std::span<const std::uint64_t, kWords> words) = 0;
  virtual void keep() = 0;
};

// How many blocks there are of each size; bounded, what comes when it is full counts as one size 0.
class SizeCounts {
 public:
  static constexpr std::size_t kMaxSizes = 8192;
  void add(std::uint64_t bytes, std::uint64_t count = 1) {
    const bool is_full = counts_.size() >= kMaxSizes && !counts_.contains(bytes);
    counts_[is_full ? 0 : bytes] += count;
  }
  void add(const SizeCounts& other) {
    for (const auto& [bytes, count] : other.counts_) add(bytes, count);
  }
  [[nodiscard]] const std::unordered_map<std::uint64_t, std::uint64_t>& counts() const { return counts_; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> counts_;
};

struct MallocWalk {
  MallocTotals totals;
  SizeCounts sizes;
  std::vector<PageRange> ranges;                      // the memory of the arenas that were walked, in order of address
  std::uint64_t broken_arenas = 0, broken_bytes = 0;  // their sums did not close: in nothing else of this
};

// Walks the chunks of all arenas. Each must end exactly at its top, with in use + free + top as large as the arena
// says; one that does not is tried three times. The top is that of the walk's beginning: a program that leaks takes
// from it meanwhile, and what it took since the picture of its memory is left out. sink may be null.
[[nodiscard]] Result<MallocWalk> walk_arenas(const AddressSpace& space, const Arenas& arenas, ChunkSink* sink);

// A block with a mapping of its own that begins there: its length in bytes, 0 if there is none.
[[nodiscard]] std::uint64_t mapped_chunk_at(const AddressSpace& space, std::uint64_t address, std::uint64_t end,
                                            ChunkSink* sink);

}  // namespace oomw::native
