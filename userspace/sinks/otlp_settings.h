// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/result.h"
#include "kubernetes/api_target.h"
#include "sinks/http_client.h"
#include "sinks/sinks_config.h"

namespace oomw {

struct OtlpSettings {
  HttpEndpoint endpoint;
  bool is_gzip = true;
  bool is_json = false;     // http/json instead of http/protobuf
  Nanoseconds interval{0};  // between two reports of metrics; of other signals not used
};

// Where log records go: by the configuration, else by the variables of the OpenTelemetry specification (ENDPOINT,
// HEADERS, COMPRESSION, TIMEOUT, PROTOCOL, CERTIFICATE, CLIENT_CERTIFICATE and CLIENT_KEY of OTEL_EXPORTER_OTLP_LOGS_*
// and then of OTEL_EXPORTER_OTLP_*). nullopt: nowhere, or OTEL_LOGS_EXPORTER is "none". kInvalid: the message names the
// setting, never its value.
[[nodiscard]] Result<std::optional<OtlpSettings>> find_otlp_logs(const SinksConfig::Otlp& config,
                                                                 const Environment& environment);

// The same for metrics, by OTEL_EXPORTER_OTLP_METRICS_* and OTEL_METRICS_EXPORTER. They are on only where somebody asks
// for them: by the configuration, by OTEL_METRICS_EXPORTER=otlp or by an endpoint of their own.
// OTEL_METRIC_EXPORT_INTERVAL is obeyed unless the configuration has an interval.
[[nodiscard]] Result<std::optional<OtlpSettings>> find_otlp_metrics(const SinksConfig::Otlp& config,
                                                                    const Environment& environment);

// The same for profiles, by OTEL_EXPORTER_OTLP_PROFILES_*; always protobuf. On by the configuration alone.
[[nodiscard]] Result<std::optional<OtlpSettings>> find_otlp_profiles(const SinksConfig::Otlp& config,
                                                                     const Environment& environment);

}  // namespace oomw
