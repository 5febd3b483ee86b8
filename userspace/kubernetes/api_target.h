// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace oomw {

enum class KubernetesMode { kAuto, kOn, kOff };

// [kubernetes] of oomwitness.toml. "" = the value that a pod of the cluster has.
struct KubernetesConfig {
  KubernetesMode mode = KubernetesMode::kAuto;  // auto: on inside a cluster
  std::string api_server;                       // "https://10.96.0.1:443"; "" = KUBERNETES_SERVICE_HOST and _PORT
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  std::string node_name;  // "" = NODE_NAME
  std::uint32_t max_pods = 2'000;
  bool post_events = false;
  bool capture_opt_in = false;  // capture (request or read) only pods that are annotated for it
};

// The API server, and the node to list pods of; all fields are checked.
struct ApiTarget {
  std::string server;  // "https://host:port", no slash at the end
  std::string token_file, ca_file;
  std::string node;
};

using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment process_environment();

[[nodiscard]] std::string host_name();  // the machine's; of a pod, its own name
[[nodiscard]] std::string node_name(const KubernetesConfig& config, const Environment& environment);  // "": not set

// nullopt: not wanted, or not in a cluster. kInvalid: wanted; the message names what is missing or wrong.
[[nodiscard]] Result<std::optional<ApiTarget>> find_api(const KubernetesConfig& config, const Environment& environment);

}  // namespace oomw
