// SPDX-License-Identifier: Apache-2.0
// incident.json, described once for writing, reading, measuring and its schema: see events/json_fields.h. Members are
// written in this order. For .cc files.
#pragma once

#include <algorithm>

#include "events/json_fields.h"
#include "incident/found_fields.h"
#include "incident/incident.h"
#include "incident/incident_notes.h"
#include "incident/reconciliation.h"

namespace oomw::incident_json {

void describe_container(auto& v, auto& incident) {
  auto& who = incident.container;
  v("id", who.id, kNull);
  v("name", who.name, kNull);
  v("runtime", who.runtime, kNull);
  v("image", who.image, kNull);
  v("cgroup_path", incident.cgroup_path, kNull);
  v("cgroup_id", incident.cgroup.value, kNull);
  v("unit", who.unit, kOmitted);  // services only; a container has none
}

void describe(auto& v, Of<PodTermination> auto& end) {
  v("reason", end.reason, kNull);
  v("exit_code", end.exit_code);
  v("finished_at", end.finished);
  v("container_id", end.container_id, kNull);
}

void describe(auto& v, Of<Workload> auto& workload) {
  v("kind", workload.kind);
  v("name", workload.name);
  v("evidence", workload.evidence);
}

// The last four are there only if the API reported the pod.
void describe_status(auto& v, Of<IncidentPod> auto& pod, Presence if_reported) {
  v("restart_count", pod.restart_count);
  v("last_termination", pod.last_termination);
  const auto owner = [&](auto& o) {
    o("kind", pod.owner_kind);
    o("name", pod.owner_name, kNull);
  };
  v.object("owner", owner, if_reported, !pod.owner_kind.empty());
  v.object(
      "workload", [&](auto& o) { describe(o, pod.workload); }, if_reported, !pod.workload.kind.empty());
  v("memory_limit_bytes", pod.memory_limit_bytes, kOmitted);
  v("resource_attributes", pod.resource_attributes, kOmitted);
  const auto disagreement = [&](auto& o) {
    o("kind", pod.disagreement_kind);
    o("text", pod.disagreement);
  };
  v.object("disagreement", disagreement, kOmitted, !pod.disagreement.empty());
}

void describe_pod(auto& v, auto& incident) {
  auto& who = incident.container;
  IncidentPod pod = incident.pod.value_or(IncidentPod{});
  v("namespace", who.pod_namespace, kNull);
  v("name", who.pod_name, kNull);
  v("uid", who.pod_uid, kNull);
  v("node", pod.node, kNull);
  v("labels", who.labels);
  describe_status(v, pod, incident.pod ? kNull : kOmitted);
  if constexpr (kReads<decltype(v)>) {
    if (!pod.node.empty() || pod.restart_count) incident.pod = std::move(pod);
  }
}

void describe(auto& v, Of<RssSplit> auto& rss) {
  v("anon_bytes", rss.anon_bytes, kRequired);
  v("file_bytes", rss.file_bytes, kRequired);
  v("shmem_bytes", rss.shmem_bytes, kRequired);
  v("pgtables_bytes", rss.pgtables_bytes);
}

void describe(auto& v, Of<IncidentVictim> auto& victim) {
  v("pid", victim.process.pid, kRequired);
  v.derived("tgid", [&] { return victim.process.pid; });
  v("start_time", victim.started);
  v("start_ticks", victim.process.start_ticks, kNull);
  v("comm", victim.comm);
  v("exe", victim.exe, kNull);
  v("cmdline", victim.cmdline, kNull);
  v("uid", victim.uid);
  v("is_init", victim.is_init, kOmitted);
  v("oom_score_adj", victim.oom_score_adj);
  v("rss", victim.rss);
  v("cgroup_path", victim.cgroup_path, kOmitted);
  const auto go = [&](auto& o) {
    o("gogc_percent", victim.go.gogc_percent, kOmitted);
    o("memory_limit_bytes", victim.go.memory_limit_bytes, kOmitted);
  };
  v.object("go", go, kOmitted, victim.go.gogc_percent || victim.go.memory_limit_bytes);
}

void describe(auto& v, Of<LimitShare> auto& share) {
  v("container", share.container, kNull);
  v("usage_bytes", share.usage_bytes);
  v("limit_bytes", share.limit_bytes);
}

void describe(auto& v, Of<OtherProcess> auto& process) {
  v("pid", process.pid, kRequired);
  v("comm", process.comm, kNull);
  v("cmdline", process.cmdline, kNull);
  v("resident_bytes", process.resident_bytes, kRequired);
}

void describe(auto& v, Of<OtherProcesses> auto& others) {
  v("count", others.count, kRequired);
  v("lowest_oom_score_adj", others.lowest_oom_score_adj, kRequired);
  v("largest", others.largest, kOmitted);
}

void describe(auto& v, Of<IncidentWatermark> auto& mark) {
  v("time", mark.time, kRequired);
  v("reason", mark.reason);
  v("level_percent", mark.level_percent);
  v("usage_bytes", mark.usage_bytes);
  v("lead_seconds", mark.lead_seconds);
}

void describe_pressure(auto& v, auto& incident) {
  constexpr double kMostSeconds = 1e9;
  std::optional<std::uint64_t> calls, zero_yield_calls, reclaimed_bytes;
  std::optional<double> stall_seconds;
  if (const auto& reclaim = incident.reclaim) {
    calls = reclaim->calls, zero_yield_calls = reclaim->zero_yield_calls, reclaimed_bytes = reclaim->reclaimed_bytes;
    stall_seconds = static_cast<double>(reclaim->stall_ns) / 1e9;
  }
  v("reclaim_calls", calls);
  v("zero_yield_calls", zero_yield_calls);
  v("reclaimed_bytes", reclaimed_bytes);
  v("stall_seconds", stall_seconds);
  v("watermarks", incident.watermarks);
  if constexpr (kReads<decltype(v)>) {
    const double seconds = stall_seconds.value_or(0);
    if (!(seconds >= 0 && seconds < kMostSeconds)) return v.check(false, "stall_seconds", "in range");
    const auto stall_ns = static_cast<std::uint64_t>(seconds * 1e9 + 0.5);
    if (calls) {
      incident.reclaim = {{},      incident.cgroup, *calls, zero_yield_calls.value_or(0), reclaimed_bytes.value_or(0),
                          stall_ns};
    }
  }
}

void describe(auto& v, Of<Incident::Point> auto& point) {
  v("t", point.time, kRequired);
  v("usage_bytes", point.usage_bytes, kRequired);
  v("nonreclaimable_bytes", point.nonreclaimable_bytes);
}

void describe(auto& v, Of<IncidentCapture> auto& capture) {
  v("file", capture.file, kNull);
  v.check(is_plain_file_name(capture.file), "file", "a plain file name");
  v("method", capture.method, kRequired);
  v("of", capture.of, kOmitted);  // known only of a heap that was read
  v("time", capture.time, kRequired);
  v("trigger", capture.trigger);
  v("reason", capture.reason);
  v("result", capture.result, kRequired);
  v("detail", capture.detail);
  v("pid", capture.pid, kNull);
  v("usage_bytes", capture.usage_bytes);
  v("limit_bytes", capture.limit_bytes);
  v("inuse_bytes", capture.inuse_bytes);
  v("live_bytes", capture.live_bytes);
  v("buckets", capture.buckets);
  v("complete", capture.complete);
  v("duration_seconds", capture.duration_seconds);
  v("lead_seconds", capture.lead_seconds);
  v("memstats", capture.memstats, kOmitted);  // most methods and programs have none
  v("goroutines", capture.goroutines, kOmitted);
  v("goroutines_cut", capture.goroutines_cut, kOmitted);
}

void describe(auto& v, Of<Finding> auto& finding) {
  v("cause", finding.cause, kRequired);
  v("confidence", finding.confidence);
  v("why", finding.why);
}

void describe(auto& v, Of<IncidentVerdict> auto& verdict) {
  v("cause", verdict.cause, kRequired);
  v("confidence", verdict.confidence);
  v("why", verdict.why);
  v.group("suggested_limit_bytes", verdict.suggested_limit, [&](auto& limit) {
    v("suggested_limit_bytes", limit.bytes);
    v("suggested_limit_is_lower_bound", limit.is_lower_bound);
    v("suggested_limit_why", limit.why);
  });
  v("also", verdict.also);
}

void describe(auto& v, Of<AnswerCulprit> auto& culprit) {
  v("claim", culprit.claim, kRequired);
  v("code", culprit.code, kRequired);
  v("path", culprit.path);
  v("operation_kind", culprit.operation_kind, kOmitted);
  v("operation", culprit.operation, kNull);
  v("share", culprit.share);
  v("bytes", culprit.bytes);
  v("error_bytes", culprit.error_bytes, kOmitted);
  v("evidence", culprit.evidence, kNull);
  v("build_id", culprit.build_id, kOmitted);
}

void describe(auto& v, Of<IncidentAnswer> auto& answer) {
  v("sentence", answer.sentence, kRequired);
  v("cause", answer.cause, kNull);
  v("confidence", answer.confidence);
  v("culprit", answer.culprit);
  v("action", answer.action);
  v("again", answer.again, kOmitted);
  v("same_culprit", answer.same_culprit, kOmitted);
}

void describe(auto& v, Of<EarlierKill> auto& earlier) {
  v("kills", earlier.kills, kRequired);
  v("id", earlier.id, kRequired);
  v("time", earlier.time, kRequired);
  v("cause", earlier.cause, kOmitted);
  v("claim", earlier.claim, kOmitted);
  v("code", earlier.code, kOmitted);
  v("operation", earlier.operation, kOmitted);
}

void describe(auto& v, Of<TrendFigures> auto& figures) {
  v("judgement", figures.judgement);
  v("readings", figures.readings);
  v("growth_share", figures.growth_share, kOmitted);
  v("slope_bytes_per_second", figures.slope_bytes_per_second, kOmitted);
  v("slope_low_bytes_per_second", figures.slope_low_bytes_per_second, kOmitted);
  v("slope_high_bytes_per_second", figures.slope_high_bytes_per_second, kOmitted);
  v("gained_bytes", figures.gained_bytes, kOmitted);
  v("first_live_bytes", figures.first_live_bytes);
  v("last_live_bytes", figures.last_live_bytes);
  v("first_held_bytes", figures.first_held_bytes);
  v("last_held_bytes", figures.last_held_bytes);
}

void describe(auto& v, Of<TrendSite> auto& site) {
  describe(v, site.figures);
  v("component", site.component, kOmitted);
  v("frames", site.frames);
  v.check(site.frames.size() <= TrendJudged::kMaxFrames, "frames", "an array of bounded size");
}

void describe(auto& v, Of<IncidentTrend::Point> auto& point) {
  v("time", point.time, kRequired);
  v("origin", point.origin);
  v("gc_cycle", point.gc_cycle, kOmitted);
  v("complete", point.is_complete);
  v("is_baseline", point.is_baseline);
  v("live_bytes", point.live_bytes);
  v("held_bytes", point.held_bytes);
  v("file", point.file, kOmitted);
  v.check(is_plain_file_name(point.file), "file", "a plain file name");
}

void describe(auto& v, Of<IncidentTrend> auto& trend) {
  v("pid", trend.pid, kRequired);
  v("of", trend.of, kOmitted);
  v("suspects", trend.suspects);
  v("span_seconds", trend.span_seconds, kOmitted);
  v("whole", trend.whole);
  v("sites", trend.sites);
  v.check(trend.sites.size() <= TrendJudged::kMaxSites, "sites", "an array of bounded size");
  v("points", trend.points);
  v.check(trend.points.size() <= TrendJudged::kMaxPoints, "points", "an array of bounded size");
}

void describe(auto& v, Of<CollectorComponent> auto& component) {
  v("kind", component.kind, kRequired);
  v("id", component.id, kRequired);
  v("module", component.module);
  v("held_bytes", component.held_bytes, kRequired);
  v("ratio", component.ratio);
  v("growth_bytes", component.growth_bytes, kOmitted);
}

void describe(auto& v, Of<CollectorExporter> auto& exporter) {
  v("id", exporter.id, kRequired);
  v("queue_size", exporter.queue_size, kRequired);
  v("queue_capacity", exporter.queue_capacity);
  v("growth", exporter.growth);
}

void describe(auto& v, Of<IncidentCollector> auto& collector) {
  const auto refused = [&](const char* name, auto& count) {
    v.object(
        name, [&](auto& o) { o("refused", count); }, kNull, count.has_value());
  };
  v("components", collector.components);
  v("components_file", collector.components_file, kNull);
  v("exporters", collector.exporters);
  refused("memory_limiter", collector.limiter_refused);
  refused("receivers", collector.receiver_refused);
  const auto metrics = [&](auto& o) {
    o("time", collector.read_at);
    o("lead_seconds", collector.lead_seconds);
    o("readings", collector.readings);
    o("span_seconds", collector.span_seconds);
  };
  v.object("metrics", metrics, kNull, collector.read_at.has_value());
  v("components_since_file", collector.components_since_file, kOmitted);
  if constexpr (kReads<decltype(v)>) {  // they come in pairs, but an edited file may lack one of a pair
    if (!collector.components_file.empty() && !collector.components) collector.components.emplace();
    if (collector.read_at && !collector.exporters) collector.exporters.emplace();
  }
}

void describe(auto& v, const MemoryPart& part) {
  v("part", part.key);
  v("bytes", part.bytes);
  v("source", part.source);
}

void describe(auto& v, const Reconciliation& reconciliation) {
  v("total_bytes", reconciliation.total_bytes);
  v("parts", reconciliation.parts);
  v("unexplained_bytes", reconciliation.unexplained_bytes);
}

void describe(auto& v, Of<RepeatedKills> auto& repeats) {
  v("count", repeats.count, kRequired);
  v("first", repeats.first, kRequired);
  v("last", repeats.last, kRequired);
}

void describe_head(auto& v, auto& incident) {
  constexpr std::size_t kMaxIdLength = 64;
  constexpr const char* kIdLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  int version = kReads<decltype(v)> ? 0 : Incident::kSchemaVersion;
  v("schema_version", version, kRequired);
  v.check(version == Incident::kSchemaVersion, "schema_version", "one this version reads (1)");
  v("id", incident.id, kRequired);
  v.check(!incident.id.empty() && incident.id.size() <= kMaxIdLength &&
              incident.id.find_first_not_of(kIdLetters) == std::string::npos,
          "id", "an incident id");
  v("time", incident.time, kRequired);
  v("scope", incident.scope, kNull);
  v("answer", incident.answer, kOmitted);
}

void describe_limit(auto& v, auto& incident) {
  v("bytes", incident.limit_bytes);
  v("owner_cgroup_path", incident.limit_owner_cgroup_path, kNull);
  // For a cgroup it repeats the limit, plus swap if that is counted separately, so leaving it out is no gap.
  v("total_bytes", incident.total_bytes, incident.scope == "node" ? kNull : kOmitted);
}

void describe_victims(auto& v, auto& incident) {
  v("victims", incident.victims);
  std::size_t count = std::max(incident.victim_count, incident.victims.size());
  v("victim_count", count);
  if constexpr (kReads<decltype(v)>) incident.victim_count = std::max(count, incident.victims.size());
}

// The notes that the incident lacks are written after its own.
void describe_notes(auto& v, auto& incident) {
  if constexpr (kReads<decltype(v)>) {
    v("notes", incident.notes);
  } else {
    std::vector<std::string> notes = incident.notes;
    for (std::string& note : missing_notes(incident)) notes.push_back(std::move(note));
    v("notes", notes);
  }
}

// Fields that only some incidents have.
void describe_particulars(auto& v, auto& incident) {
  // A kill of single processes has no group.
  const bool is_group_kill = incident.oom_group || !incident.oom_group_cgroup_path.empty();
  v("oom_group_cgroup_path", incident.oom_group_cgroup_path, is_group_kill ? kNull : kOmitted);
  v("repeats", incident.repeats, kOmitted);
  v("earlier", incident.earlier, kOmitted);
  v("limit_shares", incident.limit_shares, kOmitted);
  v("other_processes", incident.others, kOmitted);
  v("fillers", incident.fillers, kOmitted);
  v("operations", incident.operations, kOmitted);
  v("analyses", incident.analyses, kOmitted);
  v("holders", incident.holders, kOmitted);
  v("goroutines", incident.goroutines, kOmitted);
  v("goroutine_count", incident.goroutine_count, kOmitted);
  v("composition", incident.composition, kOmitted);
  v("growth", incident.growth, kOmitted);
  v("trend", incident.trend, kOmitted);
  v("contents_trend", incident.contents_trend, kOmitted);
  v("collector", incident.collector, kOmitted);
  v.derived(
      "reconciliation", [&] { return reconcile(incident); }, kOmitted);
}

void describe(auto& v, Of<Incident> auto& incident) {
  describe_head(v, incident);
  v.object("container", [&](auto& o) { describe_container(o, incident); });
  const ContainerIdentity& who = incident.container;
  v.object(
      "pod", [&](auto& o) { describe_pod(o, incident); }, kNull, !who.pod_name.empty() || !who.pod_uid.empty());
  describe_victims(v, incident);
  v("merged_decisions", incident.merged_decisions);
  v.object("trigger", [&](auto& o) {
    o("pid", incident.trigger_pid);
    o("comm", incident.trigger_comm, kNull);
    o("same_cgroup", incident.trigger_same_cgroup);
  });
  v.object("limit", [&](auto& o) { describe_limit(o, incident); });
  v("usage_bytes", incident.usage_bytes);
  v("memory_stat", incident.memory_stat, kNull);
  v.object("pressure", [&](auto& o) { describe_pressure(o, incident); });
  v("series", incident.series);
  v("captures", incident.captures);
  v.object("coverage", [&](auto& o) {
    o("ratio", incident.coverage_ratio);
    o("method", incident.coverage_method, kNull);
  });
  v("verdict", incident.verdict);
  v("lost", incident.lost);
  describe_notes(v, incident);
  describe_particulars(v, incident);
}

}  // namespace oomw::incident_json
