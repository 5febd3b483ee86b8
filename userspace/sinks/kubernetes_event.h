// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "incident/incident.h"
#include "kubernetes/event_queue.h"
#include "sinks/incident_sink.h"

namespace oomw {

// The Event that `kubectl describe pod` shows for an incident: the verdict and the place of the evidence. nullopt if
// the incident is of no pod. `pod`: as the API knows it, may be null; kubectl searches by its uid (a static pod's
// cgroups bear another).
[[nodiscard]] std::optional<PodEvent> pod_event_of(const Incident& incident, const std::string& directory,
                                                   const PodSeen* pod);

// Posts that Event when an incident is first stored; revisions say nothing new to the pod's owner.
class KubernetesEventSink final : public IncidentSink {
 public:
  using FindPod = std::function<const PodSeen*(const ContainerIdentity&)>;  // nullptr: the API has not reported it
  using Post = std::function<bool(PodEvent)>;                               // queues it; false: dropped and counted
  KubernetesEventSink(FindPod find_pod, Post post) : find_pod_(std::move(find_pod)), post_(std::move(post)) {}
  void publish(const Incident& incident, const StoredAt& at) override;

 private:
  const FindPod find_pod_;
  const Post post_;
};

}  // namespace oomw
