// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw {

[[nodiscard]] std::string to_hex(std::string_view bytes);  // lower case

}  // namespace oomw
