// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace oomw {

// The largest fall from an earlier peak, as a share of the whole range (on charts: the maximum drawdown). A sawtooth or
// an ended batch has fallen back by 1; a leak falls only by noise. 0 if the range is empty.
[[nodiscard]] double return_share(std::span<const double> values);

// Slope of the last `part` of the time over the slope until then, both Theil's and Sen's: 1 if growth goes on, 0 if it
// stopped. 1 where that is not known: fewer than six values, or no rise until then.
[[nodiscard]] double recent_slope_ratio(std::span<const double> seconds, std::span<const double> values, double part);

}  // namespace oomw
