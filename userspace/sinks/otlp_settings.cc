// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_settings.h"

#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::uint64_t kMostTimeoutMs = 60'000;

// Of the signal, else of all signals; "" = not set. An empty variable counts as not set.
std::string value_of(const Environment& environment, const std::string& name) {
  for (const char* prefix : {"OTEL_EXPORTER_OTLP_LOGS_", "OTEL_EXPORTER_OTLP_"}) {
    const auto value = environment((prefix + name).c_str());
    if (value && !value->empty()) return *value;
  }
  return "";
}

std::string without_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string url_of(const SinksConfig::Otlp& config, const Environment& environment) {
  if (!config.endpoint.empty()) return without_slash(config.endpoint) + "/v1/logs";
  const auto own = environment("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT");
  if (own && !own->empty()) return *own;
  const std::string base = value_of(environment, "ENDPOINT");
  return base.empty() ? "" : without_slash(base) + "/v1/logs";
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

Result<> read_protocol(const Environment& environment, OtlpSettings& settings) {
  const std::string protocol = value_of(environment, "PROTOCOL");
  settings.is_json = protocol == "http/json";
  if (protocol.empty() || protocol == "http/protobuf" || settings.is_json) return {};
  return fail(ErrorCode::kInvalid, "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json");
}

Result<> read_environment(const Environment& environment, OtlpSettings& settings) {
  RETURN_IF_ERROR(read_protocol(environment, settings));
  const std::string compression = value_of(environment, "COMPRESSION");
  settings.is_gzip = compression.empty() || compression == "gzip";
  if (const std::string timeout = value_of(environment, "TIMEOUT"); !timeout.empty()) {
    const auto ms = parse_u64(timeout);
    if (!ms || *ms == 0 || *ms > kMostTimeoutMs) {
      return fail(ErrorCode::kInvalid, "OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds, 1 to 60000");
    }
    settings.endpoint.timeout = std::chrono::milliseconds(*ms);
  }
  ASSIGN_OR_RETURN(settings.endpoint.headers, headers_of(value_of(environment, "HEADERS")));
  settings.endpoint.ca_file = value_of(environment, "CERTIFICATE");
  settings.endpoint.certificate_file = value_of(environment, "CLIENT_CERTIFICATE");
  settings.endpoint.key_file = value_of(environment, "CLIENT_KEY");
  return {};
}

}  // namespace

Result<std::optional<OtlpSettings>> find_otlp_logs(const SinksConfig::Otlp& config, const Environment& environment) {
  OtlpSettings settings;
  settings.endpoint.url = url_of(config, environment);
  const bool is_off = config.endpoint.empty() && environment("OTEL_LOGS_EXPORTER").value_or("") == "none";
  if (settings.endpoint.url.empty() || is_off) return std::optional<OtlpSettings>();
  if (!is_http_url(settings.endpoint.url)) {
    return fail(ErrorCode::kInvalid, "the endpoint of OTLP must be http://HOST:PORT or https://HOST:PORT");
  }
  RETURN_IF_ERROR(read_environment(environment, settings));
  if (!config.headers_file.empty()) settings.endpoint.headers_file = config.headers_file;
  if (!config.ca_file.empty()) settings.endpoint.ca_file = config.ca_file;
  return std::optional(std::move(settings));
}

}  // namespace oomw
