// SPDX-License-Identifier: Apache-2.0
// A heap whose truth is known, seen through Go's sampling.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "runtimes/heap_reading.h"
#include "support/mib.h"
#include "trends/heap_trend.h"

namespace oomw::test {

constexpr std::int64_t kRate = 512 << 10;

// Sites are numbers; each has a stack of its own and one block size. Every call draws what Go would
// have sampled, from one seed.
class HeapStory {
 public:
  explicit HeapStory(std::uint32_t seed = 1) : random_(seed) {}

  // The site holds this much now, all of it allocated since the last reading.
  void hold(std::uint32_t site, double bytes, std::uint64_t block_bytes = 1024) {
    sites_[site] = {block_bytes, sampled(bytes, block_bytes), 0};
  }
  // It holds this much more; what it held before stays the same blocks.
  void add(std::uint32_t site, double bytes, std::uint64_t block_bytes = 1024) {
    Site& entry = sites_[site];
    entry.block_bytes = block_bytes;
    entry.live += sampled(bytes, block_bytes);
  }
  // Not collected yet: held, and not live at the last collection.
  void garbage(std::uint32_t site, double bytes) { sites_[site].pending = sampled(bytes, sites_[site].block_bytes); }
  void collect() { ++cycle_; }

  [[nodiscard]] HeapReading read() {
    HeapReading reading;
    reading.rate = kRate;
    reading.is_complete = true;
    reading.collection = cycle_;
    for (const auto& [number, site] : sites_) {
      const std::vector<std::uint64_t> pcs = stack_of(number);
      const auto amount = [size = site.block_bytes](std::uint64_t blocks) {
        return HeapAmount{static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(blocks * size)};
      };
      const HeapAmount held = amount(site.live + site.pending);
      reading.holdings.push_back({reading.pcs.append(pcs), static_cast<std::uint32_t>(pcs.size()), site.block_bytes,
                                  held, held, amount(site.live)});
    }
    return reading;
  }

  static std::vector<std::uint64_t> stack_of(std::uint32_t site) { return {0x401000 + site * 16, 0x402000, 0x403000}; }
  [[nodiscard]] std::mt19937& random() { return random_; }

 private:
  struct Site {
    std::uint64_t block_bytes = 0, live = 0, pending = 0;
  };

  std::uint64_t sampled(double bytes, std::uint64_t block_bytes) {
    const double blocks = bytes / static_cast<double>(block_bytes);
    const double chance = static_cast<double>(block_bytes) / bytes_per_sample(block_bytes, kRate);
    if (blocks * chance <= 0) return 0;
    if (chance < 0.1) return std::poisson_distribution<std::uint64_t>(blocks * chance)(random_);
    return std::binomial_distribution<std::uint64_t>(static_cast<std::uint64_t>(blocks), chance)(random_);
  }

  std::mt19937 random_;
  std::map<std::uint32_t, Site> sites_;
  std::uint32_t cycle_ = 1;
};

inline MonotonicTime at_second(double seconds) { return {static_cast<std::int64_t>(seconds * 1e9)}; }

inline ReadingContext scheduled(double seconds, bool is_starting_up = false) {
  return {at_second(seconds), ReadingOrigin::kScheduled, is_starting_up};
}

// The site of a report whose stack is that of the story's site.
inline bool is_site(const HeapTrend& trend, std::uint32_t site, std::uint32_t story_site) {
  return trend.sites().pcs_of(site) == HeapStory::stack_of(story_site);
}

}  // namespace oomw::test
