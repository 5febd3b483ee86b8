// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "events/growth_profile.h"
#include "pprof/profile.h"

namespace oomw {

// The profile as a file for pprof: one sample type, growth/bytes, one sample for each stack. Code is by name, since the
// process is gone. builds: the build id of each module, in hex; with it a function without a name has its link-time
// address, for those who have that build's symbols (debuginfod). Pure; bounded as the profile is.
[[nodiscard]] pprof::Profile to_pprof(const GrowthProfile& profile, const std::map<std::string, std::string>& builds,
                                      WallTime time);

}  // namespace oomw
