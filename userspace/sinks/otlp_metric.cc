// SPDX-License-Identifier: Apache-2.0
// Field numbers: opentelemetry-proto 1.11.
#include "sinks/otlp_metric.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/json_text.h"
#include "pprof/saturating.h"
#include "sinks/otlp_values.h"

namespace oomw {
namespace {

using nlohmann::ordered_json;
using protozero::pbf_writer;

struct MetricField {
  static constexpr unsigned kName = 1, kUnit = 3, kGauge = 5, kSum = 7;                     // Metric
  static constexpr unsigned kPoints = 1, kTemporality = 2;                                  // Gauge and Sum
  static constexpr unsigned kStart = 2, kTime = 3, kDouble = 4, kInt = 6, kAttributes = 7;  // NumberDataPoint
};
constexpr int kCumulative = 2;  // AggregationTemporality

void add(std::vector<OtlpMetric>& metrics, OtlpMetric metric, std::optional<std::uint64_t> bytes) {
  if (!bytes) return;
  metric.points.push_back({pprof::clamped(*bytes), {}});
  metrics.push_back(std::move(metric));
}

void add(std::vector<OtlpMetric>& metrics, OtlpMetric metric, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  metric.points.push_back({*value, {}});
  metrics.push_back(std::move(metric));
}

void add_process_metrics(std::vector<OtlpMetric>& metrics, const std::vector<ProcessUsage>& processes) {
  if (processes.empty()) return;
  OtlpMetric resident{"process.memory.usage", "By", true, {}}, all{"process.memory.virtual", "By", true, {}};
  for (const ProcessUsage& usage : processes) {
    std::vector<OtlpAttribute> who;
    OtlpAttributes attributes(who);
    attributes.integer("process.pid", std::optional(usage.process.key.pid));
    attributes.text("process.executable.name", usage.process.comm);
    resident.points.push_back({pprof::clamped(usage.resident_bytes), who});
    all.points.push_back({pprof::clamped(usage.virtual_bytes), std::move(who)});
  }
  metrics.push_back(std::move(resident));
  metrics.push_back(std::move(all));
}

void write_point(pbf_writer&& message, const OtlpMetric::Point& point, const OtlpContainerMetrics& of) {
  message.add_fixed64(MetricField::kStart, static_cast<std::uint64_t>(of.start.ns));
  message.add_fixed64(MetricField::kTime, static_cast<std::uint64_t>(of.time.ns));
  if (const auto* integer = std::get_if<std::int64_t>(&point.value)) {
    message.add_sfixed64(MetricField::kInt, *integer);
  } else {
    message.add_double(MetricField::kDouble, std::get<double>(point.value));
  }
  write_otlp_attributes(message, MetricField::kAttributes, point.attributes);
}

void write_metric(pbf_writer&& message, const OtlpMetric& metric, const OtlpContainerMetrics& of) {
  message.add_string(MetricField::kName, metric.name);
  message.add_string(MetricField::kUnit, metric.unit);
  pbf_writer data(message, metric.is_sum ? MetricField::kSum : MetricField::kGauge);
  for (const OtlpMetric::Point& point : metric.points) write_point(pbf_writer(data, MetricField::kPoints), point, of);
  if (metric.is_sum) data.add_enum(MetricField::kTemporality, kCumulative);
}

ordered_json point_json(const OtlpMetric::Point& point, const OtlpContainerMetrics& of) {
  ordered_json json = {{"startTimeUnixNano", std::to_string(of.start.ns)},
                       {"timeUnixNano", std::to_string(of.time.ns)}};
  if (const auto* integer = std::get_if<std::int64_t>(&point.value)) {
    json["asInt"] = std::to_string(*integer);
  } else {
    json["asDouble"] = std::get<double>(point.value);
  }
  json["attributes"] = otlp_attributes_json(point.attributes);
  return json;
}

ordered_json metric_json(const OtlpMetric& metric, const OtlpContainerMetrics& of) {
  ordered_json data = {{"dataPoints", ordered_json::array()}};
  for (const OtlpMetric::Point& point : metric.points) data["dataPoints"].push_back(point_json(point, of));
  if (metric.is_sum) data["aggregationTemporality"] = kCumulative;
  return {{"name", metric.name}, {"unit", metric.unit}, {metric.is_sum ? "sum" : "gauge", std::move(data)}};
}

}  // namespace

OtlpContainerMetrics otlp_metrics_of(const ContainerUsage& reading, const std::vector<ProcessUsage>& processes,
                                     WallTime start, const OtlpMapping& mapping) {
  OtlpContainerMetrics result;
  result.start = start;
  result.time = reading.time;
  result.resource = otlp_resource_of({reading.container, reading.pod ? &*reading.pod : nullptr, ""}, mapping);
  OtlpAttributes(result.resource).text("oomwitness.cgroup", reading.cgroup_path);
  const bool is_in_pod = !reading.container.pod_name.empty();
  const char* limit = is_in_pod ? "k8s.container.memory.limit.current" : "oomwitness.memory.limit";
  std::vector<OtlpMetric>& metrics = result.metrics;
  add(metrics, {"container.memory.usage", "By", true, {}}, reading.usage_bytes);
  add(metrics, {limit, "By", true, {}}, reading.limit_bytes);
  add(metrics, {"oomwitness.memory.nonreclaimable", "By", false, {}}, reading.nonreclaimable_bytes);
  add(metrics, {"oomwitness.memory.growth", "By/s", false, {}}, reading.growth_bytes_per_second);
  add(metrics, {"oomwitness.memory.time_to_limit", "s", false, {}}, reading.seconds_to_limit);
  add_process_metrics(metrics, processes);
  return result;
}

std::string to_otlp_protobuf(const OtlpContainerMetrics& metrics) {
  return otlp_request(metrics.resource, [&](pbf_writer& scope) {
    for (const OtlpMetric& metric : metrics.metrics) write_metric(pbf_writer(scope, kOtlpEntries), metric, metrics);
  });
}

std::string to_otlp_json(const OtlpContainerMetrics& metrics) {
  ordered_json list = ordered_json::array();
  for (const OtlpMetric& metric : metrics.metrics) list.push_back(metric_json(metric, metrics));
  const ordered_json json = otlp_resource_json(metrics.resource, "scopeMetrics", "metrics", std::move(list));
  return to_json_utf8(json);
}

}  // namespace oomw
