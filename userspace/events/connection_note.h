// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw {

// What a note of an analysis about the process's connections begins with.
inline constexpr std::string_view kConnectionNote = "connections: ";

}  // namespace oomw
