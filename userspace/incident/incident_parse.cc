// SPDX-License-Identifier: Apache-2.0
// The reading half of incident.json; incident_json.cc writes it.
#include <algorithm>

#include "incident/collector_json.h"
#include "incident/incident.h"
#include "incident/json_reader.h"
#include "incident/trend_json.h"

namespace oomw {

namespace {

// More than the daemon ever writes (256 victims, 8 captures and some attempts, 256 points).
constexpr std::size_t kMaxItems = 4'096;
constexpr std::size_t kMaxIdLength = 64;
constexpr std::size_t kMaxCauses = 16;

bool is_id(const std::string& id) {
  constexpr const char* kAllowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  return !id.empty() && id.size() <= kMaxIdLength && id.find_first_not_of(kAllowed) == std::string::npos;
}

void read_container(JsonReader json, Incident& incident) {
  json.read("id", incident.container.id);
  json.read("name", incident.container.name);
  json.read("runtime", incident.container.runtime);
  json.read("image", incident.container.image);
  json.read("unit", incident.container.unit);
  json.read("cgroup_path", incident.cgroup_path);
  json.read("cgroup_id", incident.cgroup.value);
}

IncidentPod read_status(JsonReader json) {
  IncidentPod pod;
  json.read("node", pod.node);
  json.read("restart_count", pod.restart_count);
  json.read("memory_limit_bytes", pod.memory_limit_bytes);
  json.object("owner", [&](JsonReader owner) {
    owner.read("kind", pod.owner_kind);
    owner.read("name", pod.owner_name);
  });
  json.object("workload", [&](JsonReader workload) {
    workload.read("kind", pod.workload.kind);
    workload.read("name", pod.workload.name);
    workload.read("evidence", pod.workload.evidence);
  });
  json.object("last_termination", [&](JsonReader end) {
    PodTermination& last = pod.last_termination.emplace();
    end.read("reason", last.reason);
    end.read("exit_code", last.exit_code);
    end.read("finished_at", last.finished);
    end.read("container_id", last.container_id);
  });
  json.object("disagreement", [&](JsonReader disagreement) {
    disagreement.read("kind", pod.disagreement_kind);
    disagreement.read("text", pod.disagreement);
  });
  return pod;
}

void read_pod(JsonReader json, ContainerIdentity& who) {
  json.read("namespace", who.pod_namespace);
  json.read("name", who.pod_name);
  json.read("uid", who.pod_uid);
  json.read("labels", who.labels);
}

IncidentVictim read_victim(JsonReader json) {
  IncidentVictim victim;
  json.require("pid", victim.process.pid);
  json.read("start_ticks", victim.process.start_ticks);
  json.read("start_time", victim.started);
  json.read("comm", victim.comm);
  json.read("cgroup_path", victim.cgroup_path);
  json.read("exe", victim.exe);
  json.read("cmdline", victim.cmdline);
  json.read("uid", victim.uid);
  json.read("oom_score_adj", victim.oom_score_adj);
  json.object("go", [&](JsonReader go) {
    go.read("gogc_percent", victim.go.gogc_percent);
    go.read("memory_limit_bytes", victim.go.memory_limit_bytes);
  });
  json.object("rss", [&](JsonReader rss) {
    RssSplit& split = victim.rss.emplace();
    rss.require("anon_bytes", split.anon_bytes);
    rss.require("file_bytes", split.file_bytes);
    rss.require("shmem_bytes", split.shmem_bytes);
    rss.read("pgtables_bytes", split.pgtables_bytes);
  });
  return victim;
}

IncidentWatermark read_watermark(JsonReader json) {
  IncidentWatermark mark;
  json.require("time", mark.time);
  json.read("reason", mark.reason);
  json.read("level_percent", mark.level_percent);
  json.read("usage_bytes", mark.usage_bytes);
  json.read("lead_seconds", mark.lead_seconds);
  return mark;
}

void read_pressure(JsonReader json, Incident& incident) {
  std::optional<std::uint64_t> calls;
  json.read("reclaim_calls", calls);
  if (calls) {
    ReclaimSampled& reclaim = incident.reclaim.emplace();
    double stall_seconds = 0;
    reclaim.cgroup = incident.cgroup;
    reclaim.calls = *calls;
    json.read("zero_yield_calls", reclaim.zero_yield_calls);
    json.read("reclaimed_bytes", reclaim.reclaimed_bytes);
    json.read("stall_seconds", stall_seconds);
    if (!(stall_seconds >= 0 && stall_seconds < 1e9)) return json.refuse("stall_seconds", "in range");
    reclaim.stall_ns = static_cast<std::uint64_t>(stall_seconds * 1e9 + 0.5);
  }
  json.objects("watermarks", kMaxItems, [&](JsonReader mark) { incident.watermarks.push_back(read_watermark(mark)); });
}

IncidentCapture read_capture(JsonReader json) {
  IncidentCapture capture;
  json.read("file", capture.file);
  if (!is_plain_file_name(capture.file)) json.refuse("file", "a plain file name");
  json.require("method", capture.method);
  json.require("time", capture.time);
  json.read("trigger", capture.trigger);
  json.read("reason", capture.reason);
  json.require("result", capture.result);
  json.read("detail", capture.detail);
  json.read("pid", capture.pid);
  json.read("usage_bytes", capture.usage_bytes);
  json.read("limit_bytes", capture.limit_bytes);
  json.read("inuse_bytes", capture.inuse_bytes);
  json.read("live_bytes", capture.live_bytes);
  json.read("buckets", capture.buckets);
  json.read("complete", capture.complete);
  json.read("memstats", capture.memstats);
  json.read("duration_seconds", capture.duration_seconds);
  json.read("lead_seconds", capture.lead_seconds);
  return capture;
}

Incident::Point read_point(JsonReader json) {
  Incident::Point point;
  json.require("t", point.time);
  json.require("usage_bytes", point.usage_bytes);
  json.read("nonreclaimable_bytes", point.nonreclaimable_bytes);
  return point;
}

LimitShare read_share(JsonReader json) {
  LimitShare share;
  json.read("container", share.container);
  json.read("usage_bytes", share.usage_bytes);
  json.read("limit_bytes", share.limit_bytes);
  return share;
}

void read_verdict(JsonReader& json, IncidentVerdict& verdict) {
  json.require("cause", verdict.cause);
  json.read("confidence", verdict.confidence);
  json.read("why", verdict.why);
  std::optional<std::uint64_t> limit_bytes;
  json.read("suggested_limit_bytes", limit_bytes);
  if (limit_bytes) {
    SuggestedLimit& limit = verdict.suggested_limit.emplace();
    limit.bytes = *limit_bytes;
    json.read("suggested_limit_is_lower_bound", limit.is_lower_bound);
    json.read("suggested_limit_why", limit.why);
  }
  json.objects("also", kMaxCauses, [&](JsonReader other) {
    Finding& finding = verdict.also.emplace_back();
    other.require("cause", finding.cause);
    other.read("confidence", finding.confidence);
    other.read("why", finding.why);
  });
}

void read_conclusions(JsonReader& json, Incident& incident) {
  json.object("coverage", [&](JsonReader coverage) {
    coverage.read("ratio", incident.coverage_ratio);
    coverage.read("method", incident.coverage_method);
  });
  json.object("verdict", [&](JsonReader verdict) {
    IncidentVerdict& result = incident.verdict.emplace();
    read_verdict(verdict, result);
  });
  json.object("trend", [&](JsonReader trend) { read_trend(trend, incident.trend.emplace()); });
  json.object("collector", [&](JsonReader collector) { read_collector(collector, incident.collector.emplace()); });
  json.read("lost", incident.lost);
  json.read("notes", incident.notes);
}

void read_head(JsonReader& json, Incident& incident) {
  int version = 0;
  json.require("schema_version", version);
  if (version != Incident::kSchemaVersion) json.refuse("schema_version", "one this version reads (1)");
  json.require("id", incident.id);
  if (!is_id(incident.id)) json.refuse("id", "an incident id");
  json.require("time", incident.time);
  json.read("scope", incident.scope);
}

void read_incident(JsonReader json, Incident& incident) {
  read_head(json, incident);
  json.object("container", [&](JsonReader container) { read_container(container, incident); });
  json.object("pod", [&](JsonReader pod) {
    read_pod(pod, incident.container);
    IncidentPod status = read_status(pod);
    // Absent altogether where the API told nothing.
    if (!status.node.empty() || status.restart_count) incident.pod = std::move(status);
  });
  json.objects("victims", kMaxItems, [&](JsonReader victim) { incident.victims.push_back(read_victim(victim)); });
  json.read("victim_count", incident.victim_count);
  incident.victim_count = std::max(incident.victim_count, incident.victims.size());
  json.object("other_processes", [&](JsonReader others) {
    OtherProcesses& found = incident.others.emplace();
    others.require("count", found.count);
    others.require("lowest_oom_score_adj", found.lowest_oom_score_adj);
  });
  json.read("merged_decisions", incident.merged_decisions);
  json.object("trigger", [&](JsonReader trigger) {
    trigger.read("pid", incident.trigger_pid);
    trigger.read("comm", incident.trigger_comm);
    trigger.read("same_cgroup", incident.trigger_same_cgroup);
  });
  json.object("limit", [&](JsonReader limit) {
    limit.read("bytes", incident.limit_bytes);
    limit.read("owner_cgroup_path", incident.limit_owner_cgroup_path);
    limit.read("total_bytes", incident.total_bytes);
  });
  json.objects("limit_shares", kMaxItems,
               [&](JsonReader share) { incident.limit_shares.push_back(read_share(share)); });
  json.read("oom_group_cgroup_path", incident.oom_group_cgroup_path);
  json.read("usage_bytes", incident.usage_bytes);
  json.read("memory_stat", incident.memory_stat);
  json.object("pressure", [&](JsonReader pressure) { read_pressure(pressure, incident); });
  json.objects("series", kMaxItems, [&](JsonReader point) { incident.series.push_back(read_point(point)); });
  json.objects("captures", kMaxItems, [&](JsonReader item) { incident.captures.push_back(read_capture(item)); });
  read_conclusions(json, incident);
}

}  // namespace

Result<Incident> incident_from_json(std::string_view text) {
  ASSIGN_OR_RETURN(const nlohmann::json json, parse_json_object(text));
  Incident incident;
  std::optional<Error> error;
  read_incident(JsonReader(json, "", error), incident);
  if (error) return tl::make_unexpected(std::move(*error));
  return incident;
}

}  // namespace oomw
