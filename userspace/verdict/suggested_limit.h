// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "verdict/verdict_evidence.h"

namespace oomw {

// A limit that this run would have fitted into, where the limit is too small for what is no leak:
//   the most that could not be reclaimed, or what a Go program needs before it collects (go_need_bytes), whichever
//   is more; times 1.2, rounded up to 16 MiB (thresholds.h).
// The peak ends at the limit that cut it off, so by itself it is a lower bound. nullopt without a limit, and where Go
// never collects.
[[nodiscard]] std::optional<SuggestedLimit> suggest_limit(const Evidence& evidence);

}  // namespace oomw
