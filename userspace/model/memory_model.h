// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/event.h"
#include "model/pod_table.h"
#include "model/process_table.h"
#include "model/series.h"

namespace oomw {

// A limit that has changed. None on either side = no limit.
struct LimitChange {
  MonotonicTime seen_at;  // the change lies between the previous reading and this time
  std::optional<std::uint64_t> from;
  std::optional<std::uint64_t> to;
};

// One memory cgroup, container or not. Passive data.
struct CgroupState {
  CgroupId id;
  CgroupId parent;   // none: root or not known
  std::string path;  // from the memory hierarchy's root
  ContainerIdentity identity;
  bool identity_from_bundle = false;
  std::optional<MonotonicTime> created_at;       // none: it existed before the daemon started
  std::optional<ReclaimSampled> parent_reclaim;  // its parent's totals when it was created

  bool sampled = false;  // the readings below are valid
  MonotonicTime sampled_at;
  std::uint64_t usage_bytes = 0;
  std::optional<std::uint64_t> limit_bytes;
  std::optional<LimitChange> limit_change;  // the newest
  std::optional<std::uint64_t> nonreclaimable_bytes;
  std::optional<std::uint64_t> kernel_oom_kills;     // as last read
  std::map<std::string, std::uint64_t> memory_stat;  // last detailed reading
  MonotonicTime memory_stat_at;
  std::map<std::string, std::uint64_t> resident_bytes;  // of its processes by pid, as read after its last kill
  MonotonicTime resident_at;

  std::optional<double> growth_bytes_per_second;  // since the last kill: a dead process does not grow
  MonotonicTime killed_at;
  Series series;
  // Oldest first, kMaxWatermarks at most: a full list drops its oldest time to limit, else its oldest level.
  std::vector<WatermarkCrossed> watermarks;
  std::optional<ReclaimSampled> reclaim;  // newest totals

  std::optional<MonotonicTime> removed_at;

  static constexpr std::size_t kMaxWatermarks = 24;
  // A runtime makes the cgroup and writes its limit some milliseconds later, on a starved node later still.
  static constexpr Nanoseconds kCreation = std::chrono::seconds(2);
  [[nodiscard]] bool is_being_made_at(MonotonicTime time) const { return created_at && time - *created_at < kCreation; }
};

// The limit that will stop a cgroup first: its own or an ancestor's, by least headroom.
struct EffectiveLimit {
  CgroupId owner;
  std::uint64_t limit_bytes = 0;
  std::uint64_t usage_bytes = 0;  // of the owner
  std::optional<std::uint64_t> nonreclaimable_bytes;
};

// All that is known of every memory cgroup and process, built from events alone: the same events give the same model,
// live or replayed. Owned by the core thread; no clock, file or lock inside.
//   - a removed cgroup and an exited process stay for kLinger, because the evidence of a kill is collected after they
//     are gone; expire() drops them;
//   - bounded: at most kMaxCgroups and kMaxProcesses; what does not fit is counted in dropped();
//   - a ProcessExec or ProcessSeen with another start time for a known pid replaces that process (reuse), and a
//     CgroupCreated with the id of a removed cgroup replaces that cgroup.
class MemoryModel {
 public:
  static constexpr Nanoseconds kLinger = std::chrono::seconds(60);
  static constexpr std::size_t kMaxCgroups = 20'000;
  static constexpr std::size_t kMaxProcesses = ProcessTable::kMax;
  static constexpr std::size_t kMaxLostStages = 64;
  // Deepest hierarchy walked. The kernel's default for cgroup.max.depth is no limit; real hierarchies are < 16 deep.
  static constexpr std::size_t kMaxDepth = 64;

  void apply(const Event& event);
  // O(expired): call about once a second.
  void expire(MonotonicTime now);

