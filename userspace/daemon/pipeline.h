// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "correlate/correlator.h"
#include "correlate/resolved_kill.h"
#include "correlate/unplaced_kills.h"
#include "events/event.h"
#include "model/kill_accounting.h"
#include "model/kill_ledger.h"
#include "model/memory_model.h"
#include "model/status_judge.h"
#include "store/ledger_file.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// A decision with the crossing that led to it. kSkip decisions are included, because a capture that was not taken is
// evidence as well.
struct CaptureOrder {
  TriggerDecision decision;
  WatermarkCrossed crossing;
};

// How far earlier runs handled a kill that is applied now.
struct KillBefore {
  bool is_counted = false;  // it is in the restored ledger
  bool is_written = false;  // its incident is on disk
};

// The pure middle of oomwitness: events in, capture orders, incidents and kill counts out. The
// daemon feeds it live events, replay feeds it recorded ones; the same events give the same
// output. No clock, file, thread or lock. Core thread.
//   - a crossing is judged once a newer MemorySampled of the same cgroup is in (the split into reclaimable and not),
//     or after kSampleWait without one;
//   - a kill is counted once per victim, whatever source reports it;
//   - a kill reported without its cgroup (a rate-limited kernel log, a victim gone from /proc) waits for kPlaceWait
//     until the kernel's count of one cgroup rises without a report: it was there, if it is the only one that waits. A
//     kill that no source reported gets an incident as well, of what is known of the place;
//   - made with StandBy it only holds kills (kMaxHeld, the newest) and keeps the model, until take_over(): another
//     daemon counts and writes them;
//   - kills from a time when no daemon watched come as OomKill::unwatched, or only the kernel's count of a cgroup
//     shows them: they are counted and have their incidents like others, marked as seen afterwards.
class Pipeline {
 public:
  static constexpr Nanoseconds kSampleWait = std::chrono::milliseconds(50);
  static constexpr std::size_t kMaxWaiting = 4'096;
  static constexpr std::size_t kMaxHeld = 4'096;
  struct StandBy {};
  // The grace of the accounting, and the second until the next tick().
  static constexpr Nanoseconds kPlaceWait = std::chrono::seconds(3);

  // restored: the state that earlier runs left; nullopt = first run.
  Pipeline(const TriggerConfig& triggers, const CorrelatorConfig& correlator, std::optional<LedgerState> restored);
  Pipeline(const TriggerConfig& triggers, const CorrelatorConfig& correlator, StandBy);

  [[nodiscard]] bool is_standing_by() const { return is_standing_by_; }
  // From here on kills are taken as they come. Returns those that were held, for apply(kill, before).
  [[nodiscard]] std::vector<OomKill> take_over(std::optional<LedgerState> restored, MonotonicTime now);

  void apply(const Event& event);
  // A kill is resolved once, here; the result is for all that act on it.
  ResolvedKill apply(OomKill kill, KillBefore before);
  // An incident is on disk; wall_offset_ns as for take_incidents().
  void on_written(const Incident& incident, std::int64_t wall_offset_ns);
  // A kill of an earlier run, for incidents of the same workload. Not part of a recording.
  void remember_incident(const std::string& workload, EarlierKill kill) {
    correlator_.remember(workload, std::move(kill));
  }
  // Every event up to `until` has been applied; a kill that the kernel counted later may still be on its way.
  // Never called in replay: events are taken to come in order.
  void heard(MonotonicTime until);
  // Judges crossings that waited too long and drops what expired; call about once a second.
  void tick(MonotonicTime now);
  // At the end: kills that still wait are taken as they are.
  void finish();
  [[nodiscard]] std::vector<CaptureOrder> take_orders();
  // wall_offset_ns = CLOCK_REALTIME - CLOCK_MONOTONIC.
  [[nodiscard]] std::vector<Incident> take_incidents(MonotonicTime now, std::int64_t wall_offset_ns);
  [[nodiscard]] std::optional<MonotonicTime> next_incident_due() const { return correlator_.next_due(); }

