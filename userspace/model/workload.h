// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "events/event.h"

namespace oomw {

// The object that a user changes to change the pod: the Deployment, not the ReplicaSet that owns the pod.
struct Workload {
  std::string kind;  // "Deployment", ...; "" = none, or not known
  std::string name;
  std::string evidence;  // one of those below
  friend bool operator==(const Workload&, const Workload&) = default;
};

// The pod's controller is the workload.
inline constexpr std::string_view kByOwner = "owner";
// The ReplicaSet's name is the workload's plus the hash in the pod's label: the workload's controller made both.
inline constexpr std::string_view kByTemplateHash = "pod_template_hash";
// A convention, not a proof: the Job's name ends in the time that a CronJob planned it for.
inline constexpr std::string_view kByJobName = "job_name";

// "Deployment cart"; "" = none. A claim without proof is marked: "CronJob backup (by the Job's name)". Not printable
// yet.
[[nodiscard]] std::string to_text(const Workload& workload);

// Pure; needs no permission beyond reading pods. A static pod, which its node owns, has none.
[[nodiscard]] Workload workload_of(const PodSeen& pod);

}  // namespace oomw
