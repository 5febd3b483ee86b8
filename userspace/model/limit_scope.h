// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

enum class LimitScope { kUnknown, kContainer, kPod, kAncestor, kNode };
[[nodiscard]] std::string_view to_string(LimitScope scope);  // unknown | container | pod | ancestor | node

// The limit that caused a kill.
struct LimitPlace {
  LimitScope scope = LimitScope::kUnknown;
  CgroupId owner;  // of the limit; none: the node's, or not known
  // Where the owner is the cgroup of the victim's own pod: the pod's containers that lived at that time, without its
  // sandbox, the victim's first. Empty: the owner is not its pod.
  std::vector<CgroupId> sharers;

  [[nodiscard]] bool is_pods() const { return !sharers.empty(); }
};

// Finds whose limit was hit. This is the only place that decides it: the label of the kill counter, the incident, the
// triggers and the notes all use it. Pure; core thread.
//
// A kubelet gives a pod whose containers all have limits a limit of its own: the sum of the containers', or the
// largest init container's. The sandbox is charged to it as well, so with one container it is reached first.
//   - container: the limit of the victim's container or of a cgroup inside it; or that of its pod, where no other
//     container lives in the pod and the two limits are the same (or the container's was never read);
//   - pod: that of its pod otherwise: several containers fill it, or it differs from the container's;
//   - ancestor: that of any other cgroup above: a namespace's, a slice's, a nested group's;
//   - node: none; unknown: no source reported an owner and no limit is known above the victim.
// A pod's cgroup is the one right above the container whose path names a pod and no container. Directories that a
// workload makes below its own container therefore never change its pod.
[[nodiscard]] LimitPlace place_of_limit(const OomKill& kill, const MemoryModel& model);
// As reported, else the limit nearest to full above the victim; none = the node, or not known.
[[nodiscard]] CgroupId limit_owner_of(const OomKill& kill, const MemoryModel& model);

// A sandbox runs nothing of its pod's own and only holds its namespaces. Its bundle marks it, or lacks a container's
// name, which every container's bundle has. Without a bundle: the API knows the pod but no container of that id.
[[nodiscard]] bool is_sandbox(const CgroupState& state, const MemoryModel& model);

// The cgroup that a limit of `limited` counts for at time `at`: the only container of a pod with one, else itself.
[[nodiscard]] CgroupId counted_for(CgroupId limited, MonotonicTime at, const MemoryModel& model);

}  // namespace oomw
