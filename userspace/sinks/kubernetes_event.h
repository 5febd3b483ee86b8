// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/rate_limit.h"
#include "incident/incident.h"
#include "kubernetes/api_error.h"
#include "kubernetes/api_target.h"
#include "kubernetes/pod_event.h"
#include "kubernetes/token_file.h"
#include "sinks/delivery.h"

namespace oomw {

// The Event that `kubectl describe pod` shows for an incident: the verdict and the place of the evidence. nullopt if
// the incident is of no pod. `api_uid`: the pod's uid as the API knows it, by which kubectl searches (a static pod's
// cgroups bear another); "" = not known, then that of the cgroup.
[[nodiscard]] std::optional<PodEvent> pod_event_of(const Incident& incident, const std::string& directory,
                                                   const std::string& api_uid);

// What the API server's answer to an Event means. A conflict: it exists already, because the answer to an earlier try
// was lost.
[[nodiscard]] Delivery event_delivery_of(const ApiOutcome& outcome);

// Posts that Event for the first form of an incident; revisions say nothing new to the pod's owner.
//   - kBurst at once, then one each kEvery: a pod that is killed in a loop must not fill etcd;
//   - after a 403 nothing is tried for kForbiddenPause.
class KubernetesEvents final : public Destination {
 public:
  static constexpr int kBurst = 10;
  static constexpr Nanoseconds kEvery = std::chrono::seconds(6);
  static constexpr Nanoseconds kForbiddenPause = std::chrono::minutes(5);
  static constexpr Nanoseconds kMaxAge = std::chrono::hours(1);                // the API server keeps Events no longer
  using FindUid = std::function<std::string(const std::string& incident_id)>;  // any thread; "" = not known

  KubernetesEvents(ApiTarget target, FindUid find_uid, std::shared_ptr<const std::atomic<bool>> stopping,
                   const Clock& clock);
  [[nodiscard]] Delivery deliver(const StoredIncident& stored, unsigned nth) override;
  [[nodiscard]] bool takes_revisions() const override { return false; }
  [[nodiscard]] Nanoseconds pause() const override;
  [[nodiscard]] bool is_newest_first() const override { return true; }

 private:
  [[nodiscard]] ApiOutcome post(const PodEvent& event);

  const ApiTarget target_;
  const FindUid find_uid_;
  const std::shared_ptr<const std::atomic<bool>> stopping_;
  const Clock& clock_;
  TokenFile token_;
  RateLimit pace_{kBurst, kEvery};
  MonotonicTime paused_until_;
};

}  // namespace oomw
