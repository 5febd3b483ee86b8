// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/pod_decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kubernetes/quantity.h"

namespace oomw {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 24;          // a pod has 12
constexpr std::size_t kMaxName = 253;  // a DNS subdomain, the API's own bound
constexpr std::size_t kMaxId = 128;    // 64 hex with every runtime we know
constexpr std::size_t kMaxImage = 512;
constexpr std::size_t kMaxReason = 64;
constexpr std::size_t kMaxLabel = 317;  // prefix/name of a key
constexpr std::size_t kMaxAnnotation = 256;
constexpr std::size_t kMaxSetting = 15;   // "false", a port
constexpr std::size_t kMaxToken = 4'096;  // continue tokens and versions are opaque
constexpr std::size_t kMaxMessage = 256;
// Those for us, and what OpenTelemetry's users say about their service.
constexpr std::array<std::string_view, 2> kKeptAnnotations = {"oomwitness.io/", "resource.opentelemetry.io/"};
constexpr const char* kEphemeral = "ephemeralContainers";

// These hold most of a pod's bytes, and we read none of them: the parser drops them at once.
constexpr std::array<std::string_view, 8> kUnread = {"managedFields", "env",      "volumes", "volumeMounts",
                                                     "tolerations",   "affinity", "args",    "command"};

// nullopt: not JSON, or deeper than anything real (the parser keeps a frame for each level).
std::optional<json> parse(std::string_view text) {
  bool is_too_deep = false;
  const auto keep = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) is_too_deep = true;
    if (is_too_deep) return false;
    if (event != json::parse_event_t::key) return true;
    return std::ranges::find(kUnread, parsed.get_ref<const std::string&>()) == kUnread.end();
  };
  json document = json::parse(text, keep, /*allow_exceptions=*/false);
  if (document.is_discarded() || is_too_deep) return std::nullopt;
  return document;
}

// The member if it is there and of that type, else an empty one.
const json& member(const json& object, const char* name, json::value_t type) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto it = object.find(name);
  return it != object.end() && it->type() == type ? *it : kNone;
}
const json& object_in(const json& object, const char* name) { return member(object, name, json::value_t::object); }
const json& array_in(const json& object, const char* name) { return member(object, name, json::value_t::array); }

// "" when absent, not a string, or longer than anything real.
std::string text_in(const json& object, const char* name, std::size_t max) {
  const json& value = member(object, name, json::value_t::string);
  if (!value.is_string() || value.get_ref<const std::string&>().size() > max) return "";
  return value.get<std::string>();
}

template <typename T>
std::optional<T> integer_in(const json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto it = object.find(name);
  if (it == object.end()) return std::nullopt;
  if (it->is_number_unsigned() && std::in_range<T>(it->get<std::uint64_t>())) return it->get<T>();
  if (it->is_number_integer() && !it->is_number_unsigned() && std::in_range<T>(it->get<std::int64_t>())) {
    return it->get<T>();
  }
  return std::nullopt;
}

// "containerd://5e1f..." -> "5e1f..."
std::string id_in(const json& status, const char* name) {
  std::string id = text_in(status, name, kMaxId + 32);
  const std::size_t scheme = id.find("://");
  if (scheme != std::string::npos) id.erase(0, scheme + 3);
  return id.size() <= kMaxId ? id : "";
}

std::size_t heap_bytes(const std::string& text) {
  constexpr std::size_t kInside = 15;
  return text.size() <= kInside ? 0 : (text.size() + 1 + 8 + 15) / 16 * 16;
}

constexpr std::size_t kMapNode = 112;

std::size_t container_bytes(const PodContainer& container) {
  std::size_t bytes = sizeof(PodContainer) + heap_bytes(container.name) + 2 * heap_bytes(container.id) +
                      heap_bytes(container.image) + kMapNode;  // and its place in the index by id
  for (const auto* end : {&container.last_termination, &container.earlier_termination}) {
    if (*end) bytes += heap_bytes((*end)->container_id) + heap_bytes((*end)->reason);
  }
  return bytes;
}

std::size_t entry_bytes(const std::string& key, const std::string& value) {
  return kMapNode + heap_bytes(key) + heap_bytes(value);
}

std::size_t head_bytes(const PodSeen& pod) {
  // The uid counts three times: in the pod, as its key, and with the reader.
  std::size_t bytes = sizeof(PodSeen) + 2 * kMapNode + 3 * heap_bytes(pod.uid);
  for (const std::string* text :
       {&pod.static_uid, &pod.name_space, &pod.name, &pod.node, &pod.owner_kind, &pod.owner_name}) {
    bytes += heap_bytes(*text);
  }
  return bytes;
}

// What is left of kMaxPodBytes for one pod.
class Budget {
 public:
  explicit Budget(PodSeen& pod) : pod_(pod), left_(kMaxPodBytes - std::min(kMaxPodBytes, head_bytes(pod))) {}
  bool take(std::size_t bytes) {
    if (bytes > left_) {
      pod_.is_cut = true;
      return false;
    }
    left_ -= bytes;
    return true;
  }

