// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "events/growth_profile.h"
#include "pprof/profile.h"

namespace oomw {

// The profile as a file for pprof: one sample type, growth/bytes, one sample for each stack. Code is by name, not by
// address, since the process is gone. Pure; bounded as the profile is.
[[nodiscard]] pprof::Profile to_pprof(const GrowthProfile& profile, WallTime time);

}  // namespace oomw
