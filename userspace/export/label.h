// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw {

inline constexpr std::size_t kMaxLabelBytes = 128;

// A label value any Prometheus accepts: valid UTF-8 without control characters, at most
// kMaxLabelBytes. A value that had to be changed ends in "~" and eight hex digits of its hash, so
// that two hostile names remain two series and the same name remains one series across restarts.
[[nodiscard]] std::string to_label(std::string_view value);

}  // namespace oomw