 private:
  PodSeen& pod_;
  std::size_t left_;
};

void read_owner(const json& metadata, PodSeen& pod) {
  for (const json& owner : array_in(metadata, "ownerReferences")) {
    if (!owner.is_object() || owner.value("controller", json()) != true) continue;
    pod.owner_kind = text_in(owner, "kind", kMaxName);
    pod.owner_name = text_in(owner, "name", kMaxName);
    return;
  }
}

// A static pod's mirror has its own uid; the cgroups carry the hash of the pod's file.
std::string static_uid_in(const json& annotations) {
  std::string hash = text_in(annotations, "kubernetes.io/config.hash", kMaxId);
  return hash.empty() ? text_in(annotations, "kubernetes.io/config.mirror", kMaxId) : hash;
}

// A pod's settings for us come before its containers: a pod of many containers can still opt out of captures.
constexpr std::array<const char*, 2> kSettings = {"oomwitness.io/capture", "oomwitness.io/pprof-port"};
// Labels that show the workload behind a ReplicaSet (model/workload.h) are kept when others are left out.
constexpr std::array<const char*, 2> kWorkloadLabels = {"pod-template-hash", "rollouts-pod-template-hash"};

void read_first(const json& object, const std::array<const char*, 2>& keys, std::size_t max_value, Budget& budget,
                std::map<std::string, std::string>& texts) {
  for (const char* key : keys) {
    std::string text = text_in(object, key, max_value);
    if (!text.empty() && budget.take(entry_bytes(key, text))) texts.emplace(key, std::move(text));
  }
}

void read_texts(const json& object, std::string_view prefix, std::size_t max_value, Budget& budget,
                std::map<std::string, std::string>& texts) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (!key.starts_with(prefix) || !value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    if (texts.contains(key)) continue;  // already counted in the budget
    const bool is_too_long = key.size() > kMaxLabel || text.size() > max_value;
    if (budget.take(is_too_long ? kMaxPodBytes : entry_bytes(key, text))) texts.emplace(key, text);
  }
}

std::optional<PodTermination> termination_in(const json& state) {
  const json& terminated = object_in(state, "terminated");
  if (!terminated.is_object()) return std::nullopt;
  PodTermination termination;
  termination.container_id = id_in(terminated, "containerID");
  termination.reason = text_in(terminated, "reason", kMaxReason);
  termination.exit_code = integer_in<std::int32_t>(terminated, "exitCode");
  termination.finished = parse_rfc3339(text_in(terminated, "finishedAt", 40));
  return termination;
}

PodContainer container_of(const json& status) {
  PodContainer container;
  container.name = text_in(status, "name", kMaxName);
  container.id = id_in(status, "containerID");
  container.image = text_in(status, "image", kMaxImage);
  // Without an id the count is that of a run that cannot be distinguished from the next one.
  if (!container.id.empty()) container.restart_count = integer_in<std::uint32_t>(status, "restartCount");
  container.is_running = object_in(object_in(status, "state"), "running").is_object();
  container.last_termination = termination_in(object_in(status, "lastState"));
  if (auto end = termination_in(object_in(status, "state"))) {
    container.earlier_termination = std::exchange(container.last_termination, std::move(end));
  }
  return container;
}

std::optional<std::uint64_t> memory_limit_of(const json& spec) {
  return parse_quantity(text_in(object_in(object_in(spec, "resources"), "limits"), "memory", 32));
}

// Whether each of its runs is the first one. Sidecars and newer API servers' containers may have a policy of their own.
bool is_never_restarted(const json& pod_spec, const json& spec, bool is_ephemeral) {
  return is_ephemeral || (text_in(pod_spec, "restartPolicy", 16) == "Never" && !spec.contains("restartPolicy"));
}

// What is true of every run of a container, whatever its status.
void apply_spec(const json& pod_spec, const char* kind, PodContainer& container) {
  for (const json& spec : array_in(pod_spec, kind)) {
    if (!spec.is_object() || text_in(spec, "name", kMaxName) != container.name) continue;
    container.memory_limit_bytes = memory_limit_of(spec);
    if (!container.restart_count && is_never_restarted(pod_spec, spec, kind == kEphemeral)) container.restart_count = 0;
    return;
  }
}

bool knows(const PodSeen& pod, const std::string& name) {
  return std::ranges::find(pod.containers, name, &PodContainer::name) != pod.containers.end();
}

// A container that is killed within about 1 s is not in the status yet; its limit is still known, from the spec.
void read_containers_without_status(const json& pod_spec, Budget& budget, PodSeen& pod) {
  for (const char* kind : {"containers", "initContainers", kEphemeral}) {
    for (const json& spec : array_in(pod_spec, kind)) {
      PodContainer container;
      container.name = text_in(spec, "name", kMaxName);
      if (container.name.empty() || knows(pod, container.name)) continue;
      apply_spec(pod_spec, kind, container);
      if (budget.take(container_bytes(container))) pod.containers.push_back(std::move(container));
    }
  }
}

