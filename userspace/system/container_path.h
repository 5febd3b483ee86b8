// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "events/event.h"

namespace oomw {

// A memory cgroup's owner, from its path alone. Pure and fuzzed: the path is hostile.
// Forms: Kubernetes cgroupfs and systemd drivers, containerd, CRI-O, docker, podman, rootless,
// systemd units, lxc, k3s, static pods, the containerd-with-wrong-driver form "slice:cri-containerd:ID". Helper scopes
// (conmon) and pod-level slices give the pod's parts without a container id. A plain cgroup gives nullopt.
// A child below a container scope ("/container", "init.scope") belongs to that container.
//   - kNotCounted: the first pod or container from the root is the owner. A workload may make any directories below its
//     own cgroup, a `kubepods/pod<uid>/<id>` with another tenant's names too. For the same reason no pod lies in
//     user.slice, where every user makes cgroups;
//   - kCounted: the last one is. For a node whose container runtime is itself in a container (kind seen from the
//     host, docker in docker), where all that may make cgroups in it is trusted.
enum class NestedRuntimes { kNotCounted, kCounted };
[[nodiscard]] std::optional<ContainerIdentity> identity_from_path(std::string_view path,
                                                                  NestedRuntimes nested = NestedRuntimes::kNotCounted);

}  // namespace oomw
