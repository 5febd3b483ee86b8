// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "incident/incident.h"

namespace oomw {

// The anonymous memory of the killed, by what is known of it. The parts make up `anon`, which is exact.
struct VictimMemory {
  std::uint64_t anon = 0;
  std::uint64_t live = 0;             // on the Go heap at the last collection
  std::uint64_t dead_or_younger = 0;  // on the Go heap besides
  std::uint64_t free = 0;             // the heap's pages not given back, and what its blocks do not use
  std::uint64_t stacks = 0;
  std::uint64_t runtime = 0;          // at most: of what it mapped for itself not all need be touched
  std::uint64_t outside_go = 0;       // the rest, where all of the above is known: cgo, mmap
  std::uint64_t beside_heap = 0;      // the rest, where only a profile is: free, stacks, runtime and outside
  std::uint64_t not_in_profile = 0;   // the rest, where it lags behind: younger heap too
  std::uint64_t without_profile = 0;  // all of it: nobody looked
  std::string profiles;               // the files that say so
  std::string memstats;               // the same, with their age, for what MemStats say
};

// Summed over the victims whose memory is known. A victim's best profile says what its heap held; the newest
// MemStats of it, where an endpoint gave any, what Go held besides, as of then.
[[nodiscard]] VictimMemory memory_of_victims(const Incident& incident);

}  // namespace oomw
