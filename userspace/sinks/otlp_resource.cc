// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_resource.h"

namespace oomw {
namespace {

std::string label_of(const OtlpSubject& subject, const char* key) {
  const auto found = subject.container.labels.find(key);
  return found == subject.container.labels.end() ? "" : found->second;
}

// The order of the semantic conventions; the pod's annotation for it is not read.
std::string service_name_of(const OtlpSubject& subject, const OtlpMapping& mapping) {
  const ContainerIdentity& who = subject.container;
  std::vector<std::string> names;
  if (mapping.has_service_from_labels) {
    names = {label_of(subject, "app.kubernetes.io/instance"), label_of(subject, "app.kubernetes.io/name")};
  }
  if (subject.pod) {
    names.push_back(subject.pod->workload.name);
    names.push_back(subject.pod->owner_name);
  }
  const std::string unit = who.unit.ends_with(".service") ? who.unit.substr(0, who.unit.size() - 8) : who.unit;
  names.insert(names.end(), {who.pod_name, who.name, unit});
  for (const std::string& name : names) {
    if (!name.empty()) return name;
  }
  return subject.comm.empty() ? "" : "unknown_service:" + subject.comm;
}

void add_owner(OtlpAttributes& resource, const std::string& kind, const std::string& name) {
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

void add_pod(OtlpAttributes& resource, const OtlpSubject& subject) {
  const ContainerIdentity& who = subject.container;
  resource.text("k8s.namespace.name", who.pod_namespace);
  resource.text("k8s.pod.name", who.pod_name);
  resource.text("k8s.pod.uid", who.pod_uid);
  if (!who.pod_name.empty()) resource.text("k8s.container.name", who.name);
  if (!subject.pod) return;
  resource.text("k8s.node.name", subject.pod->node);
  resource.integer("k8s.container.restart_count", subject.pod->restart_count);
  add_owner(resource, subject.pod->workload.kind, subject.pod->workload.name);
  if (subject.pod->owner_kind != subject.pod->workload.kind) {
    add_owner(resource, subject.pod->owner_kind, subject.pod->owner_name);
  }
}

// "registry:5000/a/b:1@sha256:..." into its parts.
void add_image(OtlpAttributes& resource, const std::string& image) {
  const std::size_t digest = image.find('@');
  const std::string tagged = image.substr(0, digest);
  const std::size_t colon = tagged.rfind(':');
  const bool has_tag = colon != std::string::npos && tagged.find('/', colon) == std::string::npos;
  const std::string name = has_tag ? tagged.substr(0, colon) : tagged;
  resource.text("container.image.name", name);
  if (has_tag) resource.texts("container.image.tags", {tagged.substr(colon + 1)});
  if (digest != std::string::npos) resource.texts("container.image.repo_digests", {name + image.substr(digest)});
}

void add_container(OtlpAttributes& resource, const OtlpSubject& subject) {
  const ContainerIdentity& who = subject.container;
  if (who.runtime.empty() || who.runtime == "systemd") return;
  resource.text("container.id", who.id);
  resource.text("container.name", who.name);
  resource.text("container.runtime.name", who.runtime);
  if (!who.image.empty()) add_image(resource, who.image);
}

}  // namespace

std::vector<OtlpAttribute> otlp_resource_of(const OtlpSubject& subject, const OtlpMapping& mapping) {
  std::vector<OtlpAttribute> attributes;
  OtlpAttributes resource(attributes);
  const ContainerIdentity& who = subject.container;
  resource.text("service.name", service_name_of(subject, mapping));
  resource.text("service.namespace", who.pod_namespace);
  if (!who.pod_name.empty() && !who.name.empty()) {
    resource.text("service.instance.id", who.pod_namespace + "." + who.pod_name + "." + who.name);
  }
  resource.text("k8s.cluster.name", mapping.cluster_name);
  if (!subject.pod || subject.pod->node.empty()) resource.text("host.name", mapping.host_name);
  add_pod(resource, subject);
  add_container(resource, subject);
  return attributes;
}

}  // namespace oomw
