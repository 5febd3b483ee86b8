// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "events/growth_profile.h"
#include "facts/operation_patterns.h"
#include "pprof/profile.h"

namespace oomw {

inline constexpr char kGrowthType[] = "growth";  // its sample type
// A sample's label: the program's own function nearest to the allocation, as "generate (app.py:41)".
inline constexpr char kCodeLabel[] = "code";

// The profile as a file for pprof: one sample type, growth/bytes, one sample for each stack, which begins with what
// called the allocator and has its code and its operation as labels. Code is by name, since the process is gone. Where
// the build of a module is known, a function without a name has its link-time address, for those who have that build's
// symbols (debuginfod). Pure; bounded as the profile is.
[[nodiscard]] pprof::Profile to_pprof(const GrowthProfile& profile, WallTime time,
                                      const OperationPatterns& patterns = {});

}  // namespace oomw
