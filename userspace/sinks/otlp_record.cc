// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_record.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/collector.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxText = 1'024;
constexpr std::size_t kMaxReasons = 8;
constexpr int kError = 17, kFatal = 21;  // SeverityNumber

class Attributes {
 public:
  explicit Attributes(std::vector<OtlpRecord::Attribute>& target) : target_(target) {}
  void text(const char* key, std::string_view value) {
    if (!value.empty()) target_.push_back({key, printable(value, kMaxText)});
  }
  template <typename T>
  void integer(const char* key, const std::optional<T>& value) {
    if (value) target_.push_back({key, static_cast<std::int64_t>(*value)});
  }
  void number(const char* key, std::optional<double> value) {
    if (value) target_.push_back({key, *value});
  }
  void flag(const char* key, std::optional<bool> value) {
    if (value) target_.push_back({key, *value});
  }
  void texts(const char* key, const std::vector<std::string>& values) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < values.size() && i < kMaxReasons; ++i) shown.push_back(printable(values[i], kMaxText));
    if (!shown.empty()) target_.push_back({key, std::move(shown)});
  }

 private:
  std::vector<OtlpRecord::Attribute>& target_;
};

std::string label_of(const Incident& incident, const char* key) {
  const auto found = incident.container.labels.find(key);
  return found == incident.container.labels.end() ? "" : found->second;
}

// The order of the semantic conventions; the pod's annotation for it is not read.
std::string service_name_of(const Incident& incident, const OtlpMapping& mapping) {
  const ContainerIdentity& who = incident.container;
  std::vector<std::string> names;
  if (mapping.has_service_from_labels) {
    names = {label_of(incident, "app.kubernetes.io/instance"), label_of(incident, "app.kubernetes.io/name")};
  }
  if (incident.pod) {
    names.push_back(incident.pod->workload.name);
    names.push_back(incident.pod->owner_name);
  }
  const std::string unit = who.unit.ends_with(".service") ? who.unit.substr(0, who.unit.size() - 8) : who.unit;
  names.insert(names.end(), {who.pod_name, who.name, unit});
  for (const std::string& name : names) {
    if (!name.empty()) return name;
  }
  return incident.victims.empty() ? "" : "unknown_service:" + incident.victims.front().comm;
}

void add_owner(Attributes& resource, const std::string& kind, const std::string& name) {
  constexpr std::pair<const char*, const char*> kKeys[] = {{"Deployment", "k8s.deployment.name"},
                                                           {"ReplicaSet", "k8s.replicaset.name"},
                                                           {"StatefulSet", "k8s.statefulset.name"},
                                                           {"DaemonSet", "k8s.daemonset.name"},
                                                           {"Job", "k8s.job.name"},
                                                           {"CronJob", "k8s.cronjob.name"}};
  for (const auto& [known, key] : kKeys) {
    if (kind == known) resource.text(key, name);
  }
}

void add_pod(Attributes& resource, const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  resource.text("k8s.namespace.name", who.pod_namespace);
  resource.text("k8s.pod.name", who.pod_name);
  resource.text("k8s.pod.uid", who.pod_uid);
  if (!who.pod_name.empty()) resource.text("k8s.container.name", who.name);
  if (!incident.pod) return;
  resource.text("k8s.node.name", incident.pod->node);
  resource.integer("k8s.container.restart_count", incident.pod->restart_count);
  add_owner(resource, incident.pod->workload.kind, incident.pod->workload.name);
  if (incident.pod->owner_kind != incident.pod->workload.kind) {
    add_owner(resource, incident.pod->owner_kind, incident.pod->owner_name);
  }
}

// "registry:5000/a/b:1@sha256:..." into its parts.
void add_image(Attributes& resource, const std::string& image) {
  const std::size_t digest = image.find('@');
  const std::string tagged = image.substr(0, digest);
  const std::size_t colon = tagged.rfind(':');
  const bool has_tag = colon != std::string::npos && tagged.find('/', colon) == std::string::npos;
  const std::string name = has_tag ? tagged.substr(0, colon) : tagged;
  resource.text("container.image.name", name);
  if (has_tag) resource.texts("container.image.tags", {tagged.substr(colon + 1)});
  if (digest != std::string::npos) resource.texts("container.image.repo_digests", {name + image.substr(digest)});
}

void add_container(Attributes& resource, const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  if (who.runtime.empty() || who.runtime == "systemd") return;
  resource.text("container.id", who.id);
  resource.text("container.name", who.name);
  resource.text("container.runtime.name", who.runtime);
  if (!who.image.empty()) add_image(resource, who.image);
}

void add_resource(Attributes& resource, const Incident& incident, const OtlpMapping& mapping) {
  const ContainerIdentity& who = incident.container;
  resource.text("service.name", service_name_of(incident, mapping));
  resource.text("service.namespace", who.pod_namespace);
  if (!who.pod_name.empty() && !who.name.empty()) {
    resource.text("service.instance.id", who.pod_namespace + "." + who.pod_name + "." + who.name);
  }
  resource.text("k8s.cluster.name", mapping.cluster_name);
  if (!incident.pod || incident.pod->node.empty()) resource.text("host.name", mapping.host_name);
  add_pod(resource, incident);
  add_container(resource, incident);
}

void add_victim(Attributes& attributes, const Incident& incident, const OtlpMapping& mapping) {
  if (incident.victims.empty()) return;
  const IncidentVictim& victim = incident.victims.front();
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

void add_kill(Attributes& attributes, const Incident& incident) {
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

void add_verdict(Attributes& attributes, const Incident& incident) {
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

void add_heap(Attributes& attributes, const Incident& incident) {
  if (const IncidentCapture* best = best_capture(incident)) {
    attributes.text("oomwitness.heap.method", best->method);
    attributes.integer("oomwitness.heap.inuse", best->inuse_bytes);
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
  if (incident.answer) return body + ": " + printable(incident.answer->sentence, kMaxText);
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
  Attributes resource(record.resource), attributes(record.attributes);
  add_resource(resource, incident, mapping);
  attributes.text("oomwitness.incident.id", incident.id);
  attributes.integer("oomwitness.incident.revision", std::optional(nth));
  attributes.text("oomwitness.incident.directory", directory);
  if (mapping.artifacts_url) attributes.text("oomwitness.artifacts.url", mapping.artifacts_url(incident.id));
  attributes.text("error.type", "oom_kill");
  add_kill(attributes, incident);
  add_victim(attributes, incident, mapping);
  add_verdict(attributes, incident);
  add_heap(attributes, incident);
  return record;
}

}  // namespace oomw
