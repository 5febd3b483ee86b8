// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxName = 256;
constexpr std::size_t kShortestId = 12;  // "docker ps" shows ids of this length

// A path in words and what separates them: "/a-b" is "", "/", "a", "-", "b".
std::vector<std::string_view> words_of(std::string_view path) {
  constexpr std::string_view kSeparators = "/.-_:@";
  std::vector<std::string_view> words;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(path.find_first_of(kSeparators, at), path.size());
    words.push_back(path.substr(at, end - at));
    if (end == path.size()) return words;
    words.push_back(path.substr(end, 1));
    at = end + 1;
  }
}

// How many of the words from `at` on are one id: a UUID's nine, the one of a hash, or none.
std::size_t id_length(const std::vector<std::string_view>& words, std::size_t at, std::string_view first) {
  constexpr std::array<std::size_t, 5> kUuid = {8, 4, 4, 4, 12};
  bool is_uuid = at + 2 * kUuid.size() - 1 <= words.size();
  for (std::size_t i = 0; i < kUuid.size() && is_uuid; ++i) {
    const std::string_view part = i == 0 ? first : words[at + 2 * i];
    is_uuid = part.size() == kUuid[i] && is_lower_hex(part);
  }
  if (is_uuid) return 2 * kUuid.size() - 1;
  const bool has_digit = first.find_first_of("0123456789") != std::string_view::npos;
  return first.size() >= kShortestId && has_digit && is_lower_hex(first) ? 1 : 0;
}

// "/kubepods/pod0f1e.../cri-containerd-0123456789ab.scope" -> "/kubepods/pod*/cri-containerd-*.scope"
std::string without_ids(std::string_view path) {
  const std::vector<std::string_view> words = words_of(path);
  std::string result;
  for (std::size_t at = 0; at < words.size();) {
    const std::string_view prefix = words[at].starts_with("pod") ? "pod" : "";
    const std::size_t length = id_length(words, at, words[at].substr(prefix.size()));
    result += length == 0 ? words[at] : prefix;
    if (length != 0) result += '*';
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

// The alphabet of the names that Kubernetes makes up: no vowels, no 0, 1 or 3.
bool is_generated(std::string_view part, std::size_t shortest, std::size_t longest) {
  return part.size() >= shortest && part.size() <= longest &&
         part.find_first_not_of("bcdfghjklmnpqrstvwxz2456789") == std::string_view::npos;
}

std::string_view without_last_part(std::string_view name) { return name.substr(0, name.rfind('-')); }
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('-') + 1); }

// "cart-7d9f8c4b5-x2x5z" -> "cart". By convention only, for pods whose controller the API did not name: a wrong guess
// makes two workloads of one namespace share what is kept.
std::string_view controller_of(std::string_view pod) {
  if (pod.find('-') == std::string_view::npos || !is_generated(last_part(pod), 5, 5)) return pod;
  pod = without_last_part(pod);
  const bool has_hash = pod.find('-') != std::string_view::npos && is_generated(last_part(pod), 6, 10) &&
                        last_part(pod).find_first_of("2456789") != std::string_view::npos;
  return has_hash ? without_last_part(pod) : pod;
}

std::string name_of_pods(const Incident& incident) {
  if (incident.pod && !incident.pod->workload.name.empty()) return incident.pod->workload.name;
  return std::string(controller_of(incident.container.pod_name));
}

// "/user.slice/user-1000.slice/user@1000.service/app.slice" -> "/user.slice/user-1000.slice"
std::string top_of(std::string_view path) {
  std::size_t end = path.find('/', path.starts_with('/') ? 1 : 0);
  if (end != std::string_view::npos) end = path.find('/', end + 1);
  return std::string(path.substr(0, end));
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

bool is_an_id(const std::string& name) { return without_ids(name) == "*"; }

// Never without the tenant: otherwise one tenant could take the name of another's workload, and its place.
std::string workload_without_pod(const Incident& incident, const std::string& tenant) {
  const ContainerIdentity& who = incident.container;
  if (!who.pod_uid.empty()) return tenant + "/pod " + who.pod_uid;
  if (!who.unit.empty()) return tenant + "/" + who.unit;
  if (!who.name.empty() && !is_an_id(who.name)) return tenant + "/" + who.runtime + " " + who.name;
  if (!who.runtime.empty() && !who.image.empty()) return tenant + "/" + who.runtime + " " + who.image;
  return without_ids(incident.cgroup_path.empty() ? "/" : incident.cgroup_path);
}

// A profile says whose memory it was; the rest explains less. A whole profile that covers all memory is worth twice a
// partial one.
std::uint32_t evidence_of(const Incident& incident) {
  std::uint32_t points = 0;
  if (const IncidentCapture* best = best_capture(incident)) {
    points += best->complete ? 1'000 : 600;
    points += static_cast<std::uint32_t>(std::clamp(incident.coverage_ratio.value_or(0), 0.0, 1.0) * 500);
  }
  points += incident.trend ? 200 : 0;
  points += incident.collector ? 100 : 0;
  points += !incident.victims.empty() && !incident.victims.front().comm.empty() ? 100 : 0;
  points += incident.memory_stat.empty() ? 0 : 20;
  points += incident.series.empty() ? 0 : 20;
  return points;
}

}  // namespace

IncidentFacts facts_of(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  IncidentFacts facts;
  if (!who.pod_namespace.empty() || !who.pod_name.empty()) {
    facts.tenant = who.pod_namespace;
    facts.workload = who.pod_namespace + "/" + name_of_pods(incident) + "/" + who.name;
  } else {
    facts.tenant = top_of(without_ids(parent_of(incident.cgroup_path)));
    facts.workload = workload_without_pod(incident, facts.tenant);
  }
  facts.tenant.resize(std::min(facts.tenant.size(), kMaxName));
  facts.workload.resize(std::min(facts.workload.size(), kMaxName));
  facts.evidence = evidence_of(incident);
  facts.time = incident.time;
  return facts;
}

}  // namespace oomw
