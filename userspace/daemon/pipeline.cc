// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline.h"

#include <algorithm>
#include <iterator>
#include <set>

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

// The crossing that corresponds to a decision made from a sample.
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

// The kernel's counts so far are known from the model. They are settled once heard() confirms that all events are in.
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
  if (const auto* kill = std::get_if<OomKill>(&event)) {
    apply(*kill, {});
    return;
  }
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
    settle_removed(created->cgroup);  // its id is used again: the waiting removal is of the old cgroup
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

// A cgroup that exists for a few milliseconds may be gone before it is identified, and a pod's cgroups other than
// its containers never are. Their paths still name the pod.
void Pipeline::identify_by_path(CgroupId cgroup, MonotonicTime now) {
  const CgroupState* state = model_.find_cgroup(cgroup);
  const CgroupState* container = model_.container_of(cgroup);
  const bool is_known = container != nullptr && !container->identity.pod_uid.empty();
  if (state == nullptr || is_known || !state->identity.pod_uid.empty()) return;
  auto identity = identity_from_path(state->path);
  if (identity && !identity->pod_uid.empty()) apply(ContainerIdentified{now, cgroup, std::move(*identity), false});
}

ResolvedKill Pipeline::apply(OomKill kill, KillBefore before) {
  kill = completed(std::move(kill), model_);
  if (!is_standing_by_) identify_by_path(kill.victim_cgroup, kill.time);
  ResolvedKill resolved = correlator_.resolve(std::move(kill), model_);
  const bool is_known = resolved.report == ResolvedKill::Report::kAgain || before.is_counted || before.is_written;
  if (is_standing_by_) {
    hold(resolved.kill);
  } else if (resolved.kill.victim_cgroup || is_known) {
    take(resolved, before);
  } else if (auto pushed_out = unplaced_.add(resolved.kill)) {
    take_unplaced(std::move(*pushed_out));
  }
  return resolved;
}

void Pipeline::hold(OomKill kill) {
  if (held_.size() >= kMaxHeld) {
    held_.pop_front();
    ++dropped_held_;
  }
  held_.push_back(std::move(kill));
}

// No count rose for it. If one rose before, this is the late report of that kill.
void Pipeline::take_unplaced(OomKill kill) {
  OomKill placed = kill;
  placed.victim_cgroup = correlator_.only_place_that_lacks_a_name();
  if (placed.victim_cgroup) {
    const ResolvedKill late = correlator_.resolve(std::move(placed), model_);
    if (late.report == ResolvedKill::Report::kLate) return take(late);
  }
  take(correlator_.resolve(std::move(kill), model_));
}

void Pipeline::take(const ResolvedKill& resolved, KillBefore before) {
  const OomKill& kill = resolved.kill;
  const bool is_first = resolved.report == ResolvedKill::Report::kFirst;
  const bool is_again = resolved.report == ResolvedKill::Report::kAgain;
  if (is_first && !before.is_counted) {
    count(resolved);
    accounting_.on_kill_seen(kill.victim_cgroup, kill.time);
  }
  if (!is_again) remember(resolved, before.is_written);
  if (before.is_written) return correlator_.pass_over(kill);
  const std::uint64_t repeated = correlator_.repeated_kills();
  correlate(resolved);
  // No incident will list it: a later run that finds it in the kernel log must not take it for unwritten.
  if (correlator_.repeated_kills() != repeated) heard_kills_.add({kill.victim.pid, kill.time, true});
  // The kernel kills the chosen victim, then the whole group including that one again: see KillAccounting.
  const bool is_chosen_of_group = kill.group && is_first && resolved.incident == nullptr;
  const bool is_told_again = is_again && (kill.group || kill.source == "kmsg");
  if (is_chosen_of_group || is_told_again) accounting_.allow_second_count(kill.victim_cgroup);
}

void Pipeline::count(const ResolvedKill& resolved, std::uint64_t kills) {
  ledger_.add(resolved.labels, kills, resolved.kill.time);
  ++ledger_version_;
  if (resolved.kill.unwatched) kills_seen_afterwards_ += kills;
}

// Naming all of 8,192 cgroups takes milliseconds, and sets expire after hours.
void Pipeline::refresh_ledger(MonotonicTime now) {
  constexpr Nanoseconds kEvery = std::chrono::minutes(5);
  if (is_standing_by_ || ledger_.counts().empty() || now - ledger_refreshed_ < kEvery) return;
  ledger_refreshed_ = now;
  if (ledger_.refresh(now, living_labels(model_))) ++ledger_version_;
}

void Pipeline::remember(const ResolvedKill& resolved, bool is_written) {
  heard_kills_.add({resolved.kill.victim.pid, resolved.kill.time, is_written});
  judge_kill(resolved);
}

// A status from a time when no daemon watched is not compared with anything.
void Pipeline::judge_kill(const ResolvedKill& resolved) {
  if (!resolved.kill.unwatched) judge_.on_kill(resolved.kill, model_.find_cgroup(resolved.container));
}

void Pipeline::correlate(const ResolvedKill& resolved) {
  if (resolved.report != ResolvedKill::Report::kAgain) model_.apply(resolved.kill);
  correlator_.take(resolved, model_);
}

// Times in an incident are wall time; kBefore is more than the clock is stepped or slewed while it is made.
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

// The grace is for a kill whose record is reserved and not yet complete: the kernel counts and signals before it
// completes the record, and if it loses the CPU in between, the cgroup can be gone by then.
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

// A kill that the kernel counted but no source reported is still a kill, also one from a time when no daemon ran.
void Pipeline::on_unobserved(UnobservedKills unobserved, bool is_alone) {
  if (unobserved.kills == 0) return;
  if (!unobserved.after) unobserved.unwatched = Unwatched{earlier_heard_until_, unobserved.until};
  UnplacedKills::Match told = unplaced_.take_for(unobserved, is_alone);
  if (told.kill) {
    told.kill->victim_cgroup = unobserved.cgroup;
    const ResolvedKill resolved = correlator_.resolve(std::move(*told.kill), model_);
    count(resolved);
    remember(resolved, false);
    return correlate(resolved);
  }
  OomKill stand_in;
  stand_in.time = unobserved.until;
  stand_in.victim_cgroup = unobserved.cgroup;
  if (unobserved.unwatched) stand_in.unwatched = unobserved.unwatched;
  identify_by_path(unobserved.cgroup, unobserved.until);
  ResolvedKill resolved = resolved_by_model(std::move(stand_in), model_);
  resolved.labels.scope = to_string(LimitScope::kUnknown);
  count(resolved, unobserved.kills);
  unobserved_kills_ += unobserved.kills;
  judge_kill(resolved);
  correlator_.on_unobserved(unobserved, told.any_of, model_);
}

void Pipeline::judge(const WatermarkCrossed& crossing) {
  TriggerDecision decision = triggers_.on_watermark(crossing, model_);
  if (decision.action != TriggerAction::kNone) order(std::move(decision), crossing);
}

// A crossing of a pod's limit that counts as its container's leads to captures of that container.
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
  refresh_ledger(now);
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
