// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "events/growth_profile.h"

namespace oomw {

// The slots of one process: which stack last touched through each level that its memory still is above. Their sum is
// what it has grown by. Pure.
//   - What a process gives back takes the newest slots off, so scratch memory that comes and goes leaves nothing.
//   - A slot without a stack (its sample was lost) is held by kNobody: it counts, for nobody.
//   - Samples may come out of order, by microseconds: two CPUs took them. An older one only fills what nobody holds.
//   - At most kMaxSlots are kept; what a process grows beyond belongs to nobody.
//   - Each slot keeps when it was last touched through, so what came and still stands is known by time: in parts of the
//     sampled time, and as late by the clock, on which rests count.
class GrowthSlots {
 public:
  static constexpr std::uint32_t kNobody = ~0u;
  static constexpr std::size_t kMaxSlots = 65'536;

  // Slots: by the part of the time from 0 to until_ms in which they came, and those of the last quarter by the clock.
  struct Held {
    std::array<std::uint64_t, GrowthProfile::kParts> parts{};
    std::uint64_t late = 0;
  };

  // A sample: `stack` lifted the process from slot `before` to `after`. sampled_ms: on the clock that by_stack() cuts
  // into parts.
  void rise(std::uint64_t time_ns, std::uint32_t before, std::uint32_t after, std::uint32_t stack,
            std::uint32_t sampled_ms) {
    if (!first_ns_) first_ns_ = time_ns;
    const Slot slot{stack, sampled_ms, ms_since_first(time_ns)};
    if (time_ns < newest_ns_) return fill(before, after, slot);
    newest_ns_ = time_ns;
    stand_at(before);
    stand_at(after);
    const std::size_t end = slots_.size();
    std::fill(slots_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(before, end)), slots_.end(), slot);
  }

  // Where the process stands, by another source than a sample: at its end.
  void stand_at(std::uint32_t slot) {
    count_ = slot;
    slots_.resize(std::min<std::size_t>(slot, kMaxSlots));
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }  // held, by somebody or nobody

  // By stack, without nobody's.
  [[nodiscard]] std::map<std::uint32_t, Held> by_stack(std::uint32_t until_ms) const {
    std::map<std::uint32_t, Held> counts;
    const std::uint32_t newest_ms = ms_since_first(newest_ns_), late_ms = newest_ms - newest_ms / 4;
    for (const Slot& slot : slots_) {
      if (slot.holder == kNobody) continue;
      Held& held = counts[slot.holder];
      const std::uint64_t part = std::uint64_t{slot.sampled_ms} * GrowthProfile::kParts / std::max(until_ms, 1u);
      ++held.parts[std::min<std::uint64_t>(part, GrowthProfile::kParts - 1)];
      if (slot.ms >= late_ms) ++held.late;
    }
    return counts;
  }

 private:
  struct Slot {
    std::uint32_t holder = kNobody;
    std::uint32_t sampled_ms = 0;
    std::uint32_t ms = 0;  // since the first sample
  };
  [[nodiscard]] std::uint32_t ms_since_first(std::uint64_t time_ns) const {
    const std::uint64_t first = first_ns_.value_or(time_ns);
    const std::uint64_t ms = (std::max(time_ns, first) - first) / 1'000'000;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, ~0u));
  }
  void fill(std::uint32_t before, std::uint32_t after, Slot with) {
    const std::size_t end = std::min<std::size_t>(after, slots_.size());
    for (std::size_t slot = before; slot < end; ++slot) {
      if (slots_[slot].holder == kNobody) slots_[slot] = with;
    }
  }

  std::optional<std::uint64_t> first_ns_;
  std::uint64_t newest_ns_ = 0;
  std::uint64_t count_ = 0;
  std::vector<Slot> slots_;  // [k]: slot k + 1
};

}  // namespace oomw