void read_containers(const json& pod_json, Budget& budget, PodSeen& pod) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kKinds = {{{"containerStatuses", "containers"},
                                                                          {"initContainerStatuses", "initContainers"},
                                                                          {"ephemeralContainerStatuses", kEphemeral}}};
  for (const auto& [statuses, specs] : kKinds) {
    for (const json& status : array_in(object_in(pod_json, "status"), statuses)) {
      if (!status.is_object()) continue;
      PodContainer container = container_of(status);
      apply_spec(object_in(pod_json, "spec"), specs, container);
      if (!container.name.empty() && budget.take(container_bytes(container))) {
        pod.containers.push_back(std::move(container));
      }
    }
  }
  read_containers_without_status(object_in(pod_json, "spec"), budget, pod);
  pod.containers.shrink_to_fit();
}

Result<PodSeen> pod_of(const json& object) {
  const json& metadata = object_in(object, "metadata");
  const json& annotations = object_in(metadata, "annotations");
  PodSeen pod;
  pod.uid = text_in(metadata, "uid", kMaxId);
  pod.name_space = text_in(metadata, "namespace", kMaxName);
  pod.name = text_in(metadata, "name", kMaxName);
  if (pod.uid.empty() || pod.name.empty()) return fail(ErrorCode::kInvalid, "a pod without a uid or a name");
  pod.static_uid = static_uid_in(annotations);
  pod.node = text_in(object_in(object, "spec"), "nodeName", kMaxName);
  read_owner(metadata, pod);
  Budget budget(pod);
  read_first(annotations, kSettings, kMaxSetting, budget, pod.annotations);
  read_first(object_in(metadata, "labels"), kWorkloadLabels, kMaxLabel, budget, pod.labels);
  read_containers(object, budget, pod);
  for (const std::string_view prefix : kKeptAnnotations) {
    read_texts(annotations, prefix, kMaxAnnotation, budget, pod.annotations);
  }
  read_texts(object_in(metadata, "labels"), "", kMaxLabel, budget, pod.labels);
  return pod;
}

std::optional<WatchKind> watch_kind(const std::string& type) {
  // In the order of WatchKind.
  constexpr std::array<std::string_view, 5> kNames = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
  const auto found = std::ranges::find(kNames, type);
  return found == kNames.end() ? std::nullopt : std::optional(static_cast<WatchKind>(found - kNames.begin()));
}

}  // namespace

Result<PodSeen> decode_pod(std::string_view text) {
  const auto document = parse(text);
  if (!document || !document->is_object()) return fail(ErrorCode::kInvalid, "a pod that is no JSON object");
  return pod_of(*document);
}

Result<WatchEvent> decode_watch_line(std::string_view text) {
  const auto document = parse(text);
  if (!document || !document->is_object()) return fail(ErrorCode::kInvalid, "a watch event that is no JSON object");
  const auto kind = watch_kind(text_in(*document, "type", 16));
  const json& object = object_in(*document, "object");
  if (!kind || !object.is_object()) return fail(ErrorCode::kInvalid, "a watch event of no known type");
  WatchEvent event;
  event.kind = *kind;
  if (*kind == WatchKind::kError) {
    event.code = integer_in<int>(object, "code").value_or(0);
    event.message = printable(text_in(object, "message", kMaxToken), kMaxMessage);
    return event;
  }
  event.resource_version = text_in(object_in(object, "metadata"), "resourceVersion", kMaxToken);
  if (*kind == WatchKind::kBookmark) return event;
  ASSIGN_OR_RETURN(event.pod, pod_of(object));
  return event;
}

Result<ListEnd> decode_list_end(std::string_view text) {
  const auto document = parse(text);
  if (!document || !document->is_object()) return fail(ErrorCode::kInvalid, "a list that is no JSON object");
  if (text_in(*document, "kind", kMaxName) != "PodList") return fail(ErrorCode::kInvalid, "not a list of pods");
  const json& metadata = object_in(*document, "metadata");
  ListEnd end{text_in(metadata, "resourceVersion", kMaxToken), text_in(metadata, "continue", kMaxToken)};
  if (end.resource_version.empty()) return fail(ErrorCode::kInvalid, "a list without a resourceVersion");
  return end;
}

std::string status_message(std::string_view text) {
  const auto document = parse(text);
  if (!document || text_in(*document, "kind", kMaxName) != "Status") return "";
  return printable(text_in(*document, "message", kMaxToken), kMaxMessage);
}

bool is_namespace_ending(std::string_view text) {
  const auto document = parse(text);
  if (!document || text_in(*document, "kind", kMaxName) != "Status") return false;
  return std::ranges::any_of(array_in(object_in(*document, "details"), "causes"), [](const json& cause) {
    return cause.is_object() && text_in(cause, "reason", kMaxName) == "NamespaceTerminating";
  });
}

std::size_t memory_bytes(const PodSeen& pod) {
  std::size_t bytes = head_bytes(pod);
  for (const PodContainer& container : pod.containers) bytes += container_bytes(container);
  for (const auto* texts : {&pod.annotations, &pod.labels}) {
    for (const auto& [key, value] : *texts) bytes += entry_bytes(key, value);
  }
  return bytes;
}

}  // namespace oomw
