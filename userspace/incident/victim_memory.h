// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "incident/incident.h"

namespace oomw {

// The victims' anonymous memory, by what is known of it. The parts add up to `anon`, which is exact.
struct VictimMemory {
  std::uint64_t anon = 0;
  std::uint64_t live = 0;             // on the Go heap at the last collection
  std::uint64_t dead_or_younger = 0;  // the rest of the Go heap in use
  std::uint64_t free = 0;             // heap pages not given back, and unused space in the heap's blocks
  std::uint64_t stacks = 0;
  std::uint64_t runtime = 0;          // upper bound: some of what it mapped may be untouched
  std::uint64_t outside_go = 0;       // the rest, where all of the above is known: cgo, mmap
  std::uint64_t beside_heap = 0;      // the rest, where only a profile is known: free, stacks, runtime and outside
  std::uint64_t not_in_profile = 0;   // the rest, where the profile lags behind: younger heap too
  std::uint64_t without_profile = 0;  // victims whose heap was not read
  std::string profiles;               // the files that this comes from
  std::string memstats;               // the same for the figures of MemStats, with their age
};

// Summed over the victims whose memory is known. A victim's heap comes from its best profile; what Go held
// besides comes from its newest MemStats, if an endpoint gave any, and is as old as they are.
[[nodiscard]] VictimMemory memory_of_victims(const Incident& incident);

}  // namespace oomw
