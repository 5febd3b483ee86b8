// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "sinks/outbox_queue.h"
#include "sinks/s3/s3_requests.h"

namespace oomw {

// [sinks] of oomwitness.toml. A sink without an address is off.
struct SinksConfig {
  struct Otlp {
    std::string endpoint;  // base URL; "" = OTEL_EXPORTER_OTLP_LOGS_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT
    std::string headers_file, ca_file;
    bool has_command_line = false, has_service_from_labels = false;
    bool has_memory_events = true;
    Nanoseconds near_limit_for = std::chrono::minutes(5);
    bool has_profiles = false;
    bool has_metrics = false;         // else only if the environment asks for them
    Nanoseconds metrics_interval{0};  // 0 = OTEL_METRIC_EXPORT_INTERVAL, else 60 s
  };
  struct Webhook {
    std::string url, headers_file, ca_file;
    bool is_cloud_event = false;
    Nanoseconds timeout = std::chrono::seconds(10);
  };
  struct File {
    std::string path;  // "-" = standard output
    std::uint64_t max_bytes = 64u << 20;
  };
  struct Pyroscope {
    std::string url, headers_file, ca_file;
    bool is_parca = false;
  };
  OutboxBudget budget;  // of each sink
  std::string cluster_name;
  Otlp otlp;
  Webhook webhook;
  File file;
  S3Config s3;
  Pyroscope pyroscope;
};

}  // namespace oomw
