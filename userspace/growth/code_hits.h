// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "growth/growth_wire.h"
#include "memory/memory_map.h"

namespace oomw::growth {

// How many words of the samples' stacks, and instruction pointers, point into each mapping of code: what a job has to
// know. The daemon compares numbers only; what they mean is the reader's work.
struct CodeHits {
  const Mapping* mapping = nullptr;
  std::uint64_t hits = 0;
};
// In order of address; those without hits are left out. The map must outlive them.
[[nodiscard]] std::vector<CodeHits> code_hits(const MemoryMap& map, const std::vector<Sample>& samples);

}  // namespace oomw::growth
