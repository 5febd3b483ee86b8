// SPDX-License-Identifier: Apache-2.0
// The writing half of incident.json; incident_parse.cc reads it.
#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "events/json_text.h"
#include "incident/collector_json.h"
#include "incident/incident.h"
#include "incident/incident_notes.h"
#include "incident/reconciliation.h"
#include "incident/trend_json.h"

namespace oomw {

namespace {

using Json = nlohmann::ordered_json;

Json text(const std::string& bytes) { return to_valid_utf8(bytes); }

// "" stands for unknown in the struct.
Json text_or_null(const std::string& bytes) { return bytes.empty() ? Json(nullptr) : text(bytes); }

// JSON has no infinity; a figure that is none is unknown.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json figures(const std::map<std::string, std::uint64_t>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[to_valid_utf8(name)] = value;
  return json;
}

Json container_json(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  Json json = {{"id", text_or_null(who.id)},
               {"name", text_or_null(who.name)},
               {"runtime", text_or_null(who.runtime)},
               {"image", text_or_null(who.image)},
               {"cgroup_path", text_or_null(incident.cgroup_path)},
               {"cgroup_id", incident.cgroup ? Json(incident.cgroup.value) : Json(nullptr)}};
  if (!who.unit.empty()) json["unit"] = text(who.unit);  // services only; a container has none to know
  return json;
}

Json termination_json(const std::optional<PodTermination>& end) {
  if (!end) return nullptr;
  return {{"reason", text_or_null(end->reason)},
          {"exit_code", or_null(end->exit_code)},
          {"finished_at", end->finished ? Json(to_rfc3339(*end->finished)) : Json(nullptr)},
          {"container_id", text_or_null(end->container_id)}};
}

Json owner_json(const IncidentPod& pod) {
  if (pod.owner_kind.empty()) return nullptr;
  return {{"kind", text(pod.owner_kind)}, {"name", text_or_null(pod.owner_name)}};
}

Json workload_json(const Workload& workload) {
  if (workload.kind.empty()) return nullptr;
  return {{"kind", text(workload.kind)}, {"name", text(workload.name)}, {"evidence", text(workload.evidence)}};
}

Json pod_json(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  if (who.pod_name.empty() && who.pod_uid.empty()) return nullptr;
  Json labels = Json::object();
  for (const auto& [name, value] : who.labels) labels[to_valid_utf8(name)] = text(value);
  const IncidentPod pod = incident.pod.value_or(IncidentPod{});
  Json json = {{"namespace", text_or_null(who.pod_namespace)},
               {"name", text_or_null(who.pod_name)},
               {"uid", text_or_null(who.pod_uid)},
               {"node", text_or_null(pod.node)},
               {"labels", std::move(labels)},
               {"restart_count", or_null(pod.restart_count)},
               {"last_termination", termination_json(pod.last_termination)}};
  if (!incident.pod) return json;
  json["owner"] = owner_json(pod);
  json["workload"] = workload_json(pod.workload);
  if (pod.memory_limit_bytes) json["memory_limit_bytes"] = *pod.memory_limit_bytes;
  if (pod.disagreement.empty()) return json;  // none is no gap
  json["disagreement"] = {{"kind", text(pod.disagreement_kind)}, {"text", text(pod.disagreement)}};
  return json;
}

Json rss_json(const std::optional<RssSplit>& rss) {
  if (!rss) return nullptr;
  return {{"anon_bytes", rss->anon_bytes},
          {"file_bytes", rss->file_bytes},
          {"shmem_bytes", rss->shmem_bytes},
          {"pgtables_bytes", or_null(rss->pgtables_bytes)}};
}

Json go_json(const GoConfig& go) {
  Json json = Json::object();
  if (go.gogc_percent) json["gogc_percent"] = *go.gogc_percent;
  if (go.memory_limit_bytes) json["memory_limit_bytes"] = *go.memory_limit_bytes;
  return json;
}

Json victim_json(const IncidentVictim& victim) {
  const std::uint64_t ticks = victim.process.start_ticks;
  Json json = {{"pid", victim.process.pid},
               {"tgid", victim.process.pid},
               {"start_time", victim.started ? Json(to_rfc3339(*victim.started)) : Json(nullptr)},
               {"start_ticks", ticks != 0 ? Json(ticks) : Json(nullptr)},
               {"comm", text(victim.comm)},
               {"exe", text_or_null(victim.exe)},
               {"cmdline", text_or_null(victim.cmdline)},
               {"uid", or_null(victim.uid)},
               {"oom_score_adj", or_null(victim.oom_score_adj)},
               {"rss", rss_json(victim.rss)}};
  if (!victim.cgroup_path.empty()) json["cgroup_path"] = text(victim.cgroup_path);
  if (Json go = go_json(victim.go); !go.empty()) json["go"] = std::move(go);
  return json;
}

Json limit_json(const Incident& incident) {
  Json json = {{"bytes", or_null(incident.limit_bytes)},
               {"owner_cgroup_path", text_or_null(incident.limit_owner_cgroup_path)}};
  // Of a cgroup it is the limit over again, with swap where that is counted apart: no gap to speak of.
  if (incident.total_bytes || incident.scope == "node") json["total_bytes"] = or_null(incident.total_bytes);
  return json;
}

Json shares_json(const std::vector<LimitShare>& shares) {
  Json json = Json::array();
  for (const LimitShare& share : shares) {
    json.push_back({{"container", text_or_null(share.container)},
                    {"usage_bytes", or_null(share.usage_bytes)},
                    {"limit_bytes", or_null(share.limit_bytes)}});
  }
  return json;
}

Json watermark_json(const IncidentWatermark& mark) {
  return {{"time", to_rfc3339(mark.time)},
          {"reason", text(mark.reason)},
          {"level_percent", mark.level_percent},
          {"usage_bytes", mark.usage_bytes},
          {"lead_seconds", number(mark.lead_seconds)}};
}

Json pressure_json(const Incident& incident) {
  const auto& reclaim = incident.reclaim;
  Json watermarks = Json::array();
  for (const IncidentWatermark& mark : incident.watermarks) watermarks.push_back(watermark_json(mark));
  return {{"reclaim_calls", reclaim ? Json(reclaim->calls) : Json(nullptr)},
          {"zero_yield_calls", reclaim ? Json(reclaim->zero_yield_calls) : Json(nullptr)},
          {"reclaimed_bytes", reclaim ? Json(reclaim->reclaimed_bytes) : Json(nullptr)},
          {"stall_seconds", reclaim ? Json(static_cast<double>(reclaim->stall_ns) / 1e9) : Json(nullptr)},
          {"watermarks", std::move(watermarks)}};
}

Json capture_json(const IncidentCapture& capture) {
  Json json = {{"file", text_or_null(capture.file)},
               {"method", text(capture.method)},
               {"time", to_rfc3339(capture.time)},
               {"trigger", text(capture.trigger)},
               {"reason", text(capture.reason)},
               {"result", text(capture.result)},
               {"detail", text(capture.detail)},
               {"pid", capture.pid != 0 ? Json(capture.pid) : Json(nullptr)},
               {"usage_bytes", or_null(capture.usage_bytes)},
               {"limit_bytes", or_null(capture.limit_bytes)},
               {"inuse_bytes", or_null(capture.inuse_bytes)},
               {"live_bytes", or_null(capture.live_bytes)},
               {"buckets", or_null(capture.buckets)},
               {"complete", capture.complete},
               {"duration_seconds", number(capture.duration_seconds)},
               {"lead_seconds", number(capture.lead_seconds)}};
  // Most methods and programs have none: no gap to speak of.
  if (!capture.memstats.empty()) json["memstats"] = figures(capture.memstats);
  return json;
}

Json reconciliation_json(const Reconciliation& reconciliation) {
  Json parts = Json::array();
  for (const MemoryPart& part : reconciliation.parts) {
    parts.push_back({{"part", part.key}, {"bytes", part.bytes}, {"source", text(part.source)}});
  }
  return {{"total_bytes", reconciliation.total_bytes},
          {"parts", std::move(parts)},
          {"unexplained_bytes", reconciliation.unexplained_bytes}};
}

Json series_json(const std::vector<Incident::Point>& series) {
  Json json = Json::array();
  for (const Incident::Point& point : series) {
    json.push_back({{"t", to_rfc3339(point.time)},
                    {"usage_bytes", point.usage_bytes},
                    {"nonreclaimable_bytes", or_null(point.nonreclaimable_bytes)}});
  }
  return json;
}

Json texts(const std::vector<std::string>& lines) {
  Json json = Json::array();
  for (const std::string& line : lines) json.push_back(text(line));
  return json;
}

Json finding_json(const std::string& cause, double confidence, const std::vector<std::string>& why) {
  return {{"cause", text(cause)}, {"confidence", number(confidence)}, {"why", texts(why)}};
}

Json verdict_json(const std::optional<IncidentVerdict>& verdict) {
  if (!verdict) return nullptr;
  Json also = Json::array();
  for (const Finding& other : verdict->also) also.push_back(finding_json(other.cause, other.confidence, other.why));
  Json json = finding_json(verdict->cause, verdict->confidence, verdict->why);
  if (const auto& limit = verdict->suggested_limit) {
    json["suggested_limit_bytes"] = limit->bytes;
    json["suggested_limit_is_lower_bound"] = limit->is_lower_bound;
    json["suggested_limit_why"] = text(limit->why);
  }
  json["also"] = std::move(also);
  return json;
}

Json notes_json(const Incident& incident) {
  Json notes = texts(incident.notes);
  for (const std::string& note : missing_notes(incident)) notes.push_back(note);
  return notes;
}

}  // namespace

