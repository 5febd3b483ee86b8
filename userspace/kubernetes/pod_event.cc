// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/pod_event.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxEventMessage = 1'024;  // the API's bound, in bytes
constexpr const char* kLabelChars = "abcdefghijklmnopqrstuvwxyz0123456789-";
constexpr const char* kSubdomainChars = "abcdefghijklmnopqrstuvwxyz0123456789-.";

// The name becomes part of a path.
bool is_name(const std::string& name, std::size_t max, const char* chars) {
  return !name.empty() && name.size() <= max && name.find_first_not_of(chars) == std::string::npos &&
         name.front() != '.' && name.front() != '-';
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::string message_of(const PodEvent& event) {
  std::string message = printable(event.message, kMaxEventMessage);
  while (message.size() > kMaxEventMessage) message = printable(message, message.size() / 2);
  return message;
}

}  // namespace

std::string event_path(const PodEvent& event) { return "/api/v1/namespaces/" + event.name_space + "/events"; }

std::string event_json(const PodEvent& event, const std::string& node) {
  const std::string name = "oomwitness-" + lower(event.id);
  const bool is_valid = is_name(event.name_space, 63, kLabelChars) && is_name(event.pod, 253, kSubdomainChars) &&
                        is_name(name, 253, kSubdomainChars);
  if (!is_valid) return "";
  nlohmann::ordered_json pod = {{"apiVersion", "v1"},
                                {"kind", "Pod"},
                                {"namespace", event.name_space},
                                {"name", event.pod},
                                {"uid", to_valid_utf8(event.pod_uid)}};
  if (is_name(event.container, 63, kLabelChars)) pod["fieldPath"] = "spec.containers{" + event.container + "}";
  const nlohmann::ordered_json json = {{"apiVersion", "v1"},
                                       {"kind", "Event"},
                                       {"metadata", {{"name", name}, {"namespace", event.name_space}}},
                                       {"involvedObject", std::move(pod)},
                                       {"reason", "OOMKill"},
                                       {"message", message_of(event)},
                                       {"type", "Warning"},
                                       {"source", {{"component", "oomwitness"}, {"host", node}}},
                                       {"firstTimestamp", to_rfc3339_seconds(event.time)},
                                       {"lastTimestamp", to_rfc3339_seconds(event.time)},
                                       {"count", 1}};
  return to_json_utf8(json);
}

}  // namespace oomw
