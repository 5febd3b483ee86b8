// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_resource.h"

#include <algorithm>
#include <array>

namespace oomw {
namespace {

std::string label_of(const OtlpSubject& subject, const char* key) {
  const auto found = subject.container.labels.find(key);
  return found == subject.container.labels.end() ? "" : found->second;
}

// By the pod's annotation for it.
std::string annotated(const OtlpSubject& subject, const char* key) {
  if (!subject.pod) return "";
  const auto found = subject.pod->resource_attributes.find(key);
  return found == subject.pod->resource_attributes.end() ? "" : found->second;
}

std::string first_known(const std::vector<std::string>& values) {
  const auto found = std::ranges::find_if(values, [](const std::string& value) { return !value.empty(); });
  return found == values.end() ? "" : *found;
}

// The order of the semantic conventions, here and in the next ones.
std::string service_name_of(const OtlpSubject& subject, const OtlpMapping& mapping) {
  const ContainerIdentity& who = subject.container;
  std::vector<std::string> names = {annotated(subject, "service.name")};
  if (mapping.has_service_from_labels) {
    names.push_back(label_of(subject, "app.kubernetes.io/instance"));
    names.push_back(label_of(subject, "app.kubernetes.io/name"));
  }
  if (subject.pod) {
    names.push_back(subject.pod->workload.name);
    names.push_back(subject.pod->owner_name);
  }
  const std::string unit = who.unit.ends_with(".service") ? who.unit.substr(0, who.unit.size() - 8) : who.unit;
  names.insert(names.end(), {who.pod_name, who.name, unit});
  if (!subject.comm.empty()) names.push_back("unknown_service:" + subject.comm);
  return first_known(names);
}

// "registry:5000/a/b:1@sha256:..." in its parts, "" = absent.
struct Image {
  std::string name, tag, digest;
};

Image image_of(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string tagged = text.substr(0, at);
  const std::size_t colon = tagged.rfind(':');
  const bool has_tag = colon != std::string::npos && tagged.find('/', colon) == std::string::npos;
  return {has_tag ? tagged.substr(0, colon) : tagged, has_tag ? tagged.substr(colon + 1) : "",
          at == std::string::npos ? "" : text.substr(at + 1)};
}

std::string service_version_of(const OtlpSubject& subject, const OtlpMapping& mapping) {
  const Image image = image_of(subject.container.image);
  const bool has_both = !image.tag.empty() && !image.digest.empty();
  const std::string label = mapping.has_service_from_labels ? label_of(subject, "app.kubernetes.io/version") : "";
  const std::string built = has_both ? image.tag + "@" + image.digest : image.tag + image.digest;
  return first_known({annotated(subject, "service.version"), label, built});
}

void add_service(OtlpAttributes& resource, const OtlpSubject& subject, const OtlpMapping& mapping) {
  const ContainerIdentity& who = subject.container;
  resource.text("service.name", service_name_of(subject, mapping));
  resource.text("service.namespace", first_known({annotated(subject, "service.namespace"), who.pod_namespace}));
  if (who.pod_name.empty()) return;
  const std::string instance = who.name.empty() ? "" : who.pod_namespace + "." + who.pod_name + "." + who.name;
  resource.text("service.instance.id", first_known({annotated(subject, "service.instance.id"), instance}));
  resource.text("service.version", service_version_of(subject, mapping));
}

// What else the pod's annotations say. They cannot make it another pod's: what this daemon itself knows is not theirs
// to say.
void add_annotated(OtlpAttributes& resource, const std::vector<OtlpAttribute>& known, const IncidentPod& pod) {
  constexpr std::array<std::string_view, 5> kOurs = {"k8s.", "container.", "host.", "process.", "oomwitness."};
  constexpr std::size_t kMost = 16, kMaxKey = 128;
  std::size_t added = 0;
  for (const auto& [name, value] : pod.resource_attributes) {
    const std::string key = printable(name, kMaxKey);
    const bool is_ours = std::ranges::any_of(kOurs, [&](std::string_view prefix) { return key.starts_with(prefix); });
    if (key.empty() || is_ours || std::ranges::find(known, key, &OtlpAttribute::key) != known.end()) continue;
    if (++added > kMost) return;
    resource.text(key.c_str(), value);
  }
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

void add_container(OtlpAttributes& resource, const OtlpSubject& subject) {
  const ContainerIdentity& who = subject.container;
  if (who.runtime.empty() || who.runtime == "systemd") return;
  resource.text("container.id", who.id);
  resource.text("container.name", who.name);
  resource.text("container.runtime.name", who.runtime);
  const Image image = image_of(who.image);
  resource.text("container.image.name", image.name);
  if (!image.tag.empty()) resource.texts("container.image.tags", {image.tag});
  if (!image.digest.empty()) resource.texts("container.image.repo_digests", {image.name + "@" + image.digest});
}

}  // namespace

std::vector<OtlpAttribute> otlp_resource_of(const OtlpSubject& subject, const OtlpMapping& mapping) {
  std::vector<OtlpAttribute> attributes;
  OtlpAttributes resource(attributes);
  add_service(resource, subject, mapping);
  resource.text("k8s.cluster.name", mapping.cluster_name);
  if (!subject.pod || subject.pod->node.empty()) resource.text("host.name", mapping.host_name);
  add_pod(resource, subject);
  add_container(resource, subject);
  if (subject.pod) add_annotated(resource, attributes, *subject.pod);
  return attributes;
}

}  // namespace oomw
