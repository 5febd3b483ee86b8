// SPDX-License-Identifier: Apache-2.0
// The strings that name a container in the JSON that runtimes leave. Pure.
#include <utility>

#include "system/json_strings.h"
#include "system/oci_bundle.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabelBytes = 256;
constexpr std::size_t kMaxFieldBytes = 1'024;  // an image reference with registry, path and digest

// The first value wins (JSON may repeat a key); a value longer than any real one is ignored.
void fill(std::string& field, const std::string& value) {
  if (field.empty() && value.size() <= kMaxFieldBytes) field = value;
}

void add_label(ContainerIdentity& identity, const std::string& key, const std::string& value) {
  if (key.size() > kMaxLabelBytes || value.size() > kMaxLabelBytes || identity.labels.size() >= kMaxLabels) return;
  identity.labels.emplace(key, value);
}

// The names found in one document, kept apart from `identity`: a document that breaks off changes nothing.
struct Found {
  std::string runtime, kube_name, plain_name, image, fallback_image, pod_name, pod_namespace, pod_uid;
  bool is_sandbox = false;

  void merge_into(ContainerIdentity& identity) && {
    const auto take = [](std::string& to, std::string& from) {
      if (!from.empty()) to = std::move(from);
    };
    take(identity.runtime, runtime);
    take(identity.name, kube_name.empty() ? plain_name : kube_name);
    take(identity.image, image.empty() ? fallback_image : image);
    take(identity.pod_name, pod_name);
    take(identity.pod_namespace, pod_namespace);
    take(identity.pod_uid, pod_uid);
    identity.is_sandbox |= is_sandbox;
  }
};

// Labels and annotations that the kubelet gives every container (dockershim, CRI-O).
void take_kubelet_key(const std::string& key, const std::string& value, Found& found) {
  if (key == "io.kubernetes.container.name") fill(found.kube_name, value);
  if (key == "io.kubernetes.pod.name") fill(found.pod_name, value);
  if (key == "io.kubernetes.pod.namespace") fill(found.pod_namespace, value);
  if (key == "io.kubernetes.pod.uid") fill(found.pod_uid, value);
  if (key == "io.kubernetes.container.image") fill(found.fallback_image, value);
  if (key == "io.kubernetes.docker.type") found.is_sandbox = value == "podsandbox";
}

void take_containerd_key(const std::string& key, const std::string& value, Found& found) {
  constexpr std::string_view kPrefix = "io.kubernetes.cri.";
  if (key == "nerdctl/name") fill(found.plain_name, value);
  if (!key.starts_with(kPrefix)) return;
  found.runtime = "containerd";
  const std::string_view what = std::string_view(key).substr(kPrefix.size());
  if (what == "container-type") found.is_sandbox = value == "sandbox";
  if (what == "container-name") fill(found.kube_name, value);
  if (what == "image-name") fill(found.image, value);
  if (what == "sandbox-name") fill(found.pod_name, value);
  if (what == "sandbox-namespace") fill(found.pod_namespace, value);
  if (what == "sandbox-uid") fill(found.pod_uid, value);
}

// CRI-O keeps the labels as one annotation, itself JSON.
void take_nested_labels(const std::string& json, ContainerIdentity& identity) {
  (void)for_each_json_string(json, [&](const JsonPath& path, const std::string& value) {
    if (path.size() == 1) add_label(identity, path[0], value);
  });
}

void take_crio_key(const std::string& key, const std::string& value, Found& found, ContainerIdentity& identity) {
  constexpr std::string_view kPrefix = "io.kubernetes.cri-o.";
  if (!key.starts_with(kPrefix)) return;
  found.runtime = "cri-o";
  const std::string_view what = std::string_view(key).substr(kPrefix.size());
  if (what == "ContainerType") found.is_sandbox = value == "sandbox";
  if (what == "ImageName") fill(found.image, value);
  if (what == "Image") fill(found.fallback_image, value);
  if (what == "Labels") take_nested_labels(value, identity);
}

// The image's name as the user gave it is in the entry's "metadata", itself JSON.
void take_storage_metadata(const std::string& json, Found& found) {
  (void)for_each_json_string(json, [&](const JsonPath& path, const std::string& value) {
    if (path.size() == 1 && path[0] == "image-name") fill(found.image, value);
  });
}

}  // namespace

Result<> apply_oci_config(std::string_view json, ContainerIdentity& identity) {
  Found found;
  ContainerIdentity draft = identity;
  RETURN_IF_ERROR(for_each_json_string(json, [&](const JsonPath& path, const std::string& value) {
    if (path.size() != 2 || path[0] != "annotations") return;
    take_kubelet_key(path[1], value, found);
    take_containerd_key(path[1], value, found);
    take_crio_key(path[1], value, found, draft);
  }));
  std::move(found).merge_into(draft);
  identity = std::move(draft);
  return {};
}

Result<> apply_docker_config(std::string_view json, ContainerIdentity& identity) {
  Found found;
  ContainerIdentity draft = identity;
  const auto take = [&](const JsonPath& path, const std::string& value) {
    if (path.size() == 1 && path[0] == "Name") fill(found.plain_name, value.starts_with('/') ? value.substr(1) : value);
    if (path.size() < 2 || path[0] != "Config") return;
    if (path.size() == 2 && path[1] == "Image") fill(found.image, value);
    if (path.size() != 3 || path[1] != "Labels") return;
    take_kubelet_key(path[2], value, found);
    add_label(draft, path[2], value);
  };
  RETURN_IF_ERROR(for_each_json_string(json, take));
  found.runtime = "docker";
  std::move(found).merge_into(draft);
  identity = std::move(draft);
  return {};
}

Result<> apply_storage_list(std::string_view json, ContainerIdentity& identity) {
  Found current;
  std::string current_id;
  bool is_found = false;
  const auto take = [&](const JsonPath& path, const std::string& value) {
    if (path.size() < 2 || path[0] != "#") return;
    if (path.size() == 2 && path[1] == "id") current_id = value;
    if (path.size() == 3 && path[1] == "names") fill(current.plain_name, value);
    if (path.size() == 2 && path[1] == "image") fill(current.fallback_image, value);
    if (path.size() == 2 && path[1] == "metadata") take_storage_metadata(value, current);
  };
  const auto end = [&](const JsonPath& path) {
    if (path.size() != 1) return;
    if (!is_found && current_id == identity.id) {
      std::move(current).merge_into(identity);
      is_found = true;
    }
    current = {};
    current_id.clear();
  };
  RETURN_IF_ERROR(for_each_json_string(json, take, end));
  if (!is_found) return fail(ErrorCode::kNotFound, "the container is not in its storage's list");
  return {};
}

}  // namespace oomw
