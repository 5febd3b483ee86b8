// SPDX-License-Identifier: Apache-2.0
#include "correlate/incident_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "correlate/analysed_memory.h"
#include "correlate/capture_selection.h"
#include "correlate/container_life.h"
#include "correlate/decision_notes.h"
#include "correlate/heap_fillers.h"
#include "correlate/incident_id.h"
#include "correlate/limit_shares.h"
#include "correlate/other_processes.h"
#include "incident/incident_files.h"

namespace oomw {
namespace {

// Reclaim totals are read right after the kill, before anything else of the cgroup could stall.
constexpr Nanoseconds kReclaimAfterKill = std::chrono::seconds(1);

// Sampling, and memory that is freed but not swept yet, bring the ratio to 1.1, seen once with a Collector. A program
// can lay out a profile of any size in its memory, so one above this bound is not trusted.
constexpr double kMostCoverage = 2.0;

class Builder {
 public:
  Builder(const KillEvidence& evidence, const MemoryModel& model)
      : evidence_(evidence), model_(model), source_(model.find_cgroup(evidence.source)) {}

  Incident build(const std::vector<CaptureFinished>& captures, const IncidentSources& sources,
                 const CaptureSelection& selection) {
    head();
    who();
    pod();
    victims();
    incident_.others = other_processes(evidence_, incident_.victims, model_);
    trigger();
    limit();
    memory_stat(selection.amend);
    pressure(selection.amend);
    series(selection.amend);
    for (const CaptureFinished& capture : captures) incident_.captures.push_back(capture_of(capture));
    coverage();
    add_fillers(incident_, captures);
    analyses(sources.analyses);
    growth(sources.growth);
    explain_no_capture();
    trend();
    collector(captures, sources.readings);
    return std::move(incident_);
  }

 private:
  [[nodiscard]] WallTime wall(MonotonicTime t) const { return {t.ns + evidence_.wall_offset_ns.value_or(0)}; }
  [[nodiscard]] double lead_of(MonotonicTime t) const { return to_seconds(evidence_.first - t); }
  [[nodiscard]] std::string ago(MonotonicTime t) const {
    const double lead = lead_of(t);
    return fmt::format("{:.3f} s {} the kill", lead < 0 ? -lead : lead, lead < 0 ? "after" : "before");
  }
  void note(std::string text) { incident_.notes.push_back(std::move(text)); }
  void note_all(std::vector<std::string> texts) {
    for (std::string& text : texts) note(std::move(text));
  }
  [[nodiscard]] const OomKill& first() const { return evidence_.chosen(); }

  void head();
  void who();
  void pod();
  void victims();
  [[nodiscard]] IncidentVictim victim_of(const OomKill& kill) const;
  [[nodiscard]] std::optional<WallTime> start_of(ProcessKey process) const;
  void trigger();
  void limit();
  void usage_from_model(const CgroupState* owner);
  void usage_before_count();
  void memory_stat(Nanoseconds amend);
  void pressure(Nanoseconds amend);
  void series(Nanoseconds amend);
  [[nodiscard]] IncidentCapture capture_of(const CaptureFinished& capture);
  [[nodiscard]] std::string file_unless_lost(const std::string& name, const char* field);
  void coverage();
  void analyses(const std::vector<HeapAnalysed>& events);
  void growth(const std::optional<IncidentGrowth>& grown);
  void explain_no_capture();
  void trend();
  void collector(const std::vector<CaptureFinished>& captures, const std::vector<CollectorSampled>& readings);

