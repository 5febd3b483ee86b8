// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "sinks/container_usage.h"
#include "sinks/otlp_resource.h"

namespace oomw {

// One metric of OpenTelemetry with its points, in neither of its two encodings yet.
struct OtlpMetric {
  struct Point {
    std::variant<std::int64_t, double> value;
    std::vector<OtlpAttribute> attributes;
  };
  const char* name = "";
  const char* unit = "";
  bool is_sum = false;  // an UpDownCounter of the semantic conventions; else a gauge
  std::vector<Point> points;
};

struct OtlpContainerMetrics {
  std::vector<OtlpAttribute> resource;
  std::vector<OtlpMetric> metrics;
  WallTime start, time;  // sums count from start
};

struct ProcessUsage {
  ContainerUsage::Process process;
  std::uint64_t resident_bytes = 0, virtual_bytes = 0;
};

// Names of the semantic conventions where there is one, else oomwitness.*. What is not known has no point. Pure.
[[nodiscard]] OtlpContainerMetrics otlp_metrics_of(const ContainerUsage& reading,
                                                   const std::vector<ProcessUsage>& processes, WallTime start,
                                                   const OtlpMapping& mapping);

// ExportMetricsServiceRequest, protobuf. Several of them one after the other are one request.
[[nodiscard]] std::string to_otlp_protobuf(const OtlpContainerMetrics& metrics);
// One element of "resourceMetrics" of the same in JSON.
[[nodiscard]] std::string to_otlp_json(const OtlpContainerMetrics& metrics);

}  // namespace oomw
