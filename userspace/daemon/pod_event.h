// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "incident/incident.h"
#include "kubernetes/event_queue.h"

namespace oomw {

// What `kubectl describe pod` is to show of an incident: the verdict and where the evidence lies. nullopt
// if it is of no pod. `pod`: as the API knows it, may be null; its uid is the one that kubectl looks for
// (a static pod's cgroups bear another).
[[nodiscard]] std::optional<PodEvent> pod_event_of(const Incident& incident, const std::string& directory,
                                                   const PodSeen* pod);

}  // namespace oomw
