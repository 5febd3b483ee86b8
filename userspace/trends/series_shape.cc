// SPDX-License-Identifier: Apache-2.0
#include "trends/series_shape.h"

#include <algorithm>

#include "trends/robust_slope.h"

namespace oomw {

double return_share(std::span<const double> values) {
  if (values.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(values);
  double peak = values.front(), fall = 0;
  for (const double value : values) {
    peak = std::max(peak, value);
    fall = std::max(fall, peak - value);
  }
  return most > least ? fall / (most - least) : 0;
}

double recent_slope_ratio(std::span<const double> seconds, std::span<const double> values, double part) {
  constexpr std::size_t kLeast = 3;
  if (values.size() < 2 * kLeast) return 1;
  const double from = seconds.back() - (seconds.back() - seconds.front()) * part;
  auto split = static_cast<std::size_t>(std::ranges::lower_bound(seconds, from) - seconds.begin());
  split = std::clamp(split, kLeast - 1, values.size() - kLeast);
  const double before = robust_slope(seconds.first(split + 1), values.first(split + 1), std::nullopt).value;
  const double recent = robust_slope(seconds.subspan(split), values.subspan(split), std::nullopt).value;
  return before > 0 ? recent / before : 1;
}

}  // namespace oomw