  [[nodiscard]] const CgroupState* find_cgroup(CgroupId id) const;
  // The process with this pid now (or lingering). start_ticks 0 in key matches any.
  [[nodiscard]] const ProcessState* find_process(ProcessKey key) const { return processes_.find(key); }
  // Processes in the cgroup itself and below it that live, or lived at `at`; at most `max`.
  [[nodiscard]] std::vector<const ProcessState*> processes_under(CgroupId id, std::size_t max,
                                                                 std::optional<MonotonicTime> at = std::nullopt) const;
  [[nodiscard]] std::optional<EffectiveLimit> effective_limit(CgroupId id) const;
  // How long to the limit, at a crossing that was applied. The kernel's figure is of a burst of 40 ms, and an allocator
  // grows by bursts: where usage has hardly risen for a while, that is what counts. nullopt: it does not grow.
  [[nodiscard]] std::optional<Nanoseconds> time_to_limit(const WatermarkCrossed& crossing) const;
  // `id` itself or its nearest ancestor that has a container identity (id or unit not empty).
  [[nodiscard]] const CgroupState* container_of(CgroupId id) const;
  // The identity of the nearest container or unit, or of the pod if its own cgroup is nearer; nullptr: there is none.
  [[nodiscard]] const ContainerIdentity* identity_of(CgroupId id) const;
  // The pod's own cgroup, above its containers'.
  [[nodiscard]] static bool is_pods_own(const CgroupState& state) {
    return !state.identity.pod_uid.empty() && state.identity.id.empty() && state.identity.unit.empty();
  }
  // Its direct children, lingering ones too.
  [[nodiscard]] const std::set<CgroupId>& children_of(CgroupId id) const;
  // `id` itself and the cgroups above it, nearest first; at most kMaxDepth.
  [[nodiscard]] std::vector<CgroupId> path_up(CgroupId id) const;
  // True if `id` is `ancestor` or below it.
  [[nodiscard]] bool is_under(CgroupId id, CgroupId ancestor) const;
  // Where the victim lived: as reported, else where the model last saw its process; none = not known.
  [[nodiscard]] CgroupId cgroup_of(const OomKill& kill) const;

  [[nodiscard]] const std::unordered_map<CgroupId, CgroupState>& cgroups() const { return cgroups_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& lost() const { return lost_; }  // by stage
  [[nodiscard]] const PodTable& pods() const { return pods_; }
  // What did not fit the bounds.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_ + processes_.dropped() + pods_.dropped(); }
  [[nodiscard]] const ProcessTable& processes() const { return processes_; }
  [[nodiscard]] std::size_t process_count() const { return processes_.size(); }  // lingering ones too

 private:
  void on(const OomKill& e);
  void on(const WatermarkCrossed& e);
  void on(const ProcessExec& e);
  void on(const ProcessExit& e);
  void on(const CgroupCreated& e);
  void on(const CgroupRemoved& e);
  void on(const ReclaimSampled& e);
  void on(const EventsLost& e);
  void on(const MemorySampled& e);
  void on(const ProcessSeen& e);
  void on(const ContainerIdentified& e);
  void on(const CaptureFinished& e);
  void on(const HeapWalked&) {}        // only the capture made of it counts
  void on(const CollectorSampled&) {}  // concerns no cgroup's memory; the correlator keeps it
  void on(const TrendJudged&) {}       // likewise
  void on(const FilesUnplaced&) {}     // likewise
  void on(const HeapAnalysed&) {}      // likewise
  void on(const GrowthProfile&) {}     // likewise
  void on(const PodSeen& e);
  void on(const PodGone& e) { pods_.on(e); }
  void on(const PodsCurrent& e) { pods_.on(e); }
  void name_siblings(const ContainerIdentity& named);
  CgroupState* cgroup_for(CgroupId id);  // nullptr when full or id is none
  CgroupState* known(CgroupId id);       // nullptr when not known
  void set_parent(CgroupState& state, CgroupId parent);
  void leave_parent(const CgroupState& state);
  void erase_cgroup(CgroupId id);

  std::unordered_map<CgroupId, CgroupState> cgroups_;
  std::unordered_map<CgroupId, std::set<CgroupId>> children_;
  std::deque<std::pair<MonotonicTime, CgroupId>> removed_;  // for expire()
  ProcessTable processes_;
  PodTable pods_;
  std::map<std::string, std::uint64_t> lost_;
  std::uint64_t dropped_ = 0;
};

}  // namespace oomw
