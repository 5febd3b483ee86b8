// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oomw {

struct MetricSample {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels;  // values unescaped
  double value = 0;

  [[nodiscard]] const std::string* label(std::string_view key) const;  // nullptr: no label of that name
};

// The samples of Prometheus' text format 0.0.4, written by another process: hostile. Lines that do not parse are
// skipped, as are comments, timestamps and everything beyond the bounds: lines of kMaxMetricLine bytes,
// kMaxMetricLabels labels. No state and no allocation outlives a line.
inline constexpr std::size_t kMaxMetricLine = 4'096;
inline constexpr std::size_t kMaxMetricLabels = 32;
void for_each_metric(std::string_view text, const std::function<void(const MetricSample&)>& visit);

}  // namespace oomw
