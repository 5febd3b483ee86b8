// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "incident/incident.h"
#include "kubernetes/event_queue.h"

namespace oomw {

// The Event that `kubectl describe pod` shows for an incident: the verdict and the place of the evidence. nullopt if
// the incident is of no pod. `pod`: as the API knows it, may be null; kubectl searches by its uid (a static pod's
// cgroups bear another).
[[nodiscard]] std::optional<PodEvent> pod_event_of(const Incident& incident, const std::string& directory,
                                                   const PodSeen* pod);

}  // namespace oomw
