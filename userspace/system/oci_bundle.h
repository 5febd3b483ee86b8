// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "events/event.h"

namespace oomw {

struct BundleConfig {
  std::string host_root;                      // "" = our own /, else where the host's / is mounted ("/host")
  std::vector<std::string> extra_state_dirs;  // more containerd state dirs (tests, k3s, microk8s)
};

// Names from the files that runtimes leave beside a container: no API, no gRPC.
//   containerd: <state>/io.containerd.runtime.v2.task/<ns>/<id>/config.json (annotations
//     io.kubernetes.cri.*), state dirs /run/containerd, /run/k3s/containerd, ...
//   CRI-O: /run/containers/storage/overlay-containers/<id>/userdata/config.json (io.kubernetes.*)
//   podman: the same place, and containers.json of its storage; docker: /var/lib/docker/containers/
//     <id>/config.v2.json.
// Files are bounded (1 MiB) and read without following links out of the state dir; labels bounded
// to 64 of 256 bytes. kNotFound when no runtime knows the id.
[[nodiscard]] Result<ContainerIdentity> read_bundle(const BundleConfig& config, const ContainerIdentity& from_path);

// The JSON readers, pure and fuzzed. They fill what they find into `identity`.
[[nodiscard]] Result<> apply_oci_config(std::string_view json, ContainerIdentity& identity);
[[nodiscard]] Result<> apply_docker_config(std::string_view json, ContainerIdentity& identity);
// containers.json of podman's and CRI-O's storage; kNotFound when identity.id is not in it.
[[nodiscard]] Result<> apply_storage_list(std::string_view json, ContainerIdentity& identity);

}  // namespace oomw
