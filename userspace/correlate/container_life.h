// SPDX-License-Identifier: Apache-2.0
// Selects the part of a cgroup's history that belongs to the life of the victim's container. A pod's cgroup, or a
// slice, outlives its containers: readings from before this container began belong to earlier ones. Pure.
#pragma once

#include <vector>

#include "correlate/kill_evidence.h"
#include "model/memory_model.h"

namespace oomw {

// Crossings of the limit up to the kill, oldest first: since the container began, and by containers that began earlier
// and still lived. Where the pod's limit counts as the container's, also the crossings of the container's own limit,
// but not the same level twice within a second.
[[nodiscard]] std::vector<WatermarkCrossed> crossings_of(const KillEvidence& evidence, const MemoryModel& model);

// `totals` minus what was counted before the container began.
[[nodiscard]] ReclaimSampled since_begin(ReclaimSampled totals, const KillEvidence& evidence, const MemoryModel& model);

struct UsedSeries {
  std::vector<SeriesPoint> points;  // oldest first
  bool is_pods = false;             // the container was read too seldom: these are its pod's, since it began
};
// The container's usage until `end`. Where its pod's limit counts as its own, also the pod's usage at the kill.
[[nodiscard]] UsedSeries series_of(const KillEvidence& evidence, const MemoryModel& model, MonotonicTime end);

}  // namespace oomw
