// SPDX-License-Identifier: Apache-2.0
#include "daemon/config.h"

#include "base/files.h"
#include "daemon/table_reader.h"
#include "model/pod_table.h"
#include "sinks/http_client.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxConfigBytes = 1u << 20;

void read_kernel(TableReader table, Config& config) {
  KernelConfig& kernel = config.kernel;
  table.integer("ring_bytes", kernel.ring_bytes, 4096, 64 << 20);
  table.integer("max_cgroups", kernel.max_cgroups, 64, 65536);
  table.integer("max_go_processes", kernel.max_go_processes, 16, 65536);
  table.integers("levels_percent", kernel.levels_percent, 1, 100, 8, true);
  table.integer("rearm_percent", kernel.rearm_percent, 1, 50);
  table.seconds("time_to_limit_seconds", kernel.time_to_limit, 0, 3600);
  table.flag("rest_page_fault_hook", config.watermark_gate.enabled);
  table.seconds("page_fault_hook_hold_seconds", config.watermark_gate.hold, 0.1, 3600);
  table.flag("run_time_stats", config.run_time_stats);
  table.rungs("best_rung", kernel.forced);
}

void read_sampler(TableReader table, SamplerConfig& sampler) {
  table.seconds("slow_seconds", sampler.slow, 0.1, 3600);
  table.seconds("fast_seconds", sampler.fast, 0.05, 3600);
  table.ratio("fast_ratio", sampler.fast_ratio);
}

void read_triggers(TableReader table, TriggerConfig& triggers) {
  table.integer("prepare_percent", triggers.prepare_percent, 1, 100);
  table.integers("capture_percents", triggers.capture_percents, 1, 100, 8, true);
  table.integer("min_headroom_bytes", triggers.min_headroom_bytes, 0, std::int64_t{1} << 40);
  table.ratio("nonreclaimable_ratio", triggers.nonreclaimable_ratio);
  table.seconds("cooldown_seconds", triggers.cooldown, 0, 86400);
  table.integer("budget", triggers.budget, 0, 1000);
  table.seconds("budget_window_seconds", triggers.budget_window, 1, 86400);
}

void read_capture(TableReader table, Config& config) {
  table.integer("workers", config.capture_workers, 1, 16);
  table.seconds("reader_idle_seconds", config.reader_idle, 0, 86400);
  TableReader http = table.table("http");
  http.integers("ports", config.http.ports, 1, 65535, 32, false);
  http.text("path", config.http.path);
  http.seconds("timeout_seconds", config.http.timeout, 0.05, 60);
  http.integer("max_body_bytes", config.http.max_body_bytes, 1024, 256 << 20);
  TableReader collector = table.table("collector");
  collector.integers("ports", config.collector.ports, 1, 65535, 8, false);
  collector.seconds("timeout_seconds", config.collector.timeout, 0.05, 10);
  TableReader live = table.table("live");
  live.seconds("timeout_seconds", config.live_timeout, 0.01, 60);
  TableReader walk = table.table("at_kill");
  walk.integer("pool_bytes", config.kernel.walk_pool_bytes, 64 << 10, 1 << 30);
  walk.integer("max_buckets", config.kernel.walk_max_buckets, 1, 4 << 20);
  walk.seconds("max_seconds", config.kernel.walk_max_time, 0.001, 10);
  walk.seconds("container_seconds", config.kernel.walk_cgroup_time, 0.001, 10);
  TableReader spool = table.table("spool");
  spool.integer("files", config.spool.files, 1, 100000);
  spool.integer("bytes", config.spool.bytes, 1 << 20, std::int64_t{1} << 40);
  spool.integer("memory_bytes", config.spool.memory_bytes, 0, 64 << 20);
}

void read_trend(TableReader table, TrendConfig& trend) {
  table.flag("enabled", trend.enabled);
  table.integer("max_memory_bytes", trend.store.max_bytes, 64 << 10, 1 << 30);
  table.seconds("min_interval_seconds", trend.schedule.min_interval, 1, 3600);
  table.seconds("max_interval_seconds", trend.schedule.max_interval, 1, 86400);
  table.seconds("suspect_after_seconds", trend.suspect_after, 0, 86400);
  table.ratio("core_share", trend.core_share);
  table.ratio("contents_core_share", trend.contents_core_share);
  for (const char* key : {"http", "http_interval_seconds"}) {
    table.removed(key, "trends are read from memory only; delete this line");
  }
}

void read_operations(TableReader table, OperationPatterns& patterns) {
  std::vector<std::string> rows;
  table.texts("patterns", rows, OperationPatterns::kMax, OperationPatterns::fault_of);
  if (auto made = OperationPatterns::make(rows)) patterns = std::move(*made);
}

