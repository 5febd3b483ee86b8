// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events/event.h"
#include "incidents/correlator.h"
#include "incidents/ledger_file.h"
#include "incidents/unplaced_kills.h"
#include "model/kill_accounting.h"
#include "model/kill_ledger.h"
#include "model/memory_model.h"
#include "model/status_judge.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// A decision with the crossing that led to it; kSkip ones too, because a capture that was not
// taken is evidence as well.
struct CaptureOrder {
  TriggerDecision decision;
  WatermarkCrossed crossing;
};

// The pure middle of oomwitness: events in, capture orders, incidents and kill counts out. The
// daemon feeds it live events, replay feeds it recorded ones; the same events give the same
// output. No clock, file, thread or lock. Core thread.
//   - a crossing is judged once a newer MemorySampled of the same cgroup is in (the split into
//     reclaimable and not), or after kSampleWait without one;
//   - a kill is counted once per victim, whoever reports it;
//   - one that was told without its cgroup (a rate-limited kernel log, a victim gone from /proc) waits
//     for kPlaceWait until the kernel's count of one cgroup rises without a report: that is where it
//     was, if it is the only one that waits. One that nobody told is an incident all the same, of what
//     is known of the place.
class Pipeline {
 public:
  static constexpr Nanoseconds kSampleWait = std::chrono::milliseconds(50);
  static constexpr std::size_t kMaxWaiting = 4'096;
  // The grace of the accounting, and the second until the next tick().
  static constexpr Nanoseconds kPlaceWait = std::chrono::seconds(3);

  // restored: what earlier runs left; nullopt = first run.
  Pipeline(const TriggerConfig& triggers, const CorrelatorConfig& correlator, std::optional<LedgerState> restored);

  void apply(const Event& event);
  // Every event up to `until` has been applied. Until then a kill that the kernel counts may still
  // be on its way. Never called (replay): events are taken to come in order.
  void heard(MonotonicTime until);
  // Judges crossings that waited too long and drops what expired; call about once a second.
  void tick(MonotonicTime now);
  // At the end: what waits is told as it stands.
  void finish();
  [[nodiscard]] std::vector<CaptureOrder> take_orders();
  // wall_offset_ns = CLOCK_REALTIME - CLOCK_MONOTONIC.
  [[nodiscard]] std::vector<Incident> take_incidents(MonotonicTime now, std::int64_t wall_offset_ns);
  [[nodiscard]] std::optional<MonotonicTime> next_incident_due() const { return correlator_.next_due(); }

  [[nodiscard]] const MemoryModel& model() const { return model_; }
  [[nodiscard]] const KillLedger& ledger() const { return ledger_; }
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> accounted() const { return accounting_.accounted(); }
  [[nodiscard]] std::uint64_t unobserved_kills() const { return unobserved_kills_; }
  [[nodiscard]] std::uint64_t merged_kills() const { return correlator_.merged_kills(); }
  // Kills' incidents that were never built, and those that were written but not amended to the end.
  [[nodiscard]] std::uint64_t lost_incidents() const { return correlator_.lost_incidents(); }
  [[nodiscard]] std::uint64_t closed_early() const { return correlator_.closed_early(); }
  // Grows with every change that a restart must not forget.
  [[nodiscard]] std::uint64_t ledger_version() const { return ledger_version_; }
  [[nodiscard]] std::uint64_t dropped_crossings() const { return dropped_crossings_; }
  // What Kubernetes says otherwise, since the last call, and how often of each kind.
  [[nodiscard]] std::vector<StatusFinding> take_findings() { return std::exchange(findings_, {}); }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& disagreements() const { return judge_.counts(); }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& disagreements_withdrawn() const {
    return judge_.withdrawn();
  }

 private:
  void on_kill(OomKill kill);
  void take_kill(OomKill kill);
  void take_unplaced(OomKill kill);
  void identify_by_path(CgroupId cgroup, MonotonicTime now);
  void count(const OomKill& kill);
  void on_sample(const MemorySampled& sample);
  void on_removed(const CgroupRemoved& removed);
  void settle_removed_before(MonotonicTime until);
  void settle_removed(CgroupId cgroup);
  // is_alone: no other count rose at that time.
  void on_unobserved(const UnobservedKills& unobserved, bool is_alone = true);
  void count_unobserved(const OomKill& stand_in, std::uint64_t kills);
  void judge(const WatermarkCrossed& crossing);
  void order(TriggerDecision decision, WatermarkCrossed crossing);
  void add_findings(std::vector<StatusFinding> findings, MonotonicTime now);
  [[nodiscard]] OomKill completed(OomKill kill) const;

  MemoryModel model_;
  TriggerPolicy triggers_;
  Correlator correlator_;
  KillLedger ledger_;
  KillAccounting accounting_;
  MonotonicTime heard_until_ = KillAccounting::kAllHeard;
  std::deque<CgroupRemoved> removed_;  // whose last kills may not have been heard of yet
  UnplacedKills unplaced_;
  std::deque<WatermarkCrossed> waiting_;  // for their sample; oldest first
  std::vector<CaptureOrder> orders_;
  StatusJudge judge_;
  std::vector<StatusFinding> findings_;
  std::uint64_t ledger_version_ = 0;
  std::uint64_t dropped_crossings_ = 0;
  std::uint64_t unobserved_kills_ = 0;
};

}  // namespace oomw
