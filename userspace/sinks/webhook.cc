// SPDX-License-Identifier: Apache-2.0
#include "sinks/webhook.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxIncidentBytes = 16u << 20;
constexpr const char* kType = "io.oomwitness.oom_kill.v1";

std::string subject_of(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  if (who.pod_name.empty()) return printable(who.name.empty() ? incident.cgroup_path : who.name);
  return printable(who.pod_namespace + "/" + who.pod_name + (who.name.empty() ? "" : "/" + who.name), 512);
}

}  // namespace

std::string cloud_event_of(const Incident& incident, std::string_view json, const std::string& source, unsigned nth) {
  using nlohmann::ordered_json;
  ordered_json data = parse_ordered_json(json);
  if (data.is_discarded()) return "";
  const ordered_json event = {{"specversion", "1.0"},
                              {"id", incident.id},
                              {"source", source},
                              {"type", kType},
                              {"time", to_rfc3339(incident.time)},
                              {"subject", subject_of(incident)},
                              {"oomwrevision", nth},
                              {"datacontenttype", "application/json"},
                              {"data", std::move(data)}};
  return to_json_utf8(event);
}

std::optional<std::string> header_field_of(const Incident& incident, unsigned nth, std::string_view name) {
  const ContainerIdentity& who = incident.container;
  if (name == "id") return incident.id;
  if (name == "revision") return std::to_string(nth);
  if (name == "namespace") return who.pod_namespace;
  if (name == "pod") return who.pod_name;
  if (name == "container") return who.name;
  if (name == "node") return incident.pod ? incident.pod->node : "";
  if (name == "scope") return incident.scope;
  if (name == "cause") return incident.verdict ? std::string(incident.verdict->cause) : "";
  return std::nullopt;
}

std::string event_source_of(const Incident& incident, const std::string& prefix) {
  const bool has_node = incident.pod && !incident.pod->node.empty();
  return prefix + (has_node ? "/nodes/" + to_file_component(incident.pod->node, 253) : "");
}

Webhook::Webhook(HttpEndpoint endpoint, bool is_cloud_event, std::string source,
                 std::shared_ptr<const std::atomic<bool>> stopping)
    : is_cloud_event_(is_cloud_event), source_(std::move(source)), client_(std::move(endpoint), std::move(stopping)) {}

Delivery Webhook::deliver(const StoredIncident& stored, unsigned nth) {
  const Result<std::string> json = read_file(stored.directory + "/incident.json", kMaxIncidentBytes);
  if (!json) return Delivery::refused(DeliveryReason::kUnreadable, printable(json.error().message));
  const HeaderField field = [&](std::string_view name) { return header_field_of(stored.incident, nth, name); };
  if (!is_cloud_event_) return delivery_of(client_.post({*json, "application/json", false, field}));
  const std::string event = cloud_event_of(stored.incident, *json, event_source_of(stored.incident, source_), nth);
  return delivery_of(client_.post({event, "application/cloudevents+json", false, field}));
}

}  // namespace oomw