void read_incidents(TableReader table, Config& config) {
  table.integer("keep_count", config.retention.count, 1, 100000);
  table.integer("keep_bytes", config.retention.bytes, 1 << 20, std::int64_t{1} << 44);
  table.seconds("keep_seconds", config.retention.age, 60, 86400.0 * 3650);
  table.integer("repeats_per_minute", config.correlator.repeats.per_minute, 0, 6000);
  table.integer("repeats_burst", config.correlator.repeats.burst, 1, 10000);
}

void read_kubernetes(TableReader table, KubernetesConfig& kubernetes) {
  table.automatic("enabled", kubernetes.mode);
  table.text("api_server", kubernetes.api_server);
  table.text("token_file", kubernetes.token_file);
  table.text("ca_file", kubernetes.ca_file);
  table.text("node_name", kubernetes.node_name);
  table.integer("max_pods", kubernetes.max_pods, 1, PodTable::kMax);
  table.flag("post_events", kubernetes.post_events);
  table.flag("capture_opt_in", kubernetes.capture_opt_in);
}

void read_evidence_sinks(TableReader& table, SinksConfig& sinks) {
  TableReader s3 = table.table("s3");
  s3.text("bucket", sinks.s3.bucket);
  s3.text("endpoint", sinks.s3.endpoint);
  s3.text("region", sinks.s3.region);
  s3.text("prefix", sinks.s3.prefix);
  s3.text("style", sinks.s3.style);
  s3.text("credentials_file", sinks.s3.credentials_file);
  s3.text("profile", sinks.s3.profile);
  s3.text("ca_file", sinks.s3.ca_file);
  s3.seconds("timeout_seconds", sinks.s3.timeout, 1, 600);
  TableReader pyroscope = table.table("pyroscope");
  pyroscope.text("url", sinks.pyroscope.url);
  pyroscope.text("headers_file", sinks.pyroscope.headers_file);
  pyroscope.text("ca_file", sinks.pyroscope.ca_file);
  pyroscope.flag("parca", sinks.pyroscope.is_parca);
}

void read_sinks(TableReader table, SinksConfig& sinks) {
  table.text("cluster_name", sinks.cluster_name);
  table.seconds("hold_seconds", sinks.budget.age, 60, 86400.0 * 30);
  table.integer("hold_bytes", sinks.budget.bytes, 1 << 20, std::int64_t{1} << 40);
  TableReader otlp = table.table("otlp");
  otlp.text("endpoint", sinks.otlp.endpoint);
  otlp.text("headers_file", sinks.otlp.headers_file);
  otlp.text("ca_file", sinks.otlp.ca_file);
  otlp.flag("command_line", sinks.otlp.has_command_line);
  otlp.flag("service_from_labels", sinks.otlp.has_service_from_labels);
  otlp.flag("memory_events", sinks.otlp.has_memory_events);
  otlp.seconds("near_limit_seconds", sinks.otlp.near_limit_for, 1, 86400);
  otlp.flag("profiles", sinks.otlp.has_profiles);
  otlp.flag("metrics", sinks.otlp.has_metrics);
  otlp.seconds("metrics_interval_seconds", sinks.otlp.metrics_interval, 0, 3600);
  TableReader webhook = table.table("webhook");
  webhook.text("url", sinks.webhook.url);
  webhook.text("headers_file", sinks.webhook.headers_file);
  webhook.text("ca_file", sinks.webhook.ca_file);
  webhook.flag("cloud_events", sinks.webhook.is_cloud_event);
  webhook.seconds("timeout_seconds", sinks.webhook.timeout, 0.1, 60);
  TableReader file = table.table("file");
  file.text("path", sinks.file.path);
  file.integer("max_bytes", sinks.file.max_bytes, 1 << 16, std::int64_t{1} << 40);
  read_evidence_sinks(table, sinks);
}

void read_root(const toml::table& root, std::string_view file, Config& config, TableReading& reading) {
  TableReader table(&root, file, "", reading);
  table.text("data_dir", config.data_dir);
  table.text("metrics_listen", config.metrics_listen);
  table.text("web_listen", config.web_listen);
  table.seconds("max_core_stall_seconds", config.max_core_stall, 0.1, 3600);
  table.text("log_level", config.log_level);
  table.text("cgroup_root", config.cgroup_root);
  table.text("proc_root", config.proc_root);
  table.text("host_root", config.host_root);
  table.flag("nested_runtimes", config.nested_runtimes);
  read_kernel(table.table("kernel"), config);
  read_sampler(table.table("sampler"), config.sampler);
  read_triggers(table.table("triggers"), config.triggers);
  read_capture(table.table("capture"), config);
  read_trend(table.table("trend"), config.trend);
  table.table("analyses").flag("enabled", config.is_analysing);
  table.table("growth").flag("enabled", config.is_sampling_growth);
  table.table("metrics").flag("processes", config.is_showing_processes);
  read_operations(table.table("operations"), config.patterns);
  read_incidents(table.table("incidents"), config);
  read_kubernetes(table.table("kubernetes"), config.kubernetes);
  read_sinks(table.table("sinks"), config.sinks);
  table.table("testing").integer("patience", config.patience, 1, 100);
}

