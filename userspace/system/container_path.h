// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "events/event.h"

namespace oomw {

// A memory cgroup's owner, from its path alone. Pure and fuzzed: the path is hostile.
// Forms: Kubernetes cgroupfs and systemd drivers, containerd, CRI-O, docker, podman, rootless,
// kind nesting (the LAST matching segment wins), systemd units, lxc, k3s, static pods, the
// containerd-with-wrong-driver form "slice:cri-containerd:ID". Helper scopes (conmon) and pod-level
// slices give the pod's parts without a container id. A plain cgroup gives nullopt.
// A child below a container scope ("/container", "init.scope") belongs to that container.
[[nodiscard]] std::optional<ContainerIdentity> identity_from_path(std::string_view path);

}  // namespace oomw
