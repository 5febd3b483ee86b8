// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "captures/collector_watch.h"
#include "captures/http_capture.h"
#include "captures/spool.h"
#include "correlate/correlator.h"
#include "daemon/watermark_gate.h"
#include "facts/operation_patterns.h"
#include "kernel/kernel_source.h"
#include "kubernetes/api_target.h"
#include "sinks/sinks_config.h"
#include "store/incident_store.h"
#include "system/sampler.h"
#include "trends/heap_trends.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// /etc/oomwitness/oomwitness.toml; every key has a default, so an absent file is fine.
struct Config {
  std::string data_dir = "/var/lib/oomwitness";
  std::string metrics_listen = "127.0.0.1:9435";
  std::string web_listen = "127.0.0.1:9436";
  bool is_showing_processes = false;                     // on /metrics, those of containers near their limit
  Nanoseconds max_core_stall = std::chrono::seconds(5);  // longer: /healthz is not ok
  std::string log_level = "info";
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string proc_root = "/proc";
  std::string host_root;         // where the host's / is mounted, for OCI bundles
  bool nested_runtimes = false;  // containers and pods inside a container are containers and pods too
  bool run_time_stats = false;
  unsigned capture_workers = 2;
  KernelConfig kernel;
  WatermarkGateConfig watermark_gate;
  KubernetesConfig kubernetes;
  SamplerConfig sampler;
  TriggerConfig triggers;
  HttpCaptureConfig http;
  CollectorConfig collector;
  Nanoseconds reader_idle = std::chrono::seconds(60);
  Nanoseconds live_timeout = std::chrono::seconds(1);
  TrendConfig trend;
  bool is_sampling_growth = true;  // the stacks that a process grew by, from half of its limit on
  bool is_analysing = true;        // who keeps and what fills the memory: seconds of CPU for each climb to a limit
  Spool::Limits spool;
  CorrelatorConfig correlator;
  Retention retention;
  SinksConfig sinks;
  OperationPatterns patterns;
  unsigned patience = 1;  // base/patience.h
};

inline constexpr const char* kDefaultConfigPath = "/etc/oomwitness/oomwitness.toml";

struct ConfigValue {
  std::string key;    // "kernel.ring_bytes"
  std::string value;  // as the file would write it
  friend bool operator==(const ConfigValue&, const ConfigValue&) = default;
};

// kInvalid with "file:line:column: what": unknown key, wrong type, value out of range.
[[nodiscard]] Result<Config> parse_config(std::string_view toml, std::string_view file_name);
// Every key, with the value it has by this text; for "" the defaults.
[[nodiscard]] Result<std::vector<ConfigValue>> config_values(std::string_view toml, std::string_view file_name);
// `explicit_path` "" = the default path, which may be absent.
[[nodiscard]] Result<Config> load_config(const std::string& explicit_path);

}  // namespace oomw
