// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace oomw {

// What a capture's reason token means to a human; "" for a token that needs no explaining here.
[[nodiscard]] std::string_view explain_capture_reason(std::string_view token);

}  // namespace oomw
