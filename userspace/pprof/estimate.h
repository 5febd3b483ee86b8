// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "pprof/profile.h"

namespace oomw::pprof {

// How a comment begins that says that the figures are estimates by a sample of a memory; behind it stands how large the
// sample was. A difference keeps the comments of both, so it is an estimate if one of them is.
inline constexpr std::string_view kEstimateComment = "oomwitness: estimated by a sample: ";

[[nodiscard]] inline bool is_estimate(const Profile& profile) {
  return std::ranges::any_of(profile.comments,
                             [](const std::string& comment) { return comment.starts_with(kEstimateComment); });
}

}  // namespace oomw::pprof
