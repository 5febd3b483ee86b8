// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"

namespace oomw {

// "45 s", "12 min", "3 h", "4 d": one unit, rounded down; never negative.
[[nodiscard]] std::string human_duration(Nanoseconds duration);

}  // namespace oomw
