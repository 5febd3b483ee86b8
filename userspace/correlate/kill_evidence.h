// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "correlate/resolved_kill.h"
#include "events/event.h"
#include "incident/incident_answer.h"
#include "model/kill_accounting.h"
#include "model/memory_model.h"
#include "model/status_judge.h"

namespace oomw {

// One OOM decision, and the model's state at its first kill as far as it changes right after: memory.stat of a cgroup
// that just lost its largest process explains nothing.
//   - the first victim, the one that the kernel chose, defines what the decision is about: all others were killed with
//     it (memory.oom.group), also those of other containers;
//   - or it is known only from the kernel's count of a cgroup (`counted`): then there may be no victim.
struct KillEvidence {
  static constexpr std::size_t kMaxVictims = 256;  // memory.oom.group may kill thousands at once
  static constexpr std::size_t kMaxUnplaced = 16;

  std::vector<OomKill> kills;  // the first kMaxVictims
  std::optional<UnobservedKills> counted;
  std::size_t unnamed = 0;        // victims that were counted but never named
  std::vector<OomKill> unplaced;  // reported in that time without a cgroup: some may be the unnamed ones
  std::size_t victims_not_listed = 0;
  std::size_t merged_decisions = 0;  // further decisions whose victims are among these, because incidents were too many
  // Later kills of the same container that are only counted: see RepeatLimit.
  struct Repeats {
    std::uint64_t count = 0;
    MonotonicTime first, last;
  } repeats;
  MonotonicTime first;
  MonotonicTime last;
  CgroupId victim_cgroup;
  CgroupId owner;      // the limit's: as reported, else the one nearest to full; none = node
  CgroupId group;      // killed as a whole: memory.oom.group; none = each victim by itself
  std::string scope;   // container | pod | ancestor | node; "" = not known
  CgroupId container;  // the first victim's container, else its own cgroup
  // The pod's containers at that time, the victim's first; empty unless the pod's limit was hit.
  std::vector<CgroupId> sharers;
  // Readings from before belong to an earlier container; none: the container existed before the daemon started.
  std::optional<MonotonicTime> container_created;
  CgroupId source;       // source of the series: the container's own usage
  CgroupId pressed;      // source of watermarks and reclaim: the cgroup whose limit was hit
  CgroupId stat_source;  // source of memory_stat: the pod's cgroup, where its one container fills it, else `source`
  // The owner's limit, as last read before the kill or reported at it; the kernel's own figure is in kills.
  std::optional<std::uint64_t> owner_limit_bytes;
  std::optional<LimitChange> limit_change;
  std::map<std::string, std::uint64_t> memory_stat;
  MonotonicTime memory_stat_at;
  std::optional<ReclaimSampled> reclaim;
  std::map<std::string, std::uint64_t> lost;
  std::optional<PodFacts> pod;             // as reported before the kill; later reports only fill gaps
  std::optional<MonotonicTime> status_at;  // when a report after the kill filled a gap; none: no report did
  bool is_in_pod = false;                  // also where the API does not know the pod
  std::optional<StatusFinding> disagreement;
  std::optional<StatusFinding> withdrawn;  // the last claim that a late status withdrew
  std::optional<TrendJudged> trend;        // of the first victim's heap
  std::optional<EarlierKill> earlier;      // of the same workload, as last known
  // The name beside the incident of each spool file, given when a profile is first selected: later revisions keep it.
  std::map<std::string, std::string> capture_files;
  std::map<std::string, std::string> lost_files;  // names that were given in vain, and why
  // Found afterwards: the model's readings are from after the kill, and none of them is evidence.
  std::optional<Unwatched> unwatched;
  // CLOCK_REALTIME - CLOCK_MONOTONIC when first built: a clock step must not change the id.
  std::optional<std::int64_t> wall_offset_ns;

  // The victim that the kernel chose; without a victim, a kill with only the cgroup.
  [[nodiscard]] const OomKill& chosen() const { return kills.empty() ? nobody : kills.front(); }
  [[nodiscard]] std::size_t victim_count() const { return kills.size() + victims_not_listed + unnamed; }
  // The id is made of this, so it never changes.
  [[nodiscard]] const OomKill& origin() const { return counted ? nobody : kills.front(); }
  // A further victim.
  void add(const OomKill& kill);
  // A late report of a victim that was only counted.
  void name_one(const ResolvedKill& late, const MemoryModel& model);
  // A status that came after the kill. True if it adds something about this run or its pod.
  bool learn(const PodFacts& later);
  // A claim about this kill, or its withdrawal. False: there is nothing to withdraw.
  bool apply(const StatusFinding& finding);
  // True if the limit is the pod's and counts as the container's.
  [[nodiscard]] bool is_pods_of_one() const { return !sharers.empty() && scope == "container"; }

  OomKill nobody;  // only where `counted`
};

// After model.apply(first.kill).
[[nodiscard]] KillEvidence evidence_of(const ResolvedKill& first, const MemoryModel& model);
[[nodiscard]] KillEvidence evidence_of(const UnobservedKills& counted, const std::vector<OomKill>& unplaced,
                                       const MemoryModel& model);

}  // namespace oomw
