// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "incident/incident.h"

namespace oomw {

// What retention must know of an incident, so that it never has to read incident.json again.
struct IncidentFacts {
  // "shop": the pod's namespace, else the first two components of the path above the container's cgroup. Names nothing
  // that a container can choose for itself.
  std::string tenant;
  // "shop/cart/web": namespace, the pod's workload and the container, the same for every restart and every replica.
  // Without a pod's name the tenant with the unit, the runtime's name or the image, or the cgroup's path with its ids
  // replaced by "*". "" = the incident could not be read.
  std::string workload;
  std::uint32_t evidence = 0;  // how much the incident explains; only comparisons mean anything
  WallTime time;               // of the kill
  friend bool operator==(const IncidentFacts&, const IncidentFacts&) = default;
};

// Pure. The names are bounded (256 bytes) and not printable yet.
[[nodiscard]] IncidentFacts facts_of(const Incident& incident);

}  // namespace oomw
