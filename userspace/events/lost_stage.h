// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

namespace oomw {

// Every place where events or evidence can get lost: the label `stage` of events_lost_total. The metric shows
// every stage from 0 on; otherwise the first loss would not be an increase. Producers count only under these
// stages, so none can be missing there. Names: lost_stage.cc; meanings: runbook.md.
enum class LostStage : std::uint8_t {
  // Counted by the BPF programs, in the order of enum oomw_lost.
  kRingbufKill,
  kRingbufWatermark,
  kRingbufProcess,
  kRingbufCgroup,
  kReclaimStarts,
  kReclaimTotals,
  kMemcgStates,
  kRingbufWalk,
  kWalkSlots,
  kWalkPool,
  // kernel/
  kDecode,
  kProgramMissed,
  kGoTargets,
  // system/
  kTrackedCgroups,
  kCgroupWalkCut,
  kFastSampling,
  kIdentifyQueue,
  kArguments,
  kClaimedIds,
  kKmsgOverrun,
  kWatchedLimits,
  kWatchedCounts,
  // kubernetes/
  kKubernetesPods,
  // model/
  kModel,
  // captures/
  kGoLooks,
  kGoProcesses,
  kHungFiles,
  kCollectorReadings,
  kHeapAnalyses,
  kGrowth,
  kSpool,
  // correlate/, store/
  kCrossings,
  kIncidents,
  kIncidentAmendments,
  kIncidentDetails,
  kIncidentsUnbuilt,
  kIncidentsClosedEarly,
  kHeldKills,
  kKernelLogBacklog,
  // export/, daemon/
  kMetricsContainers,
  kLog,
  kRecording,
  kEventQueue,
};

inline constexpr std::size_t kLostStages = static_cast<std::size_t>(LostStage::kEventQueue) + 1;

// Cumulative. A stage that is not in it was not counted here, or is 0.
using LostCounts = std::map<LostStage, std::uint64_t>;

[[nodiscard]] std::string_view to_string(LostStage stage);
// In the order of the enum.
[[nodiscard]] const std::array<std::string_view, kLostStages>& lost_stage_names();

}  // namespace oomw
