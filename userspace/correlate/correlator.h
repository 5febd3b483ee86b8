// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "correlate/analysis_memory.h"
#include "correlate/capture_memory.h"
#include "correlate/collector_memory.h"
#include "correlate/growth_memory.h"
#include "correlate/incident_builder.h"
#include "correlate/kill_history.h"
#include "correlate/open_incidents.h"
#include "correlate/repeat_limit.h"
#include "correlate/resolved_kill.h"
#include "events/event.h"
#include "incident/incident.h"
#include "model/memory_model.h"
#include "model/status_judge.h"
#include "model/victim_set.h"

namespace oomw {

struct CorrelatorConfig {
  // From the kill to the first writing, so that a capture in progress is included. Also separates decisions where
  // nothing better does: a second decision for the same limit needs another failed allocation first.
  Nanoseconds settle = std::chrono::milliseconds(5);
  bool has_groups = true;  // memory.oom.group. Without (v1) each decision kills one process: time joins no kills
  // Captures and samples that arrive this long after the last victim still amend the incident, and up to 1 s more.
  Nanoseconds amend = std::chrono::seconds(5);
  // Walks of exiting processes are decoded one after the other: 0.7 s for the largest on a quiet node, 7 s on a busy
  // one, and 256 may wait. A walk belongs to its victim alone, so a late one cannot be mistaken for another's.
  Nanoseconds amend_walks = std::chrono::seconds(45);  // < MemoryModel::kLinger
  // For a pod's status about this very run, identified by the run's id: statuses more than 20 s late were seen.
  Nanoseconds amend_statuses = std::chrono::seconds(55);  // < MemoryModel::kLinger, > StatusJudge::kWindow
  Nanoseconds capture_lookback = std::chrono::minutes(30);
  // Between two victims of one group kill; 51 ms were seen in an emulated VM.
  Nanoseconds group_gap = std::chrono::seconds(1);
  // From the first victim to the last, where only the group shows that they belong together.
  Nanoseconds group_span = std::chrono::seconds(30);
  std::size_t max_captures = 8;        // per incident: newest, but always the best of each method
  std::size_t max_remembered = 2'000;  // captures kept for later kills, all cgroups
  std::size_t max_open = 1'024;        // incidents open at once; the oldest closes early for more
  // Incidents of one container and one limit, open at once: reached when a program is killed and restarted 13 times a
  // second. Further kills are merged into the newest incident, which counts and explains them.
  std::size_t max_open_per_place = 64;
  RepeatConfig repeats;
  OperationPatterns patterns;  // of what growth is counted for
};

// Joins kills, captures, series and context into incidents. A pure function of events and time: core thread, no clock,
// no I/O.
//   - one incident per OOM decision. A victim joins a decision by the first of these that is known: `decision` (exact,
//     at any distance in time); the same group (memory.oom.group), trigger and limit owner, each within `group_gap` of
//     the previous one; the same owner and trigger within `settle`. Where a decision is known, time alone never joins;
//   - a second report of the same victim (another source, or mark_victim twice) only fills gaps;
//   - take_ready() returns an incident when it has settled, and again (same id, amended) when something that belongs
//     to it arrived within `amend` of the last victim, a victim's walk within `amend_walks`, or a status of the
//     victim's run within `amend_statuses`;
//   - every kill ends in an incident, its own decision's or one it was merged into (merged_kills(), noted in the
//     incident), or else it is counted in lost_incidents();
//   - kills of a container beyond RepeatConfig are counted in its newest incident while that is open
//     (repeated_kills()), else it opens one. A kill by another limit (scope) is not a repeat;
//   - a kill known only from the kernel's count of a cgroup gets an incident without a victim, one for each rise of
//     the count. A late report of it adds the victim to that incident;
//   - no event costs a walk over all open incidents or all remembered captures.
class Correlator {
 public:
  explicit Correlator(CorrelatorConfig config);
  // After model.apply(event). A kill is resolved first.
  void apply(const Event& event, const MemoryModel& model);
  // Finds out everything needed about the report of a kill, before it is applied anywhere.
  [[nodiscard]] ResolvedKill resolve(OomKill kill, const MemoryModel& model);
  // After model.apply(resolved.kill), with nothing in between.
  void take(const ResolvedKill& resolved, const MemoryModel& model);
  // Kubernetes' disagreement about a kill, or its withdrawal; applied if the incident still accepts news.
  void on_status(const StatusFinding& finding, MonotonicTime now);
  // unplaced: kills reported in that time without a cgroup; any of them may be among the counted ones.
  void on_unobserved(const UnobservedKills& kills, const std::vector<OomKill>& unplaced, const MemoryModel& model);
  // The cgroup for a kill that was reported without one, if exactly one incident still lacks a victim's name.
  [[nodiscard]] CgroupId only_place_that_lacks_a_name() const { return open_.only_place_that_lacks_a_name(); }
  // A kill whose incident an earlier run has written: a further report of it is no news.
  void pass_over(const OomKill& kill) { (void)seen_victims_.add(kill.victim, kill.time); }
  // Incidents due at `now`; wall_offset_ns = CLOCK_REALTIME - CLOCK_MONOTONIC.
  [[nodiscard]] std::vector<Incident> take_ready(MonotonicTime now, const MemoryModel& model,
                                                 std::int64_t wall_offset_ns);
  // A kill of earlier runs, for incidents of the same workload.
  void remember(const std::string& workload, EarlierKill kill) { history_.add(workload, std::move(kill)); }
  // When take_ready() will have something; nullopt = nothing open.
  [[nodiscard]] std::optional<MonotonicTime> next_due() const;

