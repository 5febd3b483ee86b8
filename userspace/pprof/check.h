// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::pprof {

// Decoded fields are a profile if it has sample types, every sample one value per type, ids
// are unique and not 0, and every id that is used exists (0 = none for mapping and function).
[[nodiscard]] Result<> check(const Profile& profile);

}  // namespace oomw::pprof
