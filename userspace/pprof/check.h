// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::pprof {

// Decoded fields are a valid profile if there are sample types, every sample has one value per type,
// ids are unique and not 0, and every id in use exists (0 = none for mapping and function).
[[nodiscard]] Result<> check(const Profile& profile);

}  // namespace oomw::pprof
