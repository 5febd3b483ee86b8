// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "correlate/resolved_kill.h"
#include "events/event.h"
#include "model/kill_accounting.h"
#include "model/memory_model.h"
#include "model/status_judge.h"

namespace oomw {

// One OOM decision, and what the model said at its first kill of things that change right after:
// memory.stat of a cgroup that just lost its largest process explains nothing.
//   - what the decision is about is settled by its first victim, the one that the kernel chose: all
//     others died with it (memory.oom.group), also those of other containers;
//   - or only the kernel's count of a cgroup tells of it (`counted`): then there may be no victim.
struct KillEvidence {
  static constexpr std::size_t kMaxVictims = 256;  // memory.oom.group may kill thousands at once
  static constexpr std::size_t kMaxUnplaced = 16;

  std::vector<OomKill> kills;  // the first kMaxVictims
  std::optional<UnobservedKills> counted;
  std::size_t unnamed = 0;        // victims that were counted, and nobody named
  std::vector<OomKill> unplaced;  // told of in that time, of any cgroup: some of them may be those
  std::size_t victims_not_listed = 0;
  std::size_t merged_decisions = 0;  // whose victims are among these, because incidents were too many
  MonotonicTime first;
  MonotonicTime last;
  CgroupId victim_cgroup;
  CgroupId owner;      // whose limit: as reported, else the one nearest to full; none = node
  CgroupId group;      // killed whole: memory.oom.group; none = each victim for itself
  std::string scope;   // container | pod | ancestor | node; "" = not known
  CgroupId container;  // the first victim's container, else its own cgroup
  // The pod's containers at that time, the victim's first, where the pod's limit was hit; else empty.
  std::vector<CgroupId> sharers;
  // What came before it is of an earlier container; none: it was there before us.
  std::optional<MonotonicTime> container_created;
  CgroupId source;       // where the series comes from: what the container itself used
  CgroupId pressed;      // where watermarks and reclaim come from: whose limit it was
  CgroupId stat_source;  // where memory_stat comes from: the pod's, where its one container fills it, else `source`
  // The owner's, as last read before or told at the kill; the kernel's own figure is in kills.
  std::optional<std::uint64_t> owner_limit_bytes;
  std::optional<LimitChange> limit_change;
  std::map<std::string, std::uint64_t> memory_stat;
  MonotonicTime memory_stat_at;
  std::optional<ReclaimSampled> reclaim;
  std::map<std::string, std::uint64_t> lost;
  std::optional<PodFacts> pod;             // as reported before the kill, gaps filled by what came after it
  std::optional<MonotonicTime> status_at;  // when a report after the kill filled one; none: none did
  bool is_in_pod = false;                  // whether or not the API knows of the pod
  std::optional<StatusFinding> disagreement;
  std::optional<StatusFinding> withdrawn;  // the last that a late status took back
  std::optional<TrendJudged> trend;        // of the first victim's heap
  // Seen afterwards: readings of the model are from after the kill, and none of them is evidence.
  std::optional<Unwatched> unwatched;
  // CLOCK_REALTIME - CLOCK_MONOTONIC when first built: a clock step must not change the id.
  std::optional<std::int64_t> wall_offset_ns;

  // The one that the kernel chose; without a victim what is known of it, which is its cgroup.
  [[nodiscard]] const OomKill& chosen() const { return kills.empty() ? nobody : kills.front(); }
  [[nodiscard]] std::size_t victim_count() const { return kills.size() + victims_not_listed + unnamed; }
  // What the id is made of: never changes.
  [[nodiscard]] const OomKill& origin() const { return counted ? nobody : kills.front(); }
  // A further victim.
  void add(const OomKill& kill);
  // A late report of one that was only counted.
  void name_one(const ResolvedKill& late, const MemoryModel& model);
  // A status that came after the kill. True if it tells something new of this run or its pod.
  bool learn(const PodFacts& later);
  // A claim about this kill, or its withdrawal. False: nothing to take back.
  bool apply(const StatusFinding& finding);
  // The limit is the pod's and counts as the container's.
  [[nodiscard]] bool is_pods_of_one() const { return !sharers.empty() && scope == "container"; }

  OomKill nobody;  // only where `counted`
};

// After model.apply(first.kill).
[[nodiscard]] KillEvidence evidence_of(const ResolvedKill& first, const MemoryModel& model);
[[nodiscard]] KillEvidence evidence_of(const UnobservedKills& counted, const std::vector<OomKill>& unplaced,
                                       const MemoryModel& model);

}  // namespace oomw
