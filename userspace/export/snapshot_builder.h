// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/metrics_snapshot.h"
#include "model/memory_model.h"

namespace oomw {

// The model's part of a snapshot: containers (with an identity or a limit of their own), lost stages, counts.
// Sandboxes are left out. A pod's own cgroup appears only if it limits a container that has no limit, then with
// an empty name and only its memory. Containers with equal labels (replicas of a unit, lingering restarts) merge: the
// newest living one wins. At most max_containers, largest usage first; the rest is counted in
// LostStage::kMetricsContainers. O(containers): called on request, not per event.
// suspicions: the processes that were judged.
void add_model(const MemoryModel& model, std::size_t max_containers, MetricsSnapshot& snapshot,
               const LeakSuspicions& suspicions = {});

}  // namespace oomw
