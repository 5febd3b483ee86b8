// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "events/event.h"
#include "incidents/incident.h"
#include "model/memory_model.h"

namespace oomw {

// One OOM decision, and what the model said at its first kill of things that change right after:
// memory.stat of a cgroup that just lost its largest process explains nothing.
struct KillEvidence {
  static constexpr std::size_t kMaxVictims = 256;  // memory.oom.group may kill thousands at once

  std::vector<OomKill> kills;  // the first kMaxVictims
  std::size_t victims_not_listed = 0;
  MonotonicTime first;
  MonotonicTime last;
  CgroupId victim_cgroup;
  CgroupId owner;      // whose limit: as reported, else the one nearest to full; none = node
  std::string scope;   // container | ancestor | node
  CgroupId container;  // the victim's container, else its own cgroup
  CgroupId source;     // where series, watermarks, reclaim and memory_stat come from
  std::map<std::string, std::uint64_t> memory_stat;
  MonotonicTime memory_stat_at;
  std::optional<ReclaimSampled> reclaim;
  std::map<std::string, std::uint64_t> lost;
  // CLOCK_REALTIME - CLOCK_MONOTONIC when first built: a clock step must not change the id.
  std::optional<std::int64_t> wall_offset_ns;
};

struct CaptureSelection {
  Nanoseconds lookback;
  Nanoseconds amend;
  std::size_t max_captures;
};

[[nodiscard]] KillEvidence evidence_of(const OomKill& first, const MemoryModel& model);

// True if the capture tells of this decision: of the limit's owner, of the container or of a
// victim; taken within lookback; and not of a process that was gone before (an earlier kill's).
[[nodiscard]] bool belongs(const CaptureFinished& capture, const KillEvidence& evidence, const MemoryModel& model,
                           const CaptureSelection& selection);

// Pure. evidence.wall_offset_ns is set.
[[nodiscard]] Incident build_incident(const KillEvidence& evidence, const std::deque<CaptureFinished>& captures,
                                      const MemoryModel& model, const CaptureSelection& selection);

}  // namespace oomw
