// SPDX-License-Identifier: Apache-2.0
#include "trends/robust_slope.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace oomw {
namespace {

// Chance of each number of inversions among n points: the n-th point is before 0 to n-1 of the others.
std::vector<double> inversion_chances(std::size_t n) {
  std::vector<double> chances = {1};
  for (std::size_t points = 2; points <= n; ++points) {
    std::vector<double> next(chances.size() + points - 1);
    for (std::size_t k = 0; k < chances.size(); ++k) {
      for (std::size_t more = 0; more < points; ++more) next[k + more] += chances[k] / static_cast<double>(points);
    }
    chances = std::move(next);
  }
  return chances;
}

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace

std::optional<std::size_t> max_falls(std::size_t n, double alpha) {
  if (n < 2) return std::nullopt;
  const std::vector<double> chances = inversion_chances(std::min(n, kMaxPoints));
  double sum = 0;
  std::size_t count = 0;
  for (; count < chances.size(); ++count) {
    sum += chances[count];
    if (sum > alpha) break;
  }
  if (count == 0) return std::nullopt;
  return count - 1;
}

double chance_of_falls(std::size_t n, std::size_t falls) {
  if (n < 2) return 1;
  const std::vector<double> chances = inversion_chances(std::min(n, kMaxPoints));
  const auto counted = static_cast<std::ptrdiff_t>(std::min(falls + 1, chances.size()));
  return std::min(1.0, std::accumulate(chances.begin(), chances.begin() + counted, 0.0));
}

std::size_t count_falls(std::span<const double> values) {
  std::size_t falls = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) falls += !(values[j] > values[i]);
  }
  return falls;
}

Slope robust_slope(std::span<const double> times, std::span<const double> values, std::optional<std::size_t> falls) {
  std::vector<double> slopes;
  slopes.reserve(times.size() * (times.size() - std::min<std::size_t>(times.size(), 1)) / 2);
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t j = i + 1; j < times.size(); ++j) {
      if (times[j] > times[i]) slopes.push_back((values[j] - values[i]) / (times[j] - times[i]));
    }
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (slopes.empty()) return {0, -kInfinity, kInfinity};
  std::sort(slopes.begin(), slopes.end());
  const double median = median_of_sorted(slopes);
  if (!falls || *falls >= slopes.size()) return {median, -kInfinity, kInfinity};
  return {median, std::min(median, slopes[*falls]), std::max(median, slopes[slopes.size() - 1 - *falls])};
}

}  // namespace oomw
