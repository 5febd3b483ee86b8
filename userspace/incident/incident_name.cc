// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "incident/incident.h"

namespace oomw {

namespace {

// Three parts of 48, the time (16), the short id (8) and four dashes: 172 bytes.
constexpr std::size_t kMaxPart = 48;
constexpr std::size_t kShortHex = 12;  // the usual length of a short container id

std::string first_known(std::initializer_list<std::string> candidates) {
  for (const std::string& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return "unknown";
}

std::string shortened(const std::string& id) {
  const bool is_hex_id = id.size() >= 32 && is_lower_hex(id);
  return is_hex_id ? id.substr(0, kShortHex) : id;
}

}  // namespace

std::string directory_name(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  const std::string victim = incident.victims.empty() ? "" : incident.victims.front().comm;
  const std::string group = first_known({who.pod_namespace, who.unit, who.runtime, "cgroup"});
  const std::string place =
      first_known({who.pod_name, shortened(std::string(base_name(incident.cgroup_path))), "node"});
  const std::string name = first_known({who.name, shortened(who.id), victim});

  const std::size_t dash = incident.id.find('-');
  const std::string time = incident.id.substr(0, dash);
  const std::string short_id = dash == std::string::npos ? "0" : incident.id.substr(dash + 1);
  return to_file_component(time, 16) + "-" + to_file_component(group, kMaxPart) + "-" +
         to_file_component(place, kMaxPart) + "-" + to_file_component(name, kMaxPart) + "-" +
         to_file_component(short_id, 16);
}

}  // namespace oomw
