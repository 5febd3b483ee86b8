// SPDX-License-Identifier: Apache-2.0
// A straight line through points, some of which are wrong, and how certain its slope is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace oomw {

struct Slope {
  double value = 0;          // the median of the slopes of all pairs (Theil 1950, Sen 1968)
  double low = 0, high = 0;  // -inf and +inf if there are too few points
};

// How many of the n(n-1)/2 pairs of n points may fall where a rise is claimed, so that points in random order have no
// more falls than that with probability <= alpha: the exact distribution of Kendall's rank statistic without ties, by
// its recursion over n. Nothing if even a steady rise of so few points is more likely than alpha (1/n!). n is at most
// kMaxPoints.
inline constexpr std::size_t kMaxPoints = 64;
[[nodiscard]] std::optional<std::size_t> max_falls(std::size_t n, double alpha);

// For n points in random order, the chance that no more than `falls` of the pairs fall: the same distribution. 1 for
// fewer than two points.
[[nodiscard]] double chance_of_falls(std::size_t n, std::size_t falls);

// How many pairs (an earlier and a later value) do not rise.
[[nodiscard]] std::size_t count_falls(std::span<const double> values);

// The interval covers the true slope with probability 1 - 2 alpha: Sen's, from the ordered slopes of the pairs, at the
// exact ranks above (`falls` = max_falls(n, alpha)). low > 0 means that it rises; chance explains that with probability
// alpha at most. A pair at the same time is left out; one of equal values counts as no rise. Median and interval hold
// with up to a quarter of the points wrong.
[[nodiscard]] Slope robust_slope(std::span<const double> times, std::span<const double> values,
                                 std::optional<std::size_t> falls);

}  // namespace oomw