  [[nodiscard]] std::uint64_t decisions() const { return decisions_; }        // known from reported kills
  [[nodiscard]] std::uint64_t merged_kills() const { return merged_kills_; }  // into another's incident
  [[nodiscard]] std::uint64_t repeated_kills() const { return repeated_kills_; }
  [[nodiscard]] std::uint64_t closed_early() const { return closed_early_; }  // written, but not amended to the end
  [[nodiscard]] std::uint64_t lost_incidents() const { return lost_incidents_; }
  [[nodiscard]] std::uint64_t looked_at() const { return open_.looked_at(); }

 private:
  // Changes that arrive together are written together, because an amendment rewrites two files. Each waits twice as
  // long as the one before, up to kAmendDelay << kMaxDoublings: 9 in 5 s.
  static constexpr Nanoseconds kAmendDelay = std::chrono::milliseconds(20);
  static constexpr unsigned kMaxDoublings = 5;
  // A group kill of thousands takes long; the incident is written meanwhile and amended.
  static constexpr int kMaxSettles = 4;

  // News of a repeat is only one more: it waits longer than other news.
  static constexpr Nanoseconds kRepeatDelay = std::chrono::seconds(1);

  OpenIncident& open_decision(KillEvidence evidence);
  void repeat(OpenIncident& open, const OomKill& kill);
  [[nodiscard]] OpenIncident* lacking_this_name(const OomKill& kill);
  void on_capture(const CaptureFinished& capture, const MemoryModel& model);
  void on_context(const Event& event, const MemoryModel& model);
  void on_pod(const PodSeen& pod, const MemoryModel& model);
  void learn_about(CgroupId cgroup, MonotonicTime now, const MemoryModel& model);
  void on_created(const CgroupCreated& created);
  void on_trend(const TrendJudged& trend);
  void on_analysis(const HeapAnalysed& analysed);
  void on_growth(const GrowthProfile& growth);
  void on_unplaced(const FilesUnplaced& unplaced);
  void on_process(const ProcessSeen& seen);
  template <typename IsNews>
  void amend_those_about(CgroupId cgroup, MonotonicTime now, IsNews is_news);
  void complete_victim(OpenIncident* open, const OomKill& again);
  void join(OpenIncident& open, const OomKill& kill);
  void reschedule(OpenIncident& open, MonotonicTime now);
  void amend_soon(OpenIncident& open, MonotonicTime now);
  void end_window(OpenIncident& open);
  [[nodiscard]] Nanoseconds longest_wait(const KillEvidence& evidence) const;
  void make_room();
  [[nodiscard]] OpenIncident* find_decision(const OomKill& kill, const MemoryModel& model);
  [[nodiscard]] bool is_same_group_kill(const KillEvidence& evidence, const OomKill& kill) const;
  [[nodiscard]] bool is_same_moment(const KillEvidence& evidence, const OomKill& kill) const;
  [[nodiscard]] MonotonicTime due_of(const OpenIncident& open) const;
  [[nodiscard]] Incident build(KillEvidence& evidence, const MemoryModel& model, std::int64_t wall_offset_ns);
  [[nodiscard]] CaptureSelection selection() const;

  CorrelatorConfig config_;
  OpenIncidents open_;
  std::deque<KillEvidence> overdue_;  // closed before they were written; at most max_open
  CaptureMemory captures_;
  CollectorMemory collectors_;
  AnalysisMemory analyses_;
  GrowthMemory growths_;
  KillHistory history_;
  VictimSet seen_victims_;
  RepeatLimit repeat_limit_;
  std::uint64_t decisions_ = 0;
  std::uint64_t merged_kills_ = 0;
  std::uint64_t repeated_kills_ = 0;
  std::uint64_t closed_early_ = 0;
  std::uint64_t lost_incidents_ = 0;
};

}  // namespace oomw
