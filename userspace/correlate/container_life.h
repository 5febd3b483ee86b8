// SPDX-License-Identifier: Apache-2.0
// What of a cgroup's history belongs to the life of the victim's container. A pod's cgroup, or a slice, outlives its
// containers: what it recorded before this one began is of earlier ones. Pure.
#pragma once

#include <optional>
#include <vector>

#include "correlate/kill_evidence.h"
#include "model/memory_model.h"

namespace oomw {

// Crossings of the limit up to the kill, oldest first: since the container began, and of containers that lived on
// from before. Where the pod's limit counts as the container's, those of the container's own limit as well, but not
// the same level twice within a second.
[[nodiscard]] std::vector<WatermarkCrossed> crossings_of(const KillEvidence& evidence, const MemoryModel& model);

// `totals` without what was counted before the container began.
[[nodiscard]] ReclaimSampled since_begin(ReclaimSampled totals, const KillEvidence& evidence, const MemoryModel& model);

struct UsedSeries {
  std::vector<SeriesPoint> points;  // oldest first
  bool is_pods = false;             // the container itself was read too seldom: the pod's, since it began
};
// What the container used until `end`. With what its pod's limit counted at the kill, where that is the container's.
[[nodiscard]] UsedSeries series_of(const KillEvidence& evidence, const MemoryModel& model, MonotonicTime end);

}  // namespace oomw
