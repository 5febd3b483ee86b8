// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace oomw {

// Maps a hash to positions in a vector that the caller keeps: open addressing, 8 bytes per slot, at most three quarters
// full. A node-based map would take 48 bytes per entry, which adds more than half to call stacks of 80 bytes. Nothing
// is ever removed.
class HashIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The first position added under this hash that `matches`; kNone if there is none.
  template <typename Matches>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Matches matches) const {
    if (slots_.empty()) return kNone;
    const std::uint32_t wanted = folded(hash);
    for (std::size_t at = wanted & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.position == kNone) return kNone;
      if (slot.hash == wanted && matches(slot.position)) return slot.position;
    }
  }

  void add(std::uint64_t hash, std::uint32_t position) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    place({folded(hash), position});
    ++size_;
  }

  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t position = kNone;
  };
  static constexpr std::size_t kFirstSlots = 64;

  static std::uint32_t folded(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32)); }
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }

  void place(Slot entry) {
    std::size_t at = entry.hash & mask();
    while (slots_[at].position != kNone) at = (at + 1) & mask();
    slots_[at] = entry;
  }

  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(old.empty() ? kFirstSlots : old.size() * 2);
    for (const Slot& slot : old) {
      if (slot.position != kNone) place(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace oomw
