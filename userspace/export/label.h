// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace oomw {

inline constexpr std::size_t kMaxLabelBytes = 128;

// A label value any Prometheus accepts: valid UTF-8 without control characters, at most
// kMaxLabelBytes. A value that had to change ends in "~" and eight hex digits of its hash, so
// that two hostile names stay two series and the same name stays one across restarts.
[[nodiscard]] std::string to_label(std::string_view value);

}  // namespace oomw
