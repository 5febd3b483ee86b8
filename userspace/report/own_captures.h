// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "pprof/profile.h"

namespace oomw {

// Takes out of the profile what net/http/pprof's handlers allocated in the victim to answer an HTTP capture (ours, or
// anyone's): it is a cost of looking, not a part of what filled the container. Returns its bytes of `type`, at least 0.
// O(size of the profile).
[[nodiscard]] std::uint64_t remove_http_captures(pprof::Profile& profile, std::string_view type);

}  // namespace oomw
