// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace oomw {

// Differences and slopes, as human_bytes() of text.h writes sizes: "-1.50 GiB", "0 B". What has no bound is "inf" or
// "-inf", what is no number "unknown": an interval of few readings has such ends.
[[nodiscard]] std::string human_signed_bytes(double bytes);

}  // namespace oomw
