// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/api_target.h"

#include <sys/utsname.h>

#include <cstdlib>

#include "base/text.h"

namespace oomw {
namespace {

constexpr const char* kHost = "KUBERNETES_SERVICE_HOST";
constexpr const char* kPort = "KUBERNETES_SERVICE_PORT";
constexpr const char* kNode = "NODE_NAME";
constexpr std::string_view kScheme = "https://";

// The characters of a node's name, and of the host and port of a URL.
constexpr const char* kNodeChars = "abcdefghijklmnopqrstuvwxyz0123456789.-";
constexpr const char* kHostChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";

bool is_made_of(std::string_view text, const char* chars) {
  return !text.empty() && text.size() <= 253 && text.find_first_not_of(chars) == std::string_view::npos;
}

std::string server_of(const KubernetesConfig& config, const Environment& environment) {
  if (!config.api_server.empty()) {
    const bool has_slash = config.api_server.ends_with('/');
    return config.api_server.substr(0, config.api_server.size() - (has_slash ? 1 : 0));
  }
  const auto host = environment(kHost);
  if (!host || host->empty()) return "";
  const bool is_v6 = host->find(':') != std::string::npos && !host->starts_with('[');
  return std::string(kScheme) + (is_v6 ? "[" + *host + "]" : *host) + ":" + environment(kPort).value_or("443");
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::string host_name() {
  utsname name{};
  return uname(&name) == 0 ? name.nodename : "";
}

std::string node_name(const KubernetesConfig& config, const Environment& environment) {
  return config.node_name.empty() ? environment(kNode).value_or("") : config.node_name;
}

Result<std::optional<ApiTarget>> find_api(const KubernetesConfig& config, const Environment& environment) {
  const bool is_outside = config.api_server.empty() && !environment(kHost);
  if (config.mode == KubernetesMode::kOff || (config.mode == KubernetesMode::kAuto && is_outside)) return std::nullopt;
  ApiTarget target{server_of(config, environment), config.token_file, config.ca_file, node_name(config, environment)};
  if (target.server.empty()) {
    return fail(ErrorCode::kInvalid, "no address: set kubernetes.api_server or KUBERNETES_SERVICE_HOST");
  }
  const bool is_https = target.server.starts_with(kScheme);
  if (!is_https || !is_made_of(std::string_view(target.server).substr(kScheme.size()), kHostChars)) {
    return fail(ErrorCode::kInvalid, "not https://HOST:PORT: " + printable(target.server));
  }
  // Without a node's name the list would cover the whole cluster.
  if (target.node.empty()) {
    return fail(ErrorCode::kInvalid, "no node name: set NODE_NAME (fieldRef spec.nodeName) or kubernetes.node_name");
  }
  if (!is_made_of(target.node, kNodeChars)) {
    return fail(ErrorCode::kInvalid, "not the name of a node: " + printable(target.node));
  }
  return target;
}

}  // namespace oomw
