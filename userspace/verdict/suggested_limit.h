// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "verdict/verdict_evidence.h"

namespace oomw {

// A limit that this run would have fitted into, for a limit that is too small although nothing leaks:
//   the largest amount that could not be reclaimed or, if larger, what a Go program needs before it collects
//   (go_need_bytes); times 1.2, rounded up to 16 MiB (thresholds.h).
// The limit cut the peak off, so the peak alone gives a lower bound. nullopt without a limit, and where Go never
// collects.
[[nodiscard]] std::optional<SuggestedLimit> suggest_limit(const Evidence& evidence);

}  // namespace oomw
