// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "events/event.h"
#include "model/memory_model.h"

namespace oomw {

enum class LimitScope { kUnknown, kContainer, kPod, kAncestor, kNode };
[[nodiscard]] std::string_view to_string(LimitScope scope);  // unknown | container | pod | ancestor | node

// The limit that a victim met.
struct LimitPlace {
  LimitScope scope = LimitScope::kUnknown;
  CgroupId owner;  // whose limit; none: the node's, or not known
  // The owner is the cgroup of the victim's own pod: the pod's containers that lived at that time without its
  // sandbox, the victim's first. Empty: the owner is no pod's.
  std::vector<CgroupId> sharers;

  [[nodiscard]] bool is_pods() const { return !sharers.empty(); }
};

// Whose limit a limit is, in the one place that decides it: the label of the kill counter, the incident, the triggers
// and the notes ask here. Pure; core thread.
//
// A kubelet gives a pod whose containers all have limits a limit of its own: the sum of the containers', or the
// largest init container's. The sandbox is charged to it as well, so with one container it is reached first.
//   - container: the limit of the victim's container or of a cgroup inside it; or that of its pod, where no other
//     container lives in the pod and the two limits are the same (or the container's was never read);
//   - pod: that of its pod otherwise: several containers fill it, or it is not the container's;
//   - ancestor: any other cgroup's above: a namespace's, a slice's, a nested group's;
//   - node: none; unknown: nobody reported an owner and no limit is known above the victim.
// A pod's cgroup is the one right above the container whose path names a pod and no container. So directories that a
// workload makes below its own container never make its pod another one.
[[nodiscard]] LimitPlace place_of_limit(const OomKill& kill, const MemoryModel& model);
// As reported, else the limit nearest to full above the victim; none = the node, or not known.
[[nodiscard]] CgroupId limit_owner_of(const OomKill& kill, const MemoryModel& model);

// Runs nothing of its pod's own, only holds its namespaces. Its bundle marks it, or has no container's name, which
// every container's has; without a bundle the API knows the pod and no container of that id.
[[nodiscard]] bool is_sandbox(const CgroupState& state, const MemoryModel& model);

// The cgroup that a limit of `limited` is counted for at `at`: the container of a pod with only one, else itself.
[[nodiscard]] CgroupId counted_for(CgroupId limited, MonotonicTime at, const MemoryModel& model);

}  // namespace oomw
