// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "incident/incident.h"

namespace oomw {

struct MemoryPart {
  std::string key;   // of incident.json: go_heap_live
  std::string name;  // for a human
  std::uint64_t bytes = 0;
  std::string source;  // the file or the record it comes from
};

// The bytes that the limit counted at the kill, broken down.
struct Reconciliation {
  std::uint64_t total_bytes = 0;
  std::vector<MemoryPart> parts;       // without those of 0 bytes, largest first
  std::int64_t unexplained_bytes = 0;  // total minus all parts; negative: they add up to more
};

// usage = the victims' anonymous memory by its parts (victim_memory.h) + other processes + page cache + tmpfs
// + kernel. The victims' memory is exact as of the kill. Free heap, stacks and the runtime's own memory are as
// old as their MemStats. memory.stat is seconds older than the kill, so in a growing container the parts taken
// from it tend to be too small, and the difference shows as unexplained.
// nullopt: the limit is not the container's own (memory.stat does not cover all that it counts), or its usage
// is not known.
[[nodiscard]] std::optional<Reconciliation> reconcile(const Incident& incident);

// A Markdown table with a bar for each part; "" for nullopt.
[[nodiscard]] std::string reconciliation_section(const std::optional<Reconciliation>& reconciliation);

}  // namespace oomw
