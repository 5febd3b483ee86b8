// SPDX-License-Identifier: Apache-2.0
// What the composition of a victim's memory tells about the cause. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "incident/incident.h"
#include "verdict/next_steps.h"
#include "verdict/verdict_evidence.h"

namespace oomw {

// A heap whose maximum and everything beside it cannot both be in the limit, and what would fit.
struct HeapCeiling {
  std::uint64_t limit_bytes = 0, max_heap_bytes = 0;
  std::uint64_t heap_bytes = 0, beside_bytes = 0;   // at the last reading
  std::optional<std::uint64_t> fitting_heap_bytes;  // nullopt: the limit leaves too little for one
  std::uint64_t fitting_limit_bytes = 0;
};
// nullopt: it fits, or it is not known.
[[nodiscard]] std::optional<HeapCeiling> misfit_of(const Incident& incident);

// does_not_fit: maximum heap + memory beside the heap > limit, and the heap is the largest part.
[[nodiscard]] std::optional<Finding> judge_heap_ceiling(const Evidence& evidence);
// direct_buffers, thread_stacks, metaspace: the part that is more than the heap and large enough to be the cause.
[[nodiscard]] std::optional<Finding> judge_part(const Evidence& evidence);

// The answer's two sentences and the steps for these causes; "" and none for others.
[[nodiscard]] std::string part_sentence(const Incident& incident, std::string_view program);
[[nodiscard]] std::string part_action(const Incident& incident);
[[nodiscard]] std::vector<NextStep> part_steps(const Incident& incident);

// "60000 x byte[] (58.0 MiB), ..."; "" without an analysis of the heap.
[[nodiscard]] std::string fillers_text(const Incident& incident);

}  // namespace oomw
