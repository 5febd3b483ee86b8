// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw {

inline constexpr std::string_view kVersion = "0.1.0";  // CMakeLists.txt says the same; a test checks

}  // namespace oomw
