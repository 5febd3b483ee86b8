// SPDX-License-Identifier: Apache-2.0
#include "sinks/kubernetes_event.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxWhy = 256, kMaxAnswer = 400, kMaxAction = 160;
constexpr std::size_t kMaxMessage = 960;  // an Event takes 1,024 bytes, and a few more are lost when it is escaped

std::string limit_text(const Incident& incident) {
  if (incident.scope == "node") return "the node was out of memory";
  const std::string size = incident.limit_bytes ? " of " + human_bytes(*incident.limit_bytes) : "";
  if (incident.scope == "pod") {
    return "the limit" + size + " of its pod" +
           (incident.limit_shares.size() > 1 ? ", which its containers share," : "") + " was used up";
  }
  return (incident.scope == "ancestor" ? "a limit" + size + " above it was used up"
                                       : "its limit" + size + " was used up");
}

// A reader of a namespace's Events sees pods come and go; the workload stays.
std::string workload_text(const Incident& incident) {
  const std::string workload = incident.pod ? to_text(incident.pod->workload) : "";
  return workload.empty() ? "" : " of " + printable(workload, kMaxWhy);
}

std::string answer_text(const Incident& incident) {
  if (incident.answer) {
    const std::string& action = incident.answer->action;
    return " " + printable(incident.answer->sentence, kMaxAnswer) +
           (action.empty() ? "" : " What to do: " + printable(action, kMaxAction));
  }
  return incident.verdict ? fmt::format(" Likely cause: {}.", incident.verdict->cause) : "";
}

std::string evidence_text(const Incident& incident, const std::string& directory) {
  const std::string node = incident.pod && !incident.pod->node.empty() ? " on node " + incident.pod->node : "";
  const auto coverage =
      incident.coverage_ratio ? fmt::format(" (heap profile covers {:.0f} %)", *incident.coverage_ratio * 100) : "";
  return fmt::format(" Evidence{}{}: {}, or `oomwitness show {}`.", coverage, node, directory, incident.id);
}

}  // namespace

std::optional<PodEvent> pod_event_of(const Incident& incident, const std::string& directory, const PodSeen* pod) {
  const ContainerIdentity& who = incident.container;
  if (who.pod_name.empty() || who.pod_namespace.empty()) return std::nullopt;
  const std::string comm = incident.victims.empty() ? "a process" : printable(incident.victims.front().comm, 32);
  const std::int32_t pid = incident.victims.empty() ? 0 : incident.victims.front().process.pid;
  PodEvent event;
  event.id = incident.id;
  event.time = incident.time;
  event.name_space = who.pod_namespace;
  event.pod = who.pod_name;
  event.pod_uid = pod != nullptr ? pod->uid : who.pod_uid;
  event.container = who.name;
  const std::string head = fmt::format("The kernel OOM-killed {} (pid {}){} because {}.", comm, pid,
                                       workload_text(incident), limit_text(incident));
  const std::string evidence = evidence_text(incident, directory);
  // A message that is too long is cut at its end, which names the evidence: the answer gives way instead.
  const std::size_t taken = std::min(head.size() + evidence.size(), kMaxMessage);
  const std::string answer = answer_text(incident);
  event.message = head + (answer.empty() ? "" : " " + printable(answer.substr(1), kMaxMessage - taken)) + evidence;
  return event;
}

void KubernetesEventSink::publish(const Incident& incident, const StoredAt& at) {
  if (at.is_revision) return;
  if (auto event = pod_event_of(incident, at.directory, find_pod_(incident.container))) (void)post_(std::move(*event));
}

}  // namespace oomw
