// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_record.h"

#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/collector.h"
#include "sinks/otlp_profile.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxText = OtlpAttributes::kMaxText;
constexpr int kError = 17, kFatal = 21;  // SeverityNumber

void add_victim(OtlpAttributes& attributes, const Incident& incident, const OtlpMapping& mapping) {
  if (incident.victims.empty()) return;
  const IncidentVictim& victim = incident.victims.front();
  attributes.flag("oomwitness.victim.is_init", victim.is_init);
  attributes.integer("process.pid", std::optional(victim.process.pid));
  attributes.text("process.executable.name", victim.comm);
  attributes.text("process.executable.path", victim.exe);
  if (victim.started) attributes.text("process.creation.time", to_rfc3339(*victim.started));
  attributes.integer("process.user.id", victim.uid);
  attributes.text("process.linux.cgroup", victim.cgroup_path);
  if (mapping.has_command_line) attributes.text("process.command_line", victim.cmdline);
  const IncidentCapture* capture = best_capture_of(incident, victim.process.pid);
  if (capture != nullptr) attributes.text("process.runtime.name", capture->of);
  if (!victim.rss) return;
  attributes.integer("oomwitness.rss.anon", std::optional(victim.rss->anon_bytes));
  attributes.integer("oomwitness.rss.file", std::optional(victim.rss->file_bytes));
  attributes.integer("oomwitness.rss.shmem", std::optional(victim.rss->shmem_bytes));
  attributes.integer("oomwitness.rss.pgtables", victim.rss->pgtables_bytes);
}

void add_kill(OtlpAttributes& attributes, const Incident& incident) {
  attributes.text("oomwitness.scope", incident.scope);
  attributes.integer("oomwitness.victim.count", std::optional(incident.victim_count));
  attributes.integer("oomwitness.limit", incident.limit_bytes);
  attributes.text("oomwitness.limit.owner", incident.limit_owner_cgroup_path);
  attributes.integer("oomwitness.usage", incident.usage_bytes);
  attributes.integer("oomwitness.trigger.pid", incident.trigger_pid);
  attributes.text("oomwitness.trigger.comm", incident.trigger_comm);
  attributes.flag("oomwitness.trigger.same_cgroup", incident.trigger_same_cgroup);
  if (incident.reclaim) {
    attributes.number("oomwitness.reclaim.stall_seconds", static_cast<double>(incident.reclaim->stall_ns) / 1e9);
  }
  if (!incident.pod) return;
  attributes.text("oomwitness.disagreement", incident.pod->disagreement_kind);
  const auto& termination = incident.pod->last_termination;
  if (termination && termination->container_id == incident.container.id && termination->reason == "OOMKilled") {
    attributes.text("k8s.container.status.reason", termination->reason);
  }
}

void add_verdict(OtlpAttributes& attributes, const Incident& incident) {
  if (incident.verdict) {
    attributes.text("oomwitness.verdict.cause", incident.verdict->cause);
    attributes.number("oomwitness.verdict.confidence", incident.verdict->confidence);
    attributes.texts("oomwitness.verdict.why", incident.verdict->why);
    if (incident.verdict->suggested_limit) {
      attributes.integer("oomwitness.verdict.suggested_limit", std::optional(incident.verdict->suggested_limit->bytes));
    }
  }
  if (!incident.answer) return;
  attributes.text("oomwitness.answer.action", incident.answer->action);
  if (!incident.answer->culprit) return;
  const AnswerCulprit& culprit = *incident.answer->culprit;
  attributes.text("oomwitness.verdict.culprit", culprit.code);
  attributes.text("oomwitness.culprit.claim", culprit.claim);
  attributes.text("oomwitness.culprit.operation", culprit.operation);
  attributes.number("oomwitness.culprit.share", culprit.share);
  attributes.integer("oomwitness.culprit.bytes", culprit.bytes);
}

void add_heap(OtlpAttributes& attributes, const Incident& incident, const OtlpMapping& mapping) {
  if (const IncidentCapture* best = best_capture(incident)) {
    attributes.text("oomwitness.heap.method", best->method);
    attributes.integer("oomwitness.heap.inuse", best->inuse_bytes);
    if (mapping.has_profiles && !best->file.empty())
      attributes.texts("oomwitness.profile.ids", {otlp_profile_id(incident.id)});
  }
  attributes.number("oomwitness.heap.coverage", incident.coverage_ratio);
  if (!incident.collector) return;
  if (const CollectorComponent* allocator = allocator_of(*incident.collector)) {
    attributes.text(allocator->kind == "receiver" ? "oomwitness.collector.receiver" : "oomwitness.collector.component",
                    allocator->id);
  }
  if (const CollectorExporter* keeper = keeper_of(*incident.collector)) {
    attributes.text("oomwitness.collector.exporter", keeper->id);
    attributes.integer("oomwitness.collector.queue_size", std::optional(keeper->queue_size));
  }
}

std::string who_of(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  const std::string comm = incident.victims.empty() ? "a process" : incident.victims.front().comm;
  if (!who.pod_name.empty()) {
    return fmt::format("{} in {}/{}{}", comm, who.pod_namespace, who.pod_name, who.name.empty() ? "" : "/" + who.name);
  }
  const std::string place = !who.name.empty() ? who.name : !who.unit.empty() ? who.unit : incident.cgroup_path;
  return place.empty() ? comm : comm + " in " + place;
}

std::string body_of(const Incident& incident) {
  std::string body = "OOM kill of " + printable(who_of(incident), kMaxText);
  if (incident.pod && !incident.pod->node.empty()) body += " on node " + printable(incident.pod->node);
  if (incident.limit_bytes) body += ", limit " + human_bytes(*incident.limit_bytes);
  if (incident.answer) return body + ": " + printable(shortened(incident.answer->sentence, kMaxText), kMaxText);
  return body + (incident.verdict ? ". Likely cause: " + printable(incident.verdict->cause) + "." : ".");
}

}  // namespace

OtlpRecord otlp_record_of(const Incident& incident, const std::string& directory, unsigned nth, WallTime observed,
                          const OtlpMapping& mapping) {
  OtlpRecord record;
  record.time = incident.time;
  record.observed = observed;
  record.event_name = kOomKillEvent;
  record.severity = incident.scope == "node" ? kFatal : kError;
  record.body = body_of(incident);
  const std::string comm = incident.victims.empty() ? "" : incident.victims.front().comm;
  record.resource = otlp_resource_of({incident.container, incident.pod ? &*incident.pod : nullptr, comm}, mapping);
  OtlpAttributes attributes(record.attributes);
  attributes.text("oomwitness.incident.id", incident.id);
  attributes.integer("oomwitness.incident.revision", std::optional(nth));
  attributes.text("oomwitness.incident.directory", directory);
  if (mapping.artifacts_url) attributes.text("oomwitness.artifacts.url", mapping.artifacts_url(incident.id));
  attributes.text("error.type", "oom_kill");
  add_kill(attributes, incident);
  add_victim(attributes, incident, mapping);
  add_verdict(attributes, incident);
  add_heap(attributes, incident, mapping);
  return record;
}

}  // namespace oomw
