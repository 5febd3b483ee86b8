// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace oomw {

// " (did you mean 'levels_percent'?)" for the candidate that the user probably meant; "" if none is near. A candidate
// is near if it needs at most one edit per three letters, or if it starts with `word` (3 letters or more).
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace oomw
