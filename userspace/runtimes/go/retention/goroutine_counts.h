// SPDX-License-Identifier: Apache-2.0
// What the goroutines of a process do, counted from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "events/goroutines_at_kill.h"
#include "runtimes/go/retention/goroutines.h"
#include "runtimes/go/retention/holders.h"

namespace oomw::go::retention {

// Goroutines that stand at the same place. Names are printable, without type arguments; "" where not known.
struct GoroutineGroup {
  GoroutineState state = GoroutineState::kOther;
  std::string blocked_in;  // the runtime's function: "runtime.chansend"
  std::string function;    // innermost of the program
  std::string outermost;   // of the program
  std::string created_by;
  std::uint64_t count = 0;
  std::uint64_t stack_bytes = 0;
};

struct GoroutineCounts {
  std::vector<GoroutineGroup> groups;  // most first, at most 1000
  std::uint64_t total = 0;
  std::uint64_t not_read = 0;  // above 200,000
  std::uint64_t stack_bytes = 0;
  std::optional<GoroutineList> list;  // nullopt: not proved, see why_no_list
  std::string why_no_list;
};

// Bounds and errors as find_holders. The process is not stopped: a goroutine that moves meanwhile may be counted at
// either place, and one that runs is counted without a place.
[[nodiscard]] Result<GoroutineCounts> count_goroutines(const Subject& subject, const Clock& clock,
                                                       const HolderLimits& limits = {});

}  // namespace oomw::go::retention
