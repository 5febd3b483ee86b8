// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomw {

// " (did you mean 'levels_percent'?)" for the candidate that a typing error may have come from; "" if
// none is near: one edit in three letters, or the start of it.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace oomw
