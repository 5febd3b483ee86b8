// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw {

inline constexpr std::string_view kVersion = "0.1.0";  // also in CMakeLists.txt; a test compares the two

}  // namespace oomw
