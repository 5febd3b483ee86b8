// SPDX-License-Identifier: Apache-2.0
#include "correlate/correlator.h"

#include <algorithm>
#include <variant>

#include "incident/incident_facts.h"
#include "incident/incident_size.h"
#include "model/limit_scope.h"
#include "verdict/again_answer.h"
#include "verdict/verdict.h"

namespace oomw {

namespace {

// One report may name the triggering process where the other does not.
bool is_same_trigger(const OomKill& a, const OomKill& b) {
  return a.trigger_pid == b.trigger_pid || a.trigger_pid == 0 || b.trigger_pid == 0;
}

template <typename T>
bool fill(std::optional<T>& target, const std::optional<T>& source) {
  if (target || !source) return false;
  target = source;
  return true;
}

// Gives a further victim its decision's owner. Without fentry the owner is found from the memory counters, and those
// fall as soon as the first victim's memory is freed.
void take_owner(const OomKill& chosen, OomKill& kill) {
  if (kill.owner_exact || !chosen.owner_known) return;
  if (kill.owner_known && kill.owner_cgroup == chosen.owner_cgroup) return;
  kill.owner_cgroup = chosen.owner_cgroup;
  kill.owner_known = chosen.owner_known;
  kill.owner_exact = chosen.owner_exact;
  kill.is_node_wide_said = chosen.is_node_wide_said;
  kill.owner_limit_bytes = chosen.owner_limit_bytes;
  kill.owner_usage_bytes.reset();  // the chosen victim's figure is from another moment
}

// Windows end at multiples of this: after a storm, each would otherwise cost a wake-up, 160 us of the daemon's CPU.
constexpr Nanoseconds kRound = std::chrono::seconds(1);

// The same for every run of a container, and no other container's: a path is nobody else's, while the name of a unit
// may be. With the scope, because a kill for another limit has something else to explain.
std::string lasting_name(const ResolvedKill& kill, const MemoryModel& model) {
  const KillLabels& labels = kill.labels;
  if (!labels.pod.empty()) return labels.scope + " " + labels.k8s_namespace + "/" + labels.pod + "/" + labels.container;
  const CgroupState* state = model.find_cgroup(kill.container);
  return state == nullptr || state->path.empty() ? "" : labels.scope + " " + state->path;
}

}  // namespace

Correlator::Correlator(CorrelatorConfig config)
    : config_(config), captures_(config.capture_lookback, config.max_remembered), repeat_limit_(config.repeats) {}

void Correlator::apply(const Event& event, const MemoryModel& model) {
  if (const auto* kill = std::get_if<OomKill>(&event)) return take(resolve(*kill, model), model);
  if (const auto* capture = std::get_if<CaptureFinished>(&event)) return on_capture(*capture, model);
  if (const auto* reading = std::get_if<CollectorSampled>(&event)) return collectors_.add(*reading);
  if (const auto* analysed = std::get_if<HeapAnalysed>(&event)) return on_analysis(*analysed);
  if (const auto* growth = std::get_if<GrowthProfile>(&event)) return on_growth(*growth);
  if (const auto* exit = std::get_if<ProcessExit>(&event)) growths_.on_exit(exit->process, exit->time);
  if (const auto* trend = std::get_if<TrendJudged>(&event)) return on_trend(*trend);
  if (const auto* unplaced = std::get_if<FilesUnplaced>(&event)) return on_unplaced(*unplaced);
  if (open_.size() != 0) on_context(event, model);
}

ResolvedKill Correlator::resolve(OomKill kill, const MemoryModel& model) {
  kill = completed(std::move(kill), model);
  if (seen_victims_.contains(kill.victim, kill.time)) {
    ResolvedKill again;
    again.report = ResolvedKill::Report::kAgain;
    again.incident = open_.of_victim(kill.victim.pid);
    again.kill = std::move(kill);
    return again;
  }
  OpenIncident* decision = find_decision(kill, model);
  if (decision != nullptr) take_owner(decision->evidence.chosen(), kill);
  OpenIncident* nameless = lacking_this_name(kill);
  ResolvedKill resolved = resolved_by_model(std::move(kill), model);
  resolved.incident = nameless != nullptr ? nameless : decision;
  if (nameless != nullptr) resolved.report = ResolvedKill::Report::kLate;
  return resolved;
}

void Correlator::take(const ResolvedKill& resolved, const MemoryModel& model) {
  const OomKill& kill = resolved.kill;
  OpenIncident* open = resolved.incident;
  if (!seen_victims_.add(kill.victim, kill.time)) return complete_victim(open, kill);
  if (resolved.report == ResolvedKill::Report::kLate) {
    open_.name_victim(*open, resolved, model);
    return reschedule(*open, kill.time);
  }
  if (open != nullptr) return OpenIncidents::is_repeat(*open, kill) ? repeat(*open, kill) : join(*open, kill);
  ++decisions_;
  const std::string container = lasting_name(resolved, model);
  if (!repeat_limit_.take(container, kill.time)) {
    const auto newest = repeat_limit_.newest(container);
    if (OpenIncident* of_newest = newest ? open_.of_number(*newest) : nullptr) return repeat(*of_newest, kill);
  }
  KillEvidence evidence = evidence_of(resolved, model);
  if (open_.count_at(evidence.owner, evidence.container) >= config_.max_open_per_place) {
    ++merged_kills_;
    return join(open_.merge_decision(kill, evidence.owner, evidence.container), kill);
  }
  repeat_limit_.set_newest(container, open_decision(std::move(evidence)).number);
}

void Correlator::repeat(OpenIncident& open, const OomKill& kill) {
  ++repeated_kills_;
  open_.repeat_decision(open, kill);
  if (!open.written || open.amend_due) return;
  open.amend_due = kill.time + kRepeatDelay;
  open_.schedule(open, due_of(open));
}

void Correlator::on_unobserved(const UnobservedKills& kills, const std::vector<OomKill>& unplaced,
                               const MemoryModel& model) {
  KillEvidence evidence = evidence_of(kills, unplaced, model);
  if (open_.count_at(evidence.owner, evidence.container) < config_.max_open_per_place) {
    open_decision(std::move(evidence));
    return;
  }
  merged_kills_ += kills.kills;
  OpenIncident& open = open_.merge_decision(evidence.nobody, evidence.owner, evidence.container);
  open.evidence.unnamed += kills.kills;
  open.evidence.last = std::max(open.evidence.last, kills.until);
  reschedule(open, kills.until);
}

OpenIncident& Correlator::open_decision(KillEvidence evidence) {
  if (open_.size() >= config_.max_open) make_room();
  OpenIncident& open = open_.open(std::move(evidence));
  open_.schedule(open, due_of(open));
  return open;
}

// If a further kill there is mistaken for the late report, it is not lost: the kernel counts it, and it becomes the
// unnamed one instead.
OpenIncident* Correlator::lacking_this_name(const OomKill& kill) {
  OpenIncident* open = open_.that_lacks_a_name(kill.victim_cgroup);
  if (open == nullptr || !open->evidence.counted) return nullptr;
  const UnobservedKills& counted = *open->evidence.counted;
  if (counted.unwatched && kill.time > counted.until) return nullptr;  // the counted kills are older: no daemon watched
  const bool is_after = !counted.after || kill.time + config_.settle >= *counted.after;
  return is_after && kill.time <= counted.until + config_.amend ? open : nullptr;
}

void Correlator::join(OpenIncident& open, const OomKill& kill) {
  open_.add_victim(open, kill);
  reschedule(open, kill.time);
}

void Correlator::reschedule(OpenIncident& open, MonotonicTime now) {
  if (open.written) return amend_soon(open, now);
  open_.schedule(open, due_of(open));
}

OpenIncident* Correlator::find_decision(const OomKill& kill, const MemoryModel& model) {
  if (kill.decision) return open_.of_decision(kill);
  if (kill.group) {
    for (OpenIncident* open : open_.of_group(kill.group)) {
      if (is_same_group_kill(open->evidence, kill)) return open;
    }
  }
  for (OpenIncident* open : open_.of_owner(limit_owner_of(kill, model))) {
    if (is_same_moment(open->evidence, kill)) return open;
  }
  return nullptr;
}

bool Correlator::is_same_group_kill(const KillEvidence& evidence, const OomKill& kill) const {
  const OomKill& chosen = evidence.chosen();
  if (evidence.kills.empty()) return false;
  const bool is_other_owner = chosen.owner_exact && kill.owner_exact && chosen.owner_cgroup != kill.owner_cgroup;
  if (chosen.decision || is_other_owner || !is_same_trigger(chosen, kill)) return false;
  return kill.time <= evidence.last + config_.group_gap && kill.time <= evidence.first + config_.group_span &&
         evidence.first <= kill.time + config_.settle;
}

bool Correlator::is_same_moment(const KillEvidence& evidence, const OomKill& kill) const {
  const OomKill& chosen = evidence.chosen();
  if (evidence.kills.empty() || !config_.has_groups) return false;
  const bool is_other_group = evidence.group && kill.group && evidence.group != kill.group;
  if (chosen.decision || is_other_group || !is_same_trigger(chosen, kill)) return false;
  return kill.time <= evidence.last + config_.settle && evidence.first <= kill.time + config_.settle;
}

// If the table is full of unwritten incidents, take_ready() was not called while 1 024 decisions came in. They are
// built at its next call, from the model's state at that time.
void Correlator::make_room() {
  OpenIncident& oldest = open_.oldest();
  if (oldest.written) {
    ++closed_early_;
  } else if (overdue_.size() < config_.max_open) {
    overdue_.push_back(oldest.evidence);
  } else {
    ++lost_incidents_;
  }
  open_.close(oldest);
}

// A second source may know what the first did not (the kernel log has the rss split that
// mark_victim(int pid) lacks).
void Correlator::complete_victim(OpenIncident* open, const OomKill& again) {
  if (open == nullptr) return;
  std::vector<OomKill>& kills = open->evidence.kills;
  const auto known = std::find_if(kills.begin(), kills.end(),
                                  [&](const OomKill& kill) { return kill.victim.pid == again.victim.pid; });
  if (known == kills.end()) return;
  const bool is_news = fill(known->victim_rss, again.victim_rss);
  fill(known->victim_uid, again.victim_uid);
  fill(known->victim_oom_score_adj, again.victim_oom_score_adj);
  fill(known->owner_usage_bytes, again.owner_usage_bytes);
  fill(known->owner_limit_bytes, again.owner_limit_bytes);
  fill(known->total_bytes, again.total_bytes);
  if (is_news && open->written) amend_soon(*open, again.time);
}

void Correlator::on_capture(const CaptureFinished& capture, const MemoryModel& model) {
  captures_.add(capture, model);
  const auto is_news = [&](const OpenIncident& open) { return belongs(capture, open.evidence, model, selection()); };
  if (OpenIncident* open = open_.of_victim(capture.process.pid); open != nullptr && open->written && is_news(*open)) {
    amend_soon(*open, capture.time);
  }
  for (const CgroupId cgroup : model.path_up(capture.cgroup)) amend_those_about(cgroup, capture.time, is_news);
}

template <typename IsNews>
void Correlator::amend_those_about(CgroupId cgroup, MonotonicTime now, IsNews is_news) {
  for (OpenIncident* open : open_.about(cgroup)) {
    if (open->written && is_news(*open)) amend_soon(*open, now);
  }
}

// Context that arrived after an incident was written and fills a gap in it.
void Correlator::on_context(const Event& event, const MemoryModel& model) {
  if (const auto* sample = std::get_if<MemorySampled>(&event); sample != nullptr && sample->detailed) {
    amend_those_about(sample->cgroup, sample->time, [&](const OpenIncident& open) {
      return open.lacks_memory_stat && sample->cgroup == open.evidence.stat_source;
    });
  } else if (const auto* reclaim = std::get_if<ReclaimSampled>(&event)) {
    amend_those_about(reclaim->cgroup, reclaim->time, [&](const OpenIncident& open) {
      return open.lacks_reclaim && reclaim->cgroup == open.evidence.pressed;
    });
  } else if (const auto* identified = std::get_if<ContainerIdentified>(&event)) {
    amend_those_about(identified->cgroup, identified->time, [&](const OpenIncident& open) {
      return identified->cgroup == open.evidence.container || identified->cgroup == open.evidence.victim_cgroup;
    });
    learn_about(identified->cgroup, identified->time, model);
  } else if (const auto* seen = std::get_if<ProcessSeen>(&event)) {
    on_process(*seen);
  } else if (const auto* created = std::get_if<CgroupCreated>(&event)) {
    on_created(*created);
  } else if (const auto* pod = std::get_if<PodSeen>(&event)) {
    on_pod(*pod, model);
  }
}

// Applies to the pod and to the killed run; facts_of() leaves out data of another run.
void Correlator::on_pod(const PodSeen& pod, const MemoryModel& model) {
  for (const CgroupId cgroup : model.pods().cgroups_of(pod)) learn_about(cgroup, pod.time, model);
}

void Correlator::learn_about(CgroupId cgroup, MonotonicTime now, const MemoryModel& model) {
  const std::vector<OpenIncident*> about = open_.of_container(cgroup);
  const ContainerIdentity* who = about.empty() ? nullptr : model.identity_of(cgroup);
  const auto facts = who == nullptr ? std::nullopt : model.pods().facts_of(*who);
  if (!facts) return;
  for (OpenIncident* open : about) {
    if (open->evidence.learn(*facts) && open->written) amend_soon(*open, now);
  }
}

void Correlator::on_status(const StatusFinding& finding, MonotonicTime now) {
  OpenIncident* open = finding.victim.pid == 0 ? nullptr : open_.of_victim(finding.victim.pid);
  if (open == nullptr) return;
  if (!open->evidence.apply(finding)) return;
  if (open->written) amend_soon(*open, now);
}

// Judged at the kill, and again with its files when the victim was walked or will not be.
void Correlator::on_trend(const TrendJudged& trend) {
  OpenIncident* open = open_.of_victim(trend.process.pid);
  if (open == nullptr || open->evidence.chosen().victim.pid != trend.process.pid) return;
  const std::optional<TrendJudged>& known = open->evidence.trend;
  const bool is_outdated = known && !known->spool_file.empty() && trend.spool_file.empty();
  const bool is_news =
      !known || known->points != trend.points || known->whole != trend.whole || known->spool_file != trend.spool_file;
  if (is_outdated || !is_news) return;
  open->evidence.trend = trend;
  if (open->written) amend_soon(*open, trend.time);
}

// One that ended just before the kill may be delivered after the incident was built.
void Correlator::on_analysis(const HeapAnalysed& analysed) {
  analyses_.add(analysed);
  OpenIncident* open = open_.of_victim(analysed.process.pid);
  const bool is_news = open != nullptr && open->written && open->evidence.chosen().victim.pid == analysed.process.pid;
  if (is_news) amend_soon(*open, analysed.time);
}

// Its last samples are named only after the kill.
void Correlator::on_growth(const GrowthProfile& growth) {
  growths_.add(growth);
  OpenIncident* open = open_.of_victim(growth.process.pid);
  const bool is_news = open != nullptr && open->written && open->evidence.chosen().victim.pid == growth.process.pid;
  if (is_news) amend_soon(*open, growth.time);
}

// The revision that named these files is on disk: the next one takes their names back.
void Correlator::on_unplaced(const FilesUnplaced& unplaced) {
  OpenIncident* open = open_.of_id(unplaced.incident);
  if (open == nullptr) return;
  for (const FilesUnplaced::File& file : unplaced.files) open->evidence.lost_files.emplace(file.name, file.why);
  amend_soon(*open, unplaced.time);
}

void Correlator::on_process(const ProcessSeen& seen) {
  OpenIncident* open = open_.of_victim(seen.process.pid);
  if (open == nullptr || !open->written || open->resting) return;
  const std::vector<OomKill>& kills = open->evidence.kills;
  const bool is_victim =
      std::any_of(kills.begin(), kills.end(), [&](const OomKill& kill) { return kill.victim == seen.process; });
  if (is_victim) amend_soon(*open, seen.time);
}

// The id of a removed cgroup is used again: from now on the model describes the new cgroup, not the victim's.
void Correlator::on_created(const CgroupCreated& created) {
  for (OpenIncident* open : open_.about(created.cgroup)) {
    if (created.existed || !open->written) continue;
    ++closed_early_;
    open_.close(*open);
  }
}

void Correlator::amend_soon(OpenIncident& open, MonotonicTime now) {
  if (open.amend_due) return;
  const std::int64_t factor = std::int64_t{1} << std::min(open.amendments, kMaxDoublings);
  open.amend_due = now + kAmendDelay * factor;
  open_.schedule(open, due_of(open));
}

MonotonicTime Correlator::due_of(const OpenIncident& open) const {
  const KillEvidence& evidence = open.evidence;
  if (!open.written) return std::min(evidence.last + config_.settle, evidence.first + kMaxSettles * config_.settle);
  if (open.amend_due) return *open.amend_due;
  return round_up(evidence.last + (open.resting ? longest_wait(evidence) : config_.amend), kRound);
}

Nanoseconds Correlator::longest_wait(const KillEvidence& evidence) const {
  return evidence.is_in_pod ? std::max(config_.amend_walks, config_.amend_statuses) : config_.amend_walks;
}

Incident Correlator::build(KillEvidence& evidence, const MemoryModel& model, std::int64_t wall_offset_ns) {
  if (!evidence.wall_offset_ns) evidence.wall_offset_ns = wall_offset_ns;
  const ProcessKey victim = evidence.chosen().victim;
  IncidentSources sources{captures_.about(evidence), collectors_.of(victim, evidence.first),
                          analyses_.of(victim, evidence.first), std::nullopt};
  if (const GrowthProfile* growth = growths_.of(victim, evidence.first)) {
    sources.growth = growth_of(*growth, *evidence.wall_offset_ns, config_.patterns);
  }
  Incident incident = build_incident(evidence, sources, model, selection());
  conclude(incident, config_.patterns);
  const std::string workload = facts_of(incident).workload;
  if (auto earlier = history_.before(workload, incident.id, incident.time)) evidence.earlier = std::move(earlier);
  incident.earlier = evidence.earlier;
  compare_with_earlier(incident);
  history_.add(workload, remembered(incident));
  bound_serialised(incident);
  return incident;
}

std::vector<Incident> Correlator::take_ready(MonotonicTime now, const MemoryModel& model, std::int64_t wall_offset_ns) {
  std::vector<Incident> ready;
  for (KillEvidence& evidence : std::exchange(overdue_, {})) ready.push_back(build(evidence, model, wall_offset_ns));
  for (OpenIncident* open = open_.next_due(); open != nullptr && open->due <= now; open = open_.next_due()) {
    if (open->written && !open->amend_due) {
      end_window(*open);
      continue;
    }
    ready.push_back(build(open->evidence, model, wall_offset_ns));
    if (std::exchange(open->written, true)) ++open->amendments;
    open_.set_id(*open, ready.back().id);
    open->amend_due.reset();
    open->lacks_memory_stat = ready.back().memory_stat.empty();
    open->lacks_reclaim = !ready.back().reclaim;
    open_.schedule(*open, due_of(*open));
  }
  return ready;
}

// The first window accepts victims and context, the second one walks and statuses.
void Correlator::end_window(OpenIncident& open) {
  if (open.resting || longest_wait(open.evidence) <= config_.amend) return open_.close(open);
  open_.rest(open);
  open_.schedule(open, due_of(open));
}

std::optional<MonotonicTime> Correlator::next_due() const {
  return overdue_.empty() ? open_.next_due_time() : std::optional(MonotonicTime{});
}

CaptureSelection Correlator::selection() const {
  return {config_.capture_lookback, config_.amend, config_.amend_walks, config_.max_captures};
}

}  // namespace oomw
