// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "runtimes/go/retention/holders.h"
#include "runtimes/go/retention/owners.h"

namespace oomw::go::retention {

// The list or channel on the way from the root to most of the sampled bytes, counted. `sampled`: nodes and their bytes.
//
// A list is followed in the process's memory from the reference to its first object to its end: no further object of
// the heap, the first again, or the place that refers to the first. Each object must have the same size and kind of
// content. It is counted twice, and both lengths must agree: the process runs on meanwhile, and an object that is taken
// out in between leads elsewhere. nullopt: there is none, or its length is not proved; at most 2^20 objects and 256 MiB
// of reads. Only objects whose type is known make a list. spans: of the graph; now: as they are.
[[nodiscard]] std::optional<Queue> queue_length(std::span<const std::pair<std::uint32_t, double>> sampled,
                                                const HeapGraph& graph, const Paths& paths, const NodeTypes& types,
                                                const SpanTable& spans, const SpanTable& now, const ByteSource& memory);

}  // namespace oomw::go::retention
