// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace oomw {

// Differences and slopes, written like the sizes of human_bytes() in text.h: "-1.50 GiB", "0 B". Infinite values are
// "inf" or "-inf", NaN is "unknown": an interval from few readings has such ends.
[[nodiscard]] std::string human_signed_bytes(double bytes);

}  // namespace oomw
