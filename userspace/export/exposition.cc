// SPDX-License-Identifier: Apache-2.0
#include "export/exposition.h"

#include <cstdint>
#include <limits>

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include "base/text.h"

namespace oomw {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

constexpr std::size_t kHashBytes = 9;  // "~" and eight hex digits

// FNV-1a: the same in every build and on every machine, which std::hash does not promise.
std::uint32_t stable_hash(std::string_view bytes) {
  std::uint32_t hash = 2'166'136'261;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 16'777'619;
  return hash;
}

ClientMetric::Histogram to_prometheus(const CaptureMetrics::Histogram& from) {
  ClientMetric::Histogram to;
  to.sample_sum = from.sum;
  for (std::size_t i = 0; i <= from.bounds.size(); ++i) {
    to.sample_count += i < from.counts.size() ? from.counts[i] : 0;
    const bool is_last = i == from.bounds.size();
    to.bucket.push_back({to.sample_count, is_last ? std::numeric_limits<double>::infinity() : from.bounds[i]});
  }
  return to;
}

}  // namespace

std::string to_label(std::string_view value) {
  const std::string shown = printable(value, kMaxLabelBytes);
  if (shown == value && shown.size() <= kMaxLabelBytes) return shown;
  return fmt::format("{}~{:08x}", front_bytes(shown, kMaxLabelBytes - kHashBytes), stable_hash(value));
}

void Family::add(const CaptureMetrics::Histogram& histogram) {
  ClientMetric metric;
  metric.histogram = to_prometheus(histogram);
  add_metric({}, std::move(metric));
}

std::string Family::text() const {
  if (!family_.metric.empty()) return prometheus::TextSerializer().Serialize({family_});
  // The serializer leaves out a family without samples; a reader should still find its name.
  const char* type = family_.type == MetricType::Counter ? "counter" : "gauge";
  return "# HELP " + family_.name + " " + family_.help + "\n# TYPE " + family_.name + " " + type + "\n";
}

void Family::add_metric(Labels labels, ClientMetric metric) {
  for (ClientMetric::Label& label : labels) label.value = to_label(label.value);
  if (!seen_.insert(labels).second) return;
  metric.label = std::move(labels);
  family_.metric.push_back(std::move(metric));
}

}  // namespace oomw
