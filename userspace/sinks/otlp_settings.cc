// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_settings.h"

#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::uint64_t kMostTimeoutMs = 60'000;

// What differs between signals.
struct Signal {
  const char* prefix;  // of its own variables
  const char* path;
};
constexpr Signal kLogs{"OTEL_EXPORTER_OTLP_LOGS_", "/v1/logs"};
constexpr Signal kProfiles{"OTEL_EXPORTER_OTLP_PROFILES_", "/v1development/profiles"};
constexpr Signal kMetrics{"OTEL_EXPORTER_OTLP_METRICS_", "/v1/metrics"};

// The variables as one signal sees them. An empty one counts as not set.
class Variables {
 public:
  Variables(const Environment& environment, const Signal& signal) : environment_(environment), signal_(signal) {}
  // Of the signal, else of all signals; "" = not set.
  [[nodiscard]] std::string value_of(const std::string& name) const {
    const std::string own = own_of(name);
    return own.empty() ? plain("OTEL_EXPORTER_OTLP_" + name) : own;
  }
  [[nodiscard]] std::string own_of(const std::string& name) const { return plain(signal_.prefix + name); }
  [[nodiscard]] std::string plain(const std::string& name) const { return environment_(name.c_str()).value_or(""); }

 private:
  const Environment& environment_;
  const Signal& signal_;
};

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

// `configured`: the base in the configuration; "" = none.
std::string url_of(const std::string& configured, const Variables& variables, const Signal& signal) {
  if (!configured.empty()) return without_slash(configured) + signal.path;
  if (std::string own = variables.own_of("ENDPOINT"); !own.empty()) return own;
  const std::string base = variables.value_of("ENDPOINT");
  return base.empty() ? "" : without_slash(base) + signal.path;
}

// "a%20b" -> "a b"; nullopt: not such text.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto byte = i + 2 < text.size() ? parse_u64(text.substr(i + 1, 2), 16) : std::nullopt;
    if (!byte) return std::nullopt;
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

// "key=value,key2=value2", values percent-encoded.
Result<std::vector<std::string>> headers_of(const std::string& text) {
  std::string lines;
  for (const std::string_view pair : split(text, ',')) {
    if (trim(pair).empty()) continue;
    const auto equals = pair.find('=');
    const auto value = equals == std::string_view::npos ? std::nullopt : unescaped(trim(pair.substr(equals + 1)));
    if (!value || value->find('\n') != std::string::npos) {
      return fail(ErrorCode::kInvalid, "OTEL_EXPORTER_OTLP_HEADERS must be key=value,key=value");
    }
    lines += std::string(trim(pair.substr(0, equals))) + ": " + *value + "\n";
  }
  return parse_header_lines(lines);
}

Result<> read_protocol(const Variables& variables, OtlpSettings& settings) {
  const std::string protocol = variables.value_of("PROTOCOL");
  settings.is_json = protocol == "http/json";
  if (protocol.empty() || protocol == "http/protobuf" || settings.is_json) return {};
  return fail(ErrorCode::kInvalid, "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json");
}

Result<> read_environment(const Variables& variables, OtlpSettings& settings) {
  RETURN_IF_ERROR(read_protocol(variables, settings));
  const std::string compression = variables.value_of("COMPRESSION");
  settings.is_gzip = compression.empty() || compression == "gzip";
  if (const std::string timeout = variables.value_of("TIMEOUT"); !timeout.empty()) {
    const auto ms = parse_u64(timeout);
    if (!ms || *ms == 0 || *ms > kMostTimeoutMs) {
      return fail(ErrorCode::kInvalid, "OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds, 1 to 60000");
    }
    settings.endpoint.timeout = std::chrono::milliseconds(*ms);
  }
  ASSIGN_OR_RETURN(settings.endpoint.headers, headers_of(variables.value_of("HEADERS")));
  settings.endpoint.ca_file = variables.value_of("CERTIFICATE");
  settings.endpoint.certificate_file = variables.value_of("CLIENT_CERTIFICATE");
  settings.endpoint.key_file = variables.value_of("CLIENT_KEY");
  return {};
}

Result<Nanoseconds> interval_of(const SinksConfig::Otlp& config, const Variables& variables) {
  constexpr std::uint64_t kDefaultMs = 60'000, kLeastMs = 1'000, kMostMs = 3'600'000;
  if (config.metrics_interval > Nanoseconds{0}) return config.metrics_interval;
  const std::string text = variables.plain("OTEL_METRIC_EXPORT_INTERVAL");
  const auto ms = text.empty() ? std::optional(kDefaultMs) : parse_u64(text);
  if (ms && *ms >= kLeastMs && *ms <= kMostMs) return Nanoseconds(std::chrono::milliseconds(*ms));
  return fail(ErrorCode::kInvalid, "OTEL_METRIC_EXPORT_INTERVAL must be milliseconds, 1000 to 3600000");
}

Result<std::optional<OtlpSettings>> settings_of(const SinksConfig::Otlp& config, const Variables& variables,
                                                std::string url) {
  OtlpSettings settings;
  settings.endpoint.url = std::move(url);
  if (!is_http_url(settings.endpoint.url)) {
    return fail(ErrorCode::kInvalid, "the endpoint of OTLP must be http://HOST:PORT or https://HOST:PORT");
  }
  RETURN_IF_ERROR(read_environment(variables, settings));
  if (!config.headers_file.empty()) settings.endpoint.headers_file = config.headers_file;
  if (!config.ca_file.empty()) settings.endpoint.ca_file = config.ca_file;
  return std::optional(std::move(settings));
}

}  // namespace

Result<std::optional<OtlpSettings>> find_otlp_logs(const SinksConfig::Otlp& config, const Environment& environment) {
  const Variables variables(environment, kLogs);
  std::string url = url_of(config.endpoint, variables, kLogs);
  const bool is_off = config.endpoint.empty() && variables.plain("OTEL_LOGS_EXPORTER") == "none";
  if (url.empty() || is_off) return std::optional<OtlpSettings>();
  return settings_of(config, variables, std::move(url));
}

Result<std::optional<OtlpSettings>> find_otlp_metrics(const SinksConfig::Otlp& config, const Environment& environment) {
  const Variables variables(environment, kMetrics);
  const std::string exporter = variables.plain("OTEL_METRICS_EXPORTER");
  const bool is_asked_for = exporter == "otlp" || (exporter.empty() && !variables.own_of("ENDPOINT").empty());
  if (!config.has_metrics && !is_asked_for) return std::optional<OtlpSettings>();
  std::string url = url_of(config.has_metrics ? config.endpoint : "", variables, kMetrics);
  if (url.empty()) url = url_of(config.endpoint, variables, kMetrics);
  if (url.empty()) return fail(ErrorCode::kInvalid, "metrics are wanted, and no endpoint is set");
  auto settings = settings_of(config, variables, std::move(url));
  if (!settings) return settings;
  ASSIGN_OR_RETURN((*settings)->interval, interval_of(config, variables));
  return settings;
}

Result<std::optional<OtlpSettings>> find_otlp_profiles(const SinksConfig::Otlp& config,
                                                       const Environment& environment) {
  if (!config.has_profiles) return std::optional<OtlpSettings>();
  const Variables variables(environment, kProfiles);
  std::string url = url_of(config.endpoint, variables, kProfiles);
  if (url.empty()) return fail(ErrorCode::kInvalid, "profiles are wanted, and no endpoint is set");
  return settings_of(config, variables, std::move(url));
}

}  // namespace oomw
