// SPDX-License-Identifier: Apache-2.0
// The files that show who keeps a Go heap: all of the search's result as JSON, and its chains as a profile.
#pragma once

#include <string>

#include "pprof/profile.h"
#include "runtimes/go/retention/goroutine_counts.h"
#include "runtimes/go/retention/holders.h"

namespace oomw {

// One JSON object, indented; "goroutines" is null where they were not counted (nullptr).
[[nodiscard]] std::string holders_document(const go::retention::Holders& found,
                                           const go::retention::GoroutineCounts* goroutines);

// Stacks are the chains: the root is the outermost frame, what it keeps the innermost. inuse_space: the bytes kept,
// estimated.
[[nodiscard]] pprof::Profile holders_profile(const go::retention::Holders& found);

}  // namespace oomw
