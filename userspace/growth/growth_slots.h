// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace oomw {

// The slots of one process: which stack last touched through each level that its memory still is above. Their sum is
// what it has grown by. Pure.
//   - What a process gives back takes the newest slots off, so scratch memory that comes and goes leaves nothing.
//   - A slot without a stack (its sample was lost) is held by kNobody: it counts, for nobody.
//   - Samples may come out of order, by microseconds: two CPUs took them. An older one only fills what nobody holds.
//   - At most kMaxSlots are kept; what a process grows beyond belongs to nobody.
class GrowthSlots {
 public:
  static constexpr std::uint32_t kNobody = ~0u;
  static constexpr std::size_t kMaxSlots = 65'536;

  // A sample: `stack` lifted the process from slot `before` to `after`.
  void rise(std::uint64_t time_ns, std::uint32_t before, std::uint32_t after, std::uint32_t stack) {
    if (time_ns < newest_ns_) return fill(before, after, stack);
    newest_ns_ = time_ns;
    stand_at(before);
    stand_at(after);
    const std::size_t end = holders_.size();
    std::fill(holders_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(before, end)), holders_.end(),
              stack);
  }

  // Where the process stands, by another source than a sample: at its end.
  void stand_at(std::uint32_t slot) {
    count_ = slot;
    holders_.resize(std::min<std::size_t>(slot, kMaxSlots), kNobody);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }  // held, by somebody or nobody

  // Stack -> slots, without nobody's.
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> by_stack() const {
    std::map<std::uint32_t, std::uint64_t> counts;
    for (const std::uint32_t holder : holders_) {
      if (holder != kNobody) ++counts[holder];
    }
    return counts;
  }

 private:
  void fill(std::uint32_t before, std::uint32_t after, std::uint32_t stack) {
    const std::size_t end = std::min<std::size_t>(after, holders_.size());
    for (std::size_t slot = before; slot < end; ++slot) {
      if (holders_[slot] == kNobody) holders_[slot] = stack;
    }
  }

  std::uint64_t newest_ns_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint32_t> holders_;  // [k]: of slot k + 1
};

}  // namespace oomw