// Copies the values of keys that several parts need.
void spread(Config& config) {
  config.triggers.time_to_limit = config.kernel.time_to_limit;
  for (Nanoseconds* limit : {&config.live_timeout, &config.http.timeout, &config.collector.timeout})
    *limit *= config.patience;
  config.http.proc_root = config.proc_root;
  config.http.patterns = config.patterns;
  config.correlator.patterns = config.patterns;
  config.collector.proc_root = config.proc_root;
  config.sampler.proc_root = config.proc_root;
  config.sampler.bundles.host_root = config.host_root;
  config.sampler.nested = config.nested_runtimes ? NestedRuntimes::kCounted : NestedRuntimes::kNotCounted;
}

// What is wrong with an address of a sink; "" = nothing.
std::string sink_fault(const SinksConfig& sinks) {
  if (!sinks.otlp.endpoint.empty() && !is_http_url(sinks.otlp.endpoint)) {
    return "'sinks.otlp.endpoint' must be http://HOST:PORT or https://HOST:PORT";
  }
  if (!sinks.webhook.url.empty() && !is_http_url(sinks.webhook.url)) {
    return "'sinks.webhook.url' must be http://HOST or https://HOST, without user and password";
  }
  if (!sinks.file.path.empty() && sinks.file.path != "-" && sinks.file.path.front() != '/') {
    return "'sinks.file.path' must be an absolute path or \"-\"";
  }
  if (!sinks.pyroscope.url.empty() && !is_http_url(sinks.pyroscope.url)) {
    return "'sinks.pyroscope.url' must be http://HOST:PORT or https://HOST:PORT";
  }
  const std::string& style = sinks.s3.style;
  if (style != "auto" && style != "path" && style != "virtual_host") {
    return "'sinks.s3.style' must be auto, path or virtual_host";
  }
  if (sinks.s3.bucket.empty()) return "";
  if (const auto target = make_s3_target(sinks.s3); !target) return target.error().message;
  return "";
}

std::optional<Error> check_values(const Config& config, std::string_view file) {
  const auto invalid = [&](std::string message) {
    return Error{ErrorCode::kInvalid, std::string(file) + ": " + std::move(message)};
  };
  if (config.data_dir.empty() || config.data_dir.front() != '/') return invalid("'data_dir' must be an absolute path");
  if (config.http.path.empty() || config.http.path.front() != '/' ||
      config.http.path.find_first_of(" \r\n\t") != std::string::npos) {
    return invalid("'capture.http.path' must start with '/' and hold no white space");
  }
  if (config.log_level != "debug" && config.log_level != "info" && config.log_level != "warn" &&
      config.log_level != "error") {
    return invalid("'log_level' must be one of debug, info, warn, error");
  }
  if (config.trend.schedule.min_interval > config.trend.schedule.max_interval) {
    return invalid("'trend.min_interval_seconds' must not exceed 'trend.max_interval_seconds'");
  }
  if (std::string fault = sink_fault(config.sinks); !fault.empty()) return invalid(std::move(fault));
  if ((config.kernel.ring_bytes & (config.kernel.ring_bytes - 1)) != 0) {
    return invalid("'kernel.ring_bytes' must be a power of two");
  }
  return std::nullopt;
}

Result<std::vector<ConfigValue>> read_values(std::string_view toml_text, std::string_view file_name, Config& config) {
  TableReading reading;
  try {
    const toml::table root = toml::parse(toml_text, file_name);
    read_root(root, file_name, config, reading);
  } catch (const toml::parse_error& e) {
    reading.error = Error{ErrorCode::kInvalid, position(e.source(), file_name) + ": " + printable(e.description())};
  }
  if (!reading.error) reading.error = check_values(config, file_name);
  if (reading.error) return tl::make_unexpected(std::move(*reading.error));
  return std::move(reading.in_force);
}

}  // namespace

Result<Config> parse_config(std::string_view toml_text, std::string_view file_name) {
  Config config;
  RETURN_IF_ERROR(read_values(toml_text, file_name, config));
  spread(config);
  return config;
}

Result<std::vector<ConfigValue>> config_values(std::string_view toml_text, std::string_view file_name) {
  Config config;
  return read_values(toml_text, file_name, config);
}

Result<Config> load_config(const std::string& explicit_path) {
  const std::string path = explicit_path.empty() ? kDefaultConfigPath : explicit_path;
  Result<std::string> text = read_file(path, kMaxConfigBytes);
  if (!text.has_value()) {
    const bool absent_default = explicit_path.empty() && text.error().code == ErrorCode::kNotFound;
    if (absent_default) return parse_config("", "defaults");
    return tl::make_unexpected(std::move(text).error());
  }
  return parse_config(*text, path);
}

}  // namespace oomw
