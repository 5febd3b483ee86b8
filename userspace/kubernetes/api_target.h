// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace oomw {

enum class KubernetesMode { kAuto, kOn, kOff };

// [kubernetes] of oomwitness.toml. "" = as a pod of the cluster finds it.
struct KubernetesConfig {
  KubernetesMode mode = KubernetesMode::kAuto;  // auto: on inside a cluster
  std::string api_server;                       // "https://10.96.0.1:443"; "" = KUBERNETES_SERVICE_HOST and _PORT
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  std::string node_name;  // "" = NODE_NAME
  std::uint32_t max_pods = 2'000;
  bool post_events = false;
  bool capture_opt_in = false;  // ask and read only pods that are annotated so
};

// The API server to ask, and the node to ask about; all of it checked.
struct ApiTarget {
  std::string server;  // "https://host:port", no slash at the end
  std::string token_file, ca_file;
  std::string node;
};

using Environment = std::function<std::optional<std::string>(const char* name)>;
[[nodiscard]] Environment process_environment();

// nullopt: not wanted, or not in a cluster. kInvalid: wanted, and what is missing.
[[nodiscard]] Result<std::optional<ApiTarget>> find_api(const KubernetesConfig& config, const Environment& environment);

}  // namespace oomw
