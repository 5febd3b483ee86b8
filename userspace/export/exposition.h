// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include "export/metrics_snapshot.h"

namespace oomw {

inline constexpr std::size_t kMaxLabelBytes = 128;

// A label value any Prometheus accepts: valid UTF-8 without control characters, at most
// kMaxLabelBytes. A value that had to be changed ends in "~" and eight hex digits of its hash, so
// that two hostile names remain two series and the same name remains one series across restarts.
[[nodiscard]] std::string to_label(std::string_view value);

using Labels = std::vector<prometheus::ClientMetric::Label>;

// One metric family under construction. Label values become fit for the exposition here, and a
// label set that is there already is not added twice: one duplicate would fail the whole scrape.
class Family {
 public:
  // help: plain text; the serializer does not escape it. process_* are names that all exporters share.
  Family(const std::string& name, std::string help, prometheus::MetricType type)
      : family_{(name.starts_with("process_") ? "" : "oomwitness_") + name, std::move(help), type, {}} {}

  template <typename T>
  void add(Labels labels, const T& value) {
    prometheus::ClientMetric metric;
    metric.counter.value = metric.gauge.value = static_cast<double>(value);
    add_metric(std::move(labels), std::move(metric));
  }
  template <typename T>
  void add(Labels labels, const std::optional<T>& value) {
    if (value.has_value()) add(std::move(labels), *value);
  }
  void add(const CaptureMetrics::Histogram& histogram);
  [[nodiscard]] std::string text() const;

 private:
  void add_metric(Labels labels, prometheus::ClientMetric metric);

  prometheus::MetricFamily family_;
  std::set<Labels> seen_;
};

}  // namespace oomw
