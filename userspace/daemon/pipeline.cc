// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "model/limit_scope.h"
#include "system/container_path.h"

namespace oomw {
namespace {

std::optional<std::map<std::uint64_t, std::uint64_t>> accounted_of(const std::optional<LedgerState>& restored) {
  if (!restored) return std::nullopt;
  return restored->counted_by_cgroup;
}

MonotonicTime heard_until_of(const std::optional<LedgerState>& restored) {
  return restored && restored->heard ? restored->heard->until : MonotonicTime{};
}

// What a crossing would have looked like, for a decision that a sample brought about.
WatermarkCrossed crossing_of(const MemorySampled& sample) {
  WatermarkCrossed crossing;
  crossing.time = sample.time;
  crossing.cgroup = sample.cgroup;
  crossing.leaf_cgroup = sample.cgroup;
  crossing.usage_bytes = sample.usage_bytes;
  crossing.limit_bytes = sample.limit_bytes.value_or(0);
  if (crossing.limit_bytes != 0) {
    crossing.level_percent = static_cast<std::uint32_t>(static_cast<double>(sample.usage_bytes) * 100.0 /
                                                        static_cast<double>(crossing.limit_bytes));
  }
  return crossing;
}

}  // namespace

Pipeline::Pipeline(const TriggerConfig& triggers, const CorrelatorConfig& correlator,
                   std::optional<LedgerState> restored)
    : triggers_(triggers),
      correlator_(correlator),
      accounting_(accounted_of(restored)),
      earlier_heard_until_(heard_until_of(restored)) {
  if (restored && restored->heard) heard_kills_.restore(restored->heard->kills);
  if (restored) ledger_ = std::move(restored->ledger);
}

Pipeline::Pipeline(const TriggerConfig& triggers, const CorrelatorConfig& correlator, StandBy)
    : triggers_(triggers), correlator_(correlator), accounting_(std::nullopt), is_standing_by_(true) {}

// What the kernel counted so far is known from the model, and is settled once heard() says that all is in.
std::vector<OomKill> Pipeline::take_over(std::optional<LedgerState> restored, MonotonicTime now) {
  is_standing_by_ = false;
  heard_until_ = {};
  accounting_ = KillAccounting(accounted_of(restored));
  earlier_heard_until_ = heard_until_of(restored);
  if (restored && restored->heard) heard_kills_.restore(restored->heard->kills);
  if (restored) ledger_ = std::move(restored->ledger);
  for (const auto& [id, state] : model_.cgroups()) {
    if (!state.kernel_oom_kills || state.removed_at) continue;
    MemorySampled known;
    known.time = now;
    known.cgroup = id;
    known.kernel_oom_kills = state.kernel_oom_kills;
    (void)accounting_.on_sample(known, heard_until_);
  }
  return {std::make_move_iterator(held_.begin()), std::make_move_iterator(held_.end())};
}

void Pipeline::apply(const Event& event) {
  if (const auto* kill = std::get_if<OomKill>(&event)) return on_kill(*kill);
  model_.apply(event);
  correlator_.apply(event, model_);
  if (const auto* crossing = std::get_if<WatermarkCrossed>(&event)) {
    if (waiting_.size() >= kMaxWaiting) {
      waiting_.pop_front();
      ++dropped_crossings_;
    }
    waiting_.push_back(*crossing);
  } else if (const auto* sample = std::get_if<MemorySampled>(&event)) {
    on_sample(*sample);
  } else if (const auto* created = std::get_if<CgroupCreated>(&event)) {
    settle_removed(created->cgroup);  // its id is used again: what waits is of the old one
    if (!created->existed && !is_standing_by_) accounting_.on_created(created->cgroup, created->time);
  } else if (const auto* removed = std::get_if<CgroupRemoved>(&event)) {
    on_removed(*removed);
  } else if (const auto* pod = std::get_if<PodSeen>(&event)) {
    if (!is_standing_by_) add_findings(judge_.on_pod(*pod), pod->time);
  }
}

void Pipeline::add_findings(std::vector<StatusFinding> findings, MonotonicTime now) {
  for (StatusFinding& finding : findings) {
    correlator_.on_status(finding, now);
    if (findings_.size() < kMaxWaiting) findings_.push_back(std::move(finding));
  }
}

// mark_victim(int pid) and the kernel log know less than the model does. Of a kill long ago the pid may be
// another's by now.
OomKill Pipeline::completed(OomKill kill) const {
  if (kill.unwatched) return kill;
  const ProcessState* process = model_.find_process(kill.victim);
  if (process == nullptr) return kill;
  if (kill.victim.start_ticks == 0) kill.victim.start_ticks = process->key.start_ticks;
  if (!kill.victim_cgroup) kill.victim_cgroup = process->cgroup;
  if (!kill.victim_uid) kill.victim_uid = process->uid;
  if (kill.victim_comm.empty()) kill.victim_comm = process->comm;
  return kill;
}

// A cgroup of a few milliseconds may die before it is identified, and what a pod's own cgroup holds beside its
// containers never is: its path says all the same whose it was.
void Pipeline::identify_by_path(CgroupId cgroup, MonotonicTime now) {
  const CgroupState* state = model_.find_cgroup(cgroup);
  const CgroupState* container = model_.container_of(cgroup);
  const bool is_known = container != nullptr && !container->identity.pod_uid.empty();
  if (state == nullptr || is_known || !state->identity.pod_uid.empty()) return;
  auto identity = identity_from_path(state->path);
  if (identity && !identity->pod_uid.empty()) apply(ContainerIdentified{now, cgroup, std::move(*identity), false});
}

void Pipeline::on_kill(OomKill kill) {
  kill = completed(std::move(kill));
  if (is_standing_by_) return hold(std::move(kill));
  identify_by_path(model_.cgroup_of(kill), kill.time);
  if (model_.cgroup_of(kill) || !correlator_.is_new_victim(kill)) return take_kill(std::move(kill));
  if (auto pushed_out = unplaced_.add(std::move(kill))) take_unplaced(std::move(*pushed_out));
}

void Pipeline::hold(OomKill kill) {
  if (held_.size() >= kMaxHeld) {
    held_.pop_front();
    ++dropped_held_;
  }
  held_.push_back(std::move(kill));
}

void Pipeline::apply(const OomKill& kill, KillBefore before) {
  if (!before.is_counted && !before.is_written) return on_kill(kill);
  take_kill(completed(kill), before);
}

// No count rose for it: maybe one did before, and it is the late report of that.
void Pipeline::take_unplaced(OomKill kill) {
  OomKill placed = kill;
  placed.victim_cgroup = correlator_.only_place_that_lacks_a_name();
  const bool is_late = placed.victim_cgroup && correlator_.is_late_report(placed, model_);
  take_kill(is_late ? std::move(placed) : std::move(kill));
}

void Pipeline::take_kill(OomKill kill, KillBefore before) {
  kill = correlator_.with_owner_of_decision(std::move(kill), model_);
  const bool is_new = correlator_.is_new_victim(kill);
  if (is_new && !before.is_counted && !correlator_.is_late_report(kill, model_)) {
    count(kill);
    accounting_.on_kill_seen(kill.victim_cgroup, kill.time);
  }
  if (is_new) {
    heard_kills_.add({kill.victim.pid, kill.time, before.is_written});
    judge_kill(kill);
  }
  if (before.is_written) return correlator_.pass_over(kill);
  const std::uint64_t decisions = correlator_.decisions();
  model_.apply(kill);
  correlator_.apply(kill, model_);
  // The kernel kills the one it chose, then the whole group, that one again: see KillAccounting.
  const bool is_chosen_of_group = kill.group && correlator_.decisions() != decisions;
  const bool is_told_again = !is_new && (kill.group || kill.source == "kmsg");
  if (is_chosen_of_group || is_told_again) accounting_.allow_second_count(kill.victim_cgroup);
}

void Pipeline::count(const OomKill& kill) {
  ledger_.add(labels_of(kill, model_));
  ++ledger_version_;
  if (kill.unwatched) ++kills_seen_afterwards_;
}

// Status of a time when nobody watched is not compared with anything.
void Pipeline::judge_kill(const OomKill& kill) {
  if (!kill.unwatched) judge_.on_kill(kill, model_);
}

// Times in an incident are wall time; kTogether is more than the clock is stepped or slewed in its making.
void Pipeline::on_written(const Incident& incident, std::int64_t wall_offset_ns) {
  constexpr Nanoseconds kBefore = std::chrono::seconds(5);
  constexpr Nanoseconds kSpan = std::chrono::seconds(35);  // CorrelatorConfig::group_span and some
  std::set<std::int32_t> pids;
  for (const IncidentVictim& victim : incident.victims) pids.insert(victim.process.pid);
  const MonotonicTime time{incident.time.ns - wall_offset_ns};
  heard_kills_.on_written(pids, incident.victim_count <= incident.victims.size(), time - kBefore, time + kSpan);
}

void Pipeline::on_sample(const MemorySampled& sample) {
  if (!is_standing_by_) on_unobserved(accounting_.on_sample(sample, heard_until_));
  std::deque<WatermarkCrossed> still_waiting;
  for (WatermarkCrossed& crossing : std::exchange(waiting_, {})) {
    if (crossing.cgroup == sample.cgroup && crossing.time <= sample.time) {
      judge(crossing);
    } else {
      still_waiting.push_back(std::move(crossing));
    }
  }
  waiting_ = std::move(still_waiting);
  TriggerDecision decision = triggers_.on_sample(sample, model_);
  if (decision.action != TriggerAction::kNone) order(std::move(decision), crossing_of(sample));
}

void Pipeline::on_removed(const CgroupRemoved& removed) {
  triggers_.forget(removed.cgroup);
  if (is_standing_by_) return;
  removed_.push_back(removed);
  settle_removed_before(heard_until_);
}

void Pipeline::heard(MonotonicTime until) {
  heard_until_ = until;
  settle_removed_before(until);
}

// The grace is for the kill whose record is reserved and not yet complete: the kernel counts and
// signals before it, and where the CPU was taken from it in between, the cgroup can be gone by then.
void Pipeline::settle_removed_before(MonotonicTime until) {
  for (; !removed_.empty() && removed_.front().time <= until - KillAccounting::kGrace; removed_.pop_front()) {
    on_unobserved(accounting_.on_removed(removed_.front().cgroup, removed_.front().time));
  }
}

void Pipeline::settle_removed(CgroupId cgroup) {
  const auto waiting = std::ranges::find(removed_, cgroup, &CgroupRemoved::cgroup);
  if (waiting == removed_.end()) return;
  const CgroupRemoved removed = *waiting;
  removed_.erase(waiting);
  on_unobserved(accounting_.on_removed(removed.cgroup, removed.time));
}

// A kill the kernel counted and nobody reported is still a kill, also one of a time when no daemon ran.
void Pipeline::on_unobserved(UnobservedKills unobserved, bool is_alone) {
  if (unobserved.kills == 0) return;
  if (!unobserved.after) unobserved.unwatched = Unwatched{earlier_heard_until_, unobserved.until};
  UnplacedKills::Match told = unplaced_.take_for(unobserved, is_alone);
  if (told.kill) {
    told.kill->victim_cgroup = unobserved.cgroup;
    count(*told.kill);
    heard_kills_.add({told.kill->victim.pid, told.kill->time, false});
    judge_kill(*told.kill);
    model_.apply(*told.kill);
    correlator_.apply(*told.kill, model_);
    return;
  }
  OomKill stand_in;
  stand_in.time = unobserved.until;
  stand_in.victim_cgroup = unobserved.cgroup;
  if (unobserved.unwatched) stand_in.unwatched = unobserved.unwatched;
  identify_by_path(unobserved.cgroup, unobserved.until);
  count_unobserved(stand_in, unobserved.kills);
  judge_kill(stand_in);
  correlator_.on_unobserved(unobserved, told.any_of, model_);
}

// It is in the counter, with the scope that is known of it: none.
void Pipeline::count_unobserved(const OomKill& stand_in, std::uint64_t kills) {
  KillLabels labels = labels_of(stand_in, model_);
  labels.scope = "unknown";
  ledger_.add(labels, kills);
  unobserved_kills_ += kills;
  if (stand_in.unwatched) kills_seen_afterwards_ += kills;
  ++ledger_version_;
}

void Pipeline::judge(const WatermarkCrossed& crossing) {
  TriggerDecision decision = triggers_.on_watermark(crossing, model_);
  if (decision.action != TriggerAction::kNone) order(std::move(decision), crossing);
}

// A crossing of a pod's limit that counts as its container's leads to that container's captures.
void Pipeline::order(TriggerDecision decision, WatermarkCrossed crossing) {
  crossing.cgroup = counted_for(crossing.cgroup, crossing.time, model_);
  orders_.push_back({std::move(decision), std::move(crossing)});
}

void Pipeline::tick(MonotonicTime now) {
  while (!waiting_.empty() && now - waiting_.front().time > kSampleWait) {
    judge(waiting_.front());
    waiting_.pop_front();
  }
  const std::vector<UnobservedKills> overdue = accounting_.take_overdue(now, heard_until_);
  for (const UnobservedKills& unobserved : overdue) on_unobserved(unobserved, overdue.size() == 1);
  for (OomKill& kill : unplaced_.take_older_than(std::min(now, heard_until_) - kPlaceWait))
    take_unplaced(std::move(kill));
  model_.expire(now);
  add_findings(judge_.tick(now, model_), now);
}

void Pipeline::finish() {
  for (OomKill& kill : unplaced_.take_all()) take_unplaced(std::move(kill));
}

std::vector<CaptureOrder> Pipeline::take_orders() { return std::exchange(orders_, {}); }

std::vector<Incident> Pipeline::take_incidents(MonotonicTime now, std::int64_t wall_offset_ns) {
  return correlator_.take_ready(now, model_, wall_offset_ns);
}

}  // namespace oomw
