// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "events/event.h"
#include "model/memory_model.h"
#include "model/status_judge.h"

namespace oomw {

// One OOM decision, and what the model said at its first kill of things that change right after:
// memory.stat of a cgroup that just lost its largest process explains nothing.
//   - what the decision is about is settled by its first victim, the one that the kernel chose: all
//     others died with it (memory.oom.group), also those of other containers.
struct KillEvidence {
  static constexpr std::size_t kMaxVictims = 256;  // memory.oom.group may kill thousands at once

  std::vector<OomKill> kills;  // the first kMaxVictims
  std::size_t victims_not_listed = 0;
  std::size_t merged_decisions = 0;  // whose victims are among these, because incidents were too many
  MonotonicTime first;
  MonotonicTime last;
  CgroupId victim_cgroup;
  CgroupId owner;      // whose limit: as reported, else the one nearest to full; none = node
  CgroupId group;      // killed whole: memory.oom.group; none = each victim for itself
  std::string scope;   // container | ancestor | node
  CgroupId container;  // the first victim's container, else its own cgroup
  CgroupId source;     // where series, watermarks, reclaim and memory_stat come from
  // The owner's, as last read before or told at the kill; the kernel's own figure is in kills.
  std::optional<std::uint64_t> owner_limit_bytes;
  std::optional<LimitChange> limit_change;
  std::map<std::string, std::uint64_t> memory_stat;
  MonotonicTime memory_stat_at;
  std::optional<ReclaimSampled> reclaim;
  std::map<std::string, std::uint64_t> lost;
  std::optional<PodFacts> pod;  // as told before the kill
  std::optional<StatusFinding> disagreement;
  // CLOCK_REALTIME - CLOCK_MONOTONIC when first built: a clock step must not change the id.
  std::optional<std::int64_t> wall_offset_ns;

  [[nodiscard]] const OomKill& chosen() const { return kills.front(); }
  [[nodiscard]] std::size_t victim_count() const { return kills.size() + victims_not_listed; }
  // A further victim.
  void add(const OomKill& kill);
};

[[nodiscard]] KillEvidence evidence_of(const OomKill& first, const MemoryModel& model);

}  // namespace oomw
