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
  std::string source;  // the file or the record that says so
};

// What the limit counted at the kill, taken apart.
struct Reconciliation {
  std::uint64_t total_bytes = 0;
  std::vector<MemoryPart> parts;       // without those of 0 bytes, largest first
  std::int64_t unexplained_bytes = 0;  // total less all parts; negative: they claim more than was there
};

// usage = the victims' anonymous memory by its parts (victim_memory.h) + other processes + page cache + tmpfs
// + kernel. The victims' memory is exact, of the kill itself; what is free, stacks and the runtime's is as old
// as the MemStats that say so; memory.stat is of seconds before, so in a growing container the parts taken
// from it are rather too small, and the difference shows as unexplained.
// nullopt: the limit is not the container's own (memory.stat is not of all that counted), or its usage is not
// known.
[[nodiscard]] std::optional<Reconciliation> reconcile(const Incident& incident);

// A table with a bar a part, in Markdown; "" for nullopt.
[[nodiscard]] std::string reconciliation_section(const std::optional<Reconciliation>& reconciliation);

}  // namespace oomw
