// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"

namespace oomw {

// A Kubernetes Event about a pod, not posted yet.
struct PodEvent {
  std::string id;  // of the incident; the Event is named after it, so that posting it twice creates only one
  WallTime time;
  std::string name_space, pod, pod_uid, container;
  std::string message;
};

// core/v1 Event as JSON; "" if its namespace or pod name is not valid in the API.
[[nodiscard]] std::string event_json(const PodEvent& event, const std::string& node);
[[nodiscard]] std::string event_path(const PodEvent& event);

}  // namespace oomw
