// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "correlate/kill_evidence.h"
#include "events/event.h"
#include "incident/incident.h"
#include "model/memory_model.h"

namespace oomw {

struct CaptureSelection {
  Nanoseconds lookback;
  Nanoseconds amend;
  Nanoseconds amend_walks;
  std::size_t max_captures;
};

// True if the capture belongs to this decision: it is of the limit's owner, of the container or of a victim; it was
// taken within lookback (a victim's walk: until amend_walks); and its process had not exited before (in an earlier
// kill).
[[nodiscard]] bool belongs(const CaptureFinished& capture, const KillEvidence& evidence, const MemoryModel& model,
                           const CaptureSelection& selection);

// What is joined only when an incident is built; oldest first.
struct IncidentSources {
  std::vector<const CaptureFinished*> captures;  // candidates
  std::vector<CollectorSampled> readings;        // of the first victim, before the kill
  std::vector<HeapAnalysed> analyses;            // likewise
  std::optional<IncidentGrowth> growth;          // likewise, of its whole life; nullopt: not sampled
};

// The incident without its verdict; the caller adds that and bounds it. Pure. evidence.wall_offset_ns
// is set; evidence.capture_files learns the names of captures that are selected for the first time.
[[nodiscard]] Incident build_incident(KillEvidence& evidence, const IncidentSources& sources, const MemoryModel& model,
                                      const CaptureSelection& selection);

// What an incident keeps of the Kubernetes API's report.
[[nodiscard]] IncidentPod pod_of(const PodFacts& facts);

}  // namespace oomw
