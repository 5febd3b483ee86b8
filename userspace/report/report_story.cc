// SPDX-License-Identifier: Apache-2.0
#include "report/report_story.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

constexpr Nanoseconds kGrowthWindow = std::chrono::seconds(60);
constexpr std::size_t kShortId = 12;

bool is_group_kill(const Incident& incident) { return incident.oom_group || !incident.oom_group_cgroup_path.empty(); }

std::size_t victim_count(const Incident& incident) { return std::max(incident.victim_count, incident.victims.size()); }

std::string victims_text(const Incident& incident) {
  if (incident.victims.empty()) {
    const std::size_t count = victim_count(incident);
    return count < 2 ? "a process" : fmt::format("{} processes", count);
  }
  const IncidentVictim& first = incident.victims.front();
  const std::string text = fmt::format("**{}** (pid {})", to_markdown(first.comm), first.process.pid);
  const std::size_t others = victim_count(incident) - 1;
  if (others == 0) return text;
  if (is_group_kill(incident)) return fmt::format("{} and {} more", text, others);
  return fmt::format("{} and {} more of its processes", text, others);
}

// Why processes that the kernel did not choose were killed too.
std::string group_text(const Incident& incident) {
  const std::size_t count = victim_count(incident);
  if (!is_group_kill(incident) || count < 2) return "";
  const std::string& path = incident.oom_group_cgroup_path;
  return fmt::format("They were killed as a group: memory.oom.group of {}, {} processes. ",
                     path.empty() ? "a cgroup that is not known" : to_markdown(path), count);
}

std::string repeats_text(const Incident& incident) {
  if (!incident.repeats) return "";
  return fmt::format(
      "Since then {} more {} of this container up to {}: they are counted here and have no incidents of "
      "their own. ",
      incident.repeats->count, incident.repeats->count == 1 ? "kill" : "kills",
      to_rfc3339_seconds(incident.repeats->last));
}

std::string limit_text(const Incident& incident) {
  const std::string size = incident.limit_bytes ? " of " + human_bytes(*incident.limit_bytes) : "";
  if (incident.scope.empty()) return "memory ran out; whose limit it was is not known";
  if (incident.scope == "node") return "the node itself had run out of memory";
  if (incident.scope == "pod") {
    const std::size_t containers = incident.limit_shares.size();
    const std::string who = containers > 1 ? fmt::format(", which its {} containers share,", containers) : "";
    return fmt::format("the limit{} of its pod{} was used up", size, who);
  }
  if (incident.scope == "ancestor") {
    return fmt::format("a limit{} above it was used up, that of {}", size,
                       incident.limit_owner_cgroup_path.empty() ? "a cgroup that is not known"
                                                                : to_markdown(incident.limit_owner_cgroup_path));
  }
  return fmt::format("its own limit{} was used up", size);
}

// The rise from the lowest reading of the last minute to the kill.
std::string growth_text(const Incident& incident) {
  const Incident::Point* lowest = nullptr;
  const Incident::Point* last = nullptr;
  for (const Incident::Point& point : incident.series) {
    if (point.time > incident.time || incident.time.ns - point.time.ns > kGrowthWindow.count()) continue;
    if (lowest == nullptr || point.usage_bytes < lowest->usage_bytes) lowest = &point;
    last = &point;
  }
  if (lowest == nullptr || lowest == last) return "How fast it grew is not known.";
  const double seconds = static_cast<double>(last->time.ns - lowest->time.ns) / 1e9;
  if (seconds <= 0 || last->usage_bytes <= lowest->usage_bytes) return "It had not grown in the minute before.";
  const double rate = static_cast<double>(last->usage_bytes - lowest->usage_bytes) / seconds;
  return fmt::format("In the last {:.3g} s its usage rose from {} to {}, about {} per second.", seconds,
                     human_bytes(lowest->usage_bytes), human_bytes(last->usage_bytes),
                     human_bytes(static_cast<std::uint64_t>(rate)));
}

std::string memory_text(const Incident& incident) {
  std::string text;
  if (const auto anon = victims_anon_bytes(incident)) {
    text = fmt::format("The victims held {} of anonymous memory.", human_bytes(*anon));
  }
  std::string parts;
  constexpr std::array<std::pair<const char*, const char*>, 4> kParts = {
      {{"anon", "anonymous"}, {"file", "page cache"}, {"shmem", "of that tmpfs and shared"}, {"kernel", "kernel"}}};
  for (const auto& [key, name] : kParts) {
    auto it = incident.memory_stat.find(key);
    if (it == incident.memory_stat.end() || it->second == 0) continue;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", human_bytes(it->second), name);
  }
  if (!parts.empty()) text += fmt::format("{}By memory.stat: {}.", text.empty() ? "" : " ", parts);
  return text.empty() ? "What the memory was is not known." : text;
}

}  // namespace

std::string place_text(const Incident& incident) {
  const ContainerIdentity& who = incident.container;
  const std::string name = !who.name.empty() ? who.name : who.id.substr(0, kShortId);
  if (!who.pod_name.empty()) {
    return fmt::format("container {} of pod {}/{}", to_markdown(name), to_markdown(who.pod_namespace),
                       to_markdown(who.pod_name));
  }
  if (!name.empty()) return "container " + to_markdown(name);
  if (!who.unit.empty()) return "unit " + to_markdown(who.unit);
  return incident.cgroup_path.empty() ? "a cgroup that is not known" : "cgroup " + to_markdown(incident.cgroup_path);
}

// The workload that the pod belongs to, and how often this container was started before.
std::string workload_text(const Incident& incident) {
  if (!incident.pod) return "";
  const std::string workload = to_text(incident.pod->workload);
  std::string text = workload.empty() ? "" : ", a pod of " + to_markdown(workload, 300) + ",";
  if (const auto restarts = incident.pod->restart_count; restarts && *restarts > 0) {
    text +=
        fmt::format("{} in its run after {} restart{}", text.empty() ? "," : "", *restarts, *restarts == 1 ? "" : "s");
    text += ",";
  }
  return text;
}

std::string story_text(const Incident& incident) {
  return fmt::format("At {} the kernel killed {} in {}{} because {}. {}{} {}", to_rfc3339_seconds(incident.time),
                     victims_text(incident), place_text(incident), workload_text(incident), limit_text(incident),
                     group_text(incident) + repeats_text(incident), growth_text(incident), memory_text(incident));
}

}  // namespace oomw