  const KillEvidence& evidence_;
  const MemoryModel& model_;
  const CgroupState* source_;  // may be nullptr
  Incident incident_;
};

// The reading that the growth of this capture's process counts from; nullptr: none has a file, or it shows another
// series.
const TrendPoint* baseline_before(const TrendJudged& trend, const CaptureFinished& capture) {
  if (trend.process.pid != capture.process.pid || capture.method == CaptureMethod::kHttp) return nullptr;
  const auto found = std::ranges::find_if(trend.points, &TrendPoint::is_baseline);
  const bool is_before = found != trend.points.end() && !found->file.empty() && found->time < capture.time;
  return is_before ? &*found : nullptr;
}

void Builder::head() {
  incident_.time = wall(evidence_.first);
  incident_.id = incident_id(evidence_, incident_.time);
  incident_.scope = evidence_.scope;
  incident_.lost = evidence_.lost;
}

void Builder::who() {
  incident_.cgroup = evidence_.container;
  const CgroupState* container = model_.find_cgroup(evidence_.container);
  if (container == nullptr) return;
  incident_.cgroup_path = container->path;
  incident_.container = container->identity;
  // A cgroup without an identity of its own gets the one known above it: at least the pod.
  const ContainerIdentity* who = model_.identity_of(evidence_.container);
  if (who != nullptr && incident_.container == ContainerIdentity{}) incident_.container = *who;
}

void Builder::pod() {
  const bool is_pod = !incident_.container.pod_uid.empty() || !incident_.container.pod_name.empty();
  if (!is_pod) return;
  std::optional<PodFacts> facts = evidence_.pod ? evidence_.pod : model_.pods().facts_of(incident_.container);
  if (!facts) {
    if (!model_.pods().is_told()) return;  // incident_notes.cc adds the note
    for (const char* field : {"node", "restart_count", "last_termination"}) {
      note(fmt::format("pod.{}: the Kubernetes API has not reported this pod", field));
    }
    return;
  }
  incident_.pod = pod_of(*facts);
  if (!facts->labels.empty()) incident_.container.labels = std::move(facts->labels);
  if (facts->is_cut) note("pod.labels: not all are kept, this pod has too much of them or of containers");
  if (evidence_.status_at) note("pod.status: what was missing was reported " + ago(*evidence_.status_at));
  if (evidence_.withdrawn) note("pod.disagreement: withdrawn: " + printable(evidence_.withdrawn->text));
  if (evidence_.disagreement) {
    incident_.pod->disagreement_kind = evidence_.disagreement->kind;
    incident_.pod->disagreement = evidence_.disagreement->text;
    note("pod.disagreement: " + printable(evidence_.disagreement->text));
  }
}

void Builder::victims() {
  for (const OomKill& kill : evidence_.kills) incident_.victims.push_back(victim_of(kill));
  incident_.victim_count = evidence_.victim_count();
  incident_.merged_decisions = evidence_.merged_decisions;
  if (const KillEvidence::Repeats& repeats = evidence_.repeats; repeats.count != 0) {
    incident_.repeats = RepeatedKills{repeats.count, wall(repeats.first), wall(repeats.last)};
    note(
        fmt::format("repeats: {} further kills of this container are counted here: they came faster than incidents of "
                    "their own are kept apart",
                    repeats.count));
  }
  note_all(victim_notes(evidence_, model_));
}

IncidentVictim Builder::victim_of(const OomKill& kill) const {
  IncidentVictim victim;
  victim.process = kill.victim;
  victim.comm = kill.victim_comm;
  victim.uid = kill.victim_uid;
  victim.oom_score_adj = kill.victim_oom_score_adj;
  victim.rss = kill.victim_rss;
  if (const CgroupState* home = model_.find_cgroup(model_.cgroup_of(kill))) victim.cgroup_path = home->path;
  if (const ProcessState* process = kill.unwatched ? nullptr : model_.find_process(kill.victim)) {
    victim.process = process->key;
    if (victim.comm.empty()) victim.comm = process->comm;
    victim.exe = process->exe;
    victim.cmdline = process->cmdline;
    victim.go = process->go;
    if (!victim.uid) victim.uid = process->uid;
    victim.is_init = process->is_init;
    if (!victim.oom_score_adj) victim.oom_score_adj = process->oom_score_adj;
  }
  victim.started = start_of(victim.process);
  return victim;
}

// Start times count from CLOCK_BOOTTIME, which is ahead of CLOCK_MONOTONIC by the time spent suspended: zero on a
// server. A start after the kill shows a suspension, so it is dropped.
std::optional<WallTime> Builder::start_of(ProcessKey process) const {
  const MonotonicTime start{static_cast<std::int64_t>(process.start_ticks * kNanosecondsPerTick)};
  if (process.start_ticks == 0 || start > evidence_.first) return std::nullopt;
  return wall(start);
}

void Builder::trigger() {
  if (first().trigger_pid != 0) incident_.trigger_pid = first().trigger_pid;
  incident_.trigger_comm = first().trigger_comm;
  if (first().trigger_cgroup) {
    incident_.trigger_same_cgroup = first().trigger_cgroup == evidence_.victim_cgroup ||
                                    model_.is_under(first().trigger_cgroup, evidence_.container);
  }
}

// Where the kill is known only from a count, a reading may be from after it: the highest one before it is used.
void Builder::usage_before_count() {
  if (source_ == nullptr || !evidence_.counted->after) return;
  for (const SeriesPoint& point : source_->series.points()) {
    if (point.time < *evidence_.counted->after || point.time >= evidence_.first) continue;
    incident_.usage_bytes = std::max(incident_.usage_bytes.value_or(0), point.usage_bytes);
  }
  if (incident_.usage_bytes) note("usage_bytes: the most that was read between the two readings of the kill count");
}

void Builder::limit() {
  const CgroupState* owner = model_.find_cgroup(evidence_.owner);
  if (owner != nullptr) incident_.limit_owner_cgroup_path = owner->path;
  incident_.oom_group = evidence_.group;
  if (const CgroupState* group = model_.find_cgroup(evidence_.group)) incident_.oom_group_cgroup_path = group->path;
  incident_.limit_bytes = first().owner_limit_bytes ? first().owner_limit_bytes : evidence_.owner_limit_bytes;
  incident_.usage_bytes = first().owner_usage_bytes;
  incident_.total_bytes = first().total_bytes;
  incident_.limit_shares = shares_of(evidence_, model_);
  note_all(limit_notes(evidence_, model_));
  usage_from_model(owner);
}

void Builder::usage_from_model(const CgroupState* owner) {
  if (evidence_.kills.empty()) return usage_before_count();
  if (owner == nullptr || !owner->sampled || incident_.usage_bytes || owner->sampled_at > evidence_.last) return;
  // An older reading of a pod may belong to an earlier container.
  if (!evidence_.sharers.empty() && evidence_.container_created > owner->sampled_at) return;
  incident_.usage_bytes = owner->usage_bytes;
  note("usage_bytes: read " + ago(owner->sampled_at));
}

void Builder::memory_stat(Nanoseconds amend) {
  if (evidence_.unwatched) return;
  incident_.memory_stat = evidence_.memory_stat;
  MonotonicTime read_at = evidence_.memory_stat_at;
  const CgroupState* source = model_.find_cgroup(evidence_.stat_source);
  const bool is_of_old = source != nullptr && evidence_.container_created > source->memory_stat_at;
  const bool may_read = source != nullptr && !is_of_old && source->memory_stat_at <= evidence_.first + amend;
  if (incident_.memory_stat.empty() && may_read) {
    incident_.memory_stat = source->memory_stat;
    read_at = source->memory_stat_at;
  }
  if (!incident_.memory_stat.empty()) note("memory_stat: read " + ago(read_at));
}

// Pressure belongs to the cgroup whose limit was hit, also where that is above the container.
void Builder::pressure(Nanoseconds amend) {
  if (evidence_.unwatched) return;
  for (const WatermarkCrossed& mark : crossings_of(evidence_, model_)) {
    incident_.watermarks.push_back({wall(mark.time), std::string(to_string(mark.reason)), mark.level_percent,
                                    mark.usage_bytes, lead_of(mark.time)});
  }
  incident_.reclaim = evidence_.reclaim;
  const CgroupState* pressed = model_.find_cgroup(evidence_.pressed);
  if (pressed == nullptr) return;
  const bool is_above = evidence_.scope == "ancestor" || evidence_.scope == "pod";
  if (is_above) note("pressure.watermarks: of the cgroup whose limit was hit, as is all of pressure");
  const bool is_current = pressed->reclaim && pressed->reclaim->time <= evidence_.first + kReclaimAfterKill;
  const bool is_late = pressed->reclaim && pressed->reclaim->time > evidence_.first + amend;
  if (is_current || (!incident_.reclaim && !is_late)) incident_.reclaim = pressed->reclaim;
  if (incident_.reclaim) incident_.reclaim = since_begin(*incident_.reclaim, evidence_, model_);
}

void Builder::series(Nanoseconds amend) {
  if (evidence_.unwatched) return;
  const UsedSeries used = series_of(evidence_, model_, evidence_.first + amend);
  if (used.is_pods) note("series.usage_bytes: the pod's since this container began; it was not read itself in time");
  for (const SeriesPoint& point : used.points) {
    incident_.series.push_back({wall(point.time), point.usage_bytes, point.nonreclaimable_bytes});
  }
}

// "" with a note if the file could not be placed.
std::string Builder::file_unless_lost(const std::string& name, const char* field) {
  const auto lost = evidence_.lost_files.find(name);
  if (lost == evidence_.lost_files.end()) return name;
  note(fmt::format("{}: a profile could not be kept: {}", field, lost->second));
  return "";
}

IncidentCapture Builder::capture_of(const CaptureFinished& capture) {
  IncidentCapture result;
  const auto named = evidence_.capture_files.find(capture.spool_file);
  if (named != evidence_.capture_files.end()) result.file = file_unless_lost(named->second, "captures.file");
  if (!result.file.empty()) result.spool_file = capture.spool_file;
  result.method = to_string(capture.method);
  if (capture.of) result.of = to_string(*capture.of);
  result.trigger = to_string(capture.trigger);
  result.result = to_string(capture.result);
  result.reason = to_string(capture.reason);
  result.detail = capture.detail;
  result.pid = capture.process.pid;
  result.time = wall(capture.time);
  const bool is_at_kill = capture.method == CaptureMethod::kAtKill;
  result.usage_bytes = is_at_kill ? first().owner_usage_bytes : capture.usage_bytes;
  result.limit_bytes = is_at_kill ? first().owner_limit_bytes : capture.limit_bytes;
  result.inuse_bytes = capture.inuse_bytes;
  result.live_bytes = capture.live_bytes;
  result.buckets = capture.sample_count;
  result.complete = capture.complete;
  result.memstats = capture.memstats;
  result.goroutines = capture.goroutines;
  result.goroutines_cut = capture.goroutines_cut;
  result.duration_seconds = to_seconds(capture.time - capture.started);
  result.lead_seconds = lead_of(capture.time);
  return result;
}

void Builder::coverage() {
  const auto ratio = coverage_of_victims(incident_);
  if (!ratio) return;
  const std::string& method = best_capture(incident_)->method;
  if (*ratio > kMostCoverage) {
    note(
        fmt::format("coverage: the {} profile claims {:.1f} times the memory that the victims held: it is not to be "
                    "trusted",
                    method, *ratio));
    return;
  }
  incident_.coverage_ratio = ratio;
  incident_.coverage_method = method;
}

void Builder::analyses(const std::vector<HeapAnalysed>& events) {
  if (evidence_.unwatched) return;
  add_analyses(incident_, events, evidence_.first, evidence_.wall_offset_ns.value_or(0));
  for (IncidentAnalysis& analysis : incident_.analyses) {
    std::erase_if(analysis.files, [&](const IncidentAnalysis::File& file) {
      return file_unless_lost(file.name, "analyses.files").empty();
    });
  }
}

void Builder::growth(const std::optional<IncidentGrowth>& grown) {
  if (evidence_.unwatched || !grown) return;
  incident_.growth = grown;
  incident_.growth->file = file_unless_lost(incident_.growth->file, "growth.file");
}

void Builder::explain_no_capture() {
  if (best_capture(incident_) != nullptr) return;
  if (evidence_.unwatched) return note("captures: none: no daemon is known to have watched at the kill");
  std::string why;
  for (const IncidentCapture& attempt : incident_.captures) {
    const std::string_view meaning = explain_capture_reason(attempt.reason);
    const std::string text = meaning.empty() ? attempt.reason : fmt::format("{} ({})", attempt.reason, meaning);
    if (!text.empty() && why.find(text) == std::string::npos) why += (why.empty() ? "" : "; ") + text;
  }
  if (!why.empty()) {
    note("captures: no heap profile before the kill: " + why);
  } else if (incident_.watermarks.empty()) {
    note("captures: no heap profile before the kill: no watermark crossing was seen in time");
  } else {
    note(
        fmt::format("captures: no heap profile before the kill: {} watermark crossings were seen, none led to a "
                    "capture",
                    incident_.watermarks.size()));
  }
}

void Builder::trend() {
  if (!evidence_.trend) return;
  auto& trend = evidence_.trend->of == RuntimeKind::kGo ? incident_.trend : incident_.contents_trend;
  trend = trend_of(*evidence_.trend, evidence_.wall_offset_ns.value_or(0));
  for (IncidentTrend::Point& point : trend->points) {
    if (!point.file.empty()) point.file = file_unless_lost(point.file, "trend.points.file");
  }
  if (evidence_.lost_files.contains(kTrendFile)) trend->spool_file.clear();
}

// Its components are those of the best profile, and their growth that since the first comparable profile.
void Builder::collector(const std::vector<CaptureFinished>& captures, const std::vector<CollectorSampled>& readings) {
  incident_.collector = collector_of(readings, evidence_.first, evidence_.wall_offset_ns.value_or(0));
  const IncidentCapture* best = best_capture(incident_);
  const auto event_of = [&](const IncidentCapture* capture) -> const CaptureFinished& {
    return captures[static_cast<std::size_t>(capture - incident_.captures.data())];
  };
  if (best == nullptr || event_of(best).components.empty()) return;
  if (!incident_.collector) incident_.collector.emplace();
  IncidentCollector& collector = *incident_.collector;
  collector.components_file = best->file;
  const IncidentCapture* first = first_before(incident_, *best);
  const TrendPoint* baseline = evidence_.trend ? baseline_before(*evidence_.trend, event_of(best)) : nullptr;
  if (baseline != nullptr && !evidence_.lost_files.contains(baseline->file)) {
    collector.components = grown_since(evidence_.trend->components, event_of(best).components);
    collector.components_since_file = baseline->file;
  } else if (first != nullptr && shows_last_collection(*first) == shows_last_collection(*best)) {
    collector.components = grown_since(event_of(first).components, event_of(best).components);
    collector.components_since_file = first->file;
  } else {
    collector.components = event_of(best).components;
  }
}

void name_files(KillEvidence& evidence, const std::vector<CaptureFinished>& captures) {
  for (const CaptureFinished& capture : captures) {
    if (capture.spool_file.empty()) continue;
    const std::size_t number = evidence.capture_files.size() + 1;
    evidence.capture_files.try_emplace(capture.spool_file, capture_file_name(number, to_string(capture.method)));
  }
}

}  // namespace

IncidentPod pod_of(const PodFacts& facts) {
  IncidentPod pod;
  pod.node = facts.node;
  pod.owner_kind = facts.owner_kind;
  pod.owner_name = facts.owner_name;
  pod.workload = facts.workload;
  pod.restart_count = facts.restart_count;
  pod.last_termination = facts.last_termination;
  if (facts.container) pod.memory_limit_bytes = facts.container->memory_limit_bytes;
  pod.resource_attributes = facts.resource_attributes;
  return pod;
}

Incident build_incident(KillEvidence& evidence, const IncidentSources& sources, const MemoryModel& model,
                        const CaptureSelection& selection) {
  std::vector<CaptureFinished> captures;
  if (!evidence.unwatched) captures = select_captures(evidence, sources.captures, model, selection);
  name_files(evidence, captures);
  return Builder(evidence, model).build(captures, sources, selection);
}

}  // namespace oomw