std::string to_json(const Incident& incident) {
  Json victims = Json::array();
  for (const IncidentVictim& victim : incident.victims) victims.push_back(victim_json(victim));
  Json captures = Json::array();
  for (const IncidentCapture& capture : incident.captures) captures.push_back(capture_json(capture));
  Json json = {
      {"schema_version", Incident::kSchemaVersion},
      {"id", text(incident.id)},
      {"time", to_rfc3339(incident.time)},
      {"scope", text_or_null(incident.scope)},
      {"container", container_json(incident)},
      {"pod", pod_json(incident)},
      {"victims", std::move(victims)},
      {"victim_count", std::max(incident.victim_count, incident.victims.size())},
      {"merged_decisions", incident.merged_decisions},
      {"trigger",
       {{"pid", or_null(incident.trigger_pid)},
        {"comm", text_or_null(incident.trigger_comm)},
        {"same_cgroup", or_null(incident.trigger_same_cgroup)}}},
      {"limit", limit_json(incident)},
      {"usage_bytes", or_null(incident.usage_bytes)},
      {"memory_stat", incident.memory_stat.empty() ? Json(nullptr) : figures(incident.memory_stat)},
      {"pressure", pressure_json(incident)},
      {"series", series_json(incident.series)},
      {"captures", std::move(captures)},
      {"coverage", {{"ratio", or_null(incident.coverage_ratio)}, {"method", text_or_null(incident.coverage_method)}}},
      {"verdict", verdict_json(incident.verdict)},
      {"lost", figures(incident.lost)},
      {"notes", notes_json(incident)},
  };
  // A kill of single processes has no group to know.
  const bool is_group_kill = incident.oom_group || !incident.oom_group_cgroup_path.empty();
  if (is_group_kill) json["oom_group_cgroup_path"] = text_or_null(incident.oom_group_cgroup_path);
  if (!incident.limit_shares.empty()) json["limit_shares"] = shares_json(incident.limit_shares);
  if (incident.others) {
    json["other_processes"] = {{"count", incident.others->count},
                               {"lowest_oom_score_adj", incident.others->lowest_oom_score_adj}};
  }
  if (incident.trend) json["trend"] = trend_json(*incident.trend);
  if (incident.collector) json["collector"] = collector_json(*incident.collector);
  if (const auto parts = reconcile(incident)) json["reconciliation"] = reconciliation_json(*parts);
  return to_json_text(json, 2) + "\n";
}

}  // namespace oomw