  [[nodiscard]] const MemoryModel& model() const { return model_; }
  [[nodiscard]] const KillLedger& ledger() const { return ledger_; }
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> accounted() const { return accounting_.accounted(); }
  // Kills that were counted, for the ledger: see HeardKills.
  [[nodiscard]] std::vector<HeardKill> recent_kills(MonotonicTime until) const { return heard_kills_.recent(until); }
  // By how much the kernel's count is ahead of the accounted kills: in one cgroup, in all.
  [[nodiscard]] std::optional<std::uint64_t> missing_in(CgroupId cgroup) const {
    return accounting_.missing_in(cgroup);
  }
  [[nodiscard]] std::uint64_t missing_kills() const { return accounting_.missing(); }
  [[nodiscard]] std::uint64_t unobserved_kills() const { return unobserved_kills_; }
  [[nodiscard]] std::uint64_t kills_seen_afterwards() const { return kills_seen_afterwards_; }
  [[nodiscard]] std::uint64_t dropped_held() const { return dropped_held_; }
  [[nodiscard]] std::uint64_t merged_kills() const { return correlator_.merged_kills(); }
  // Incidents that were never built, and those that were written but not amended to the end.
  [[nodiscard]] std::uint64_t repeated_kills() const { return correlator_.repeated_kills(); }
  [[nodiscard]] std::uint64_t lost_incidents() const { return correlator_.lost_incidents(); }
  [[nodiscard]] std::uint64_t closed_early() const { return correlator_.closed_early(); }
  // Grows with every change that a restart must not forget.
  [[nodiscard]] std::uint64_t ledger_version() const { return ledger_version_; }
  [[nodiscard]] std::uint64_t dropped_crossings() const { return dropped_crossings_; }
  // Disagreements with Kubernetes since the last call, and how often each kind occurred.
  [[nodiscard]] std::vector<StatusFinding> take_findings() { return std::exchange(findings_, {}); }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& disagreements() const { return judge_.counts(); }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& disagreements_withdrawn() const {
    return judge_.withdrawn();
  }

 private:
  void hold(OomKill kill);
  void take(const ResolvedKill& resolved, KillBefore before = {});
  void take_unplaced(OomKill kill);
  void identify_by_path(CgroupId cgroup, MonotonicTime now);
  void count(const ResolvedKill& resolved, std::uint64_t kills = 1);
  void refresh_ledger(MonotonicTime now);
  void remember(const ResolvedKill& resolved, bool is_written);
  void judge_kill(const ResolvedKill& resolved);
  void correlate(const ResolvedKill& resolved);
  void on_sample(const MemorySampled& sample);
  void on_removed(const CgroupRemoved& removed);
  void settle_removed_before(MonotonicTime until);
  void settle_removed(CgroupId cgroup);
  // is_alone: no other count rose at that time.
  void on_unobserved(UnobservedKills unobserved, bool is_alone = true);
  void judge(const WatermarkCrossed& crossing);
  void order(TriggerDecision decision, WatermarkCrossed crossing);
  void add_findings(std::vector<StatusFinding> findings, MonotonicTime now);

  MemoryModel model_;
  TriggerPolicy triggers_;
  Correlator correlator_;
  KillLedger ledger_;
  KillAccounting accounting_;
  HeardKills heard_kills_;
  MonotonicTime earlier_heard_until_;  // by the previous run; none: nothing is known of it
  bool is_standing_by_ = false;
  std::deque<OomKill> held_;  // oldest first
  MonotonicTime heard_until_ = KillAccounting::kAllHeard;
  std::deque<CgroupRemoved> removed_;  // their last kills may not have been received yet
  UnplacedKills unplaced_;
  std::deque<WatermarkCrossed> waiting_;  // for their sample; oldest first
  std::vector<CaptureOrder> orders_;
  StatusJudge judge_;
  std::vector<StatusFinding> findings_;
  std::uint64_t ledger_version_ = 0;
  MonotonicTime ledger_refreshed_;
  std::uint64_t dropped_crossings_ = 0;
  std::uint64_t unobserved_kills_ = 0;
  std::uint64_t kills_seen_afterwards_ = 0;
  std::uint64_t dropped_held_ = 0;
};

}  // namespace oomw
