// SPDX-License-Identifier: Apache-2.0
// What analyses of the victim's memory found before the kill, as an incident keeps it: with wall-clock times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/heap_analysed.h"
#include "events/jvm_figures.h"
#include "events/pools_at_kill.h"

namespace oomw {

// One analysis, successful or not.
struct IncidentAnalysis {
  struct File {
    std::string name;        // in the incident's directory
    std::string spool_file;  // where its bytes are until then; not part of the JSON
  };
  std::string of;  // "go", "cpython"
  std::int32_t pid = 0;
  WallTime time;
  double duration_seconds = 0;
  double lead_seconds = 0;  // its end -> first victim marked
  std::string trigger, result, reason, detail;
  std::vector<File> files;
  std::optional<JvmFigures> jvm{};        // of a JVM's reading, and of what was read after its end
  std::optional<double> sampled_ratio{};  // of the objects' memory, what was read (0: none); nullopt: not a sample
  std::optional<PoolsAtKill> pools{};     // of what was counted in a Python process at its kill
};

struct IncidentHolder : HeapHolder {
  double rooted_ratio = 0;             // of the sampled bytes, for all holders of this reading
  std::uint64_t total_samples = 0;     // likewise
  std::optional<double> growth_ratio;  // bytes now / at the reading before; nullopt: there is none, or it was not there
};

struct IncidentComposition {
  std::optional<double> named_ratio;
  WallTime as_of;
  std::vector<MemoryShare> parts;
  std::optional<std::uint64_t> max_heap_bytes = {};  // what the runtime lets its heap grow to
};

}  // namespace oomw
