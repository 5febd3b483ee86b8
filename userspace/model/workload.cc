// SPDX-License-Identifier: Apache-2.0
#include "model/workload.h"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace oomw {
namespace {

struct Name {
  std::string_view head;
  std::string_view tail;  // after the last '-'
};

std::optional<Name> split_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  return Name{name.substr(0, dash), name.substr(dash + 1)};
}

Workload of_replica_set(const PodSeen& pod) {
  constexpr std::array<std::pair<const char*, const char*>, 2> kHashLabels = {
      {{"pod-template-hash", "Deployment"}, {"rollouts-pod-template-hash", "Rollout"}}};
  const auto name = split_name(pod.owner_name);
  for (const auto& [label, kind] : kHashLabels) {
    const auto hash = pod.labels.find(label);
    if (hash == pod.labels.end()) continue;
    if (!name || name->tail != hash->second) return {};  // another controller's label: no proof either way
    return {kind, std::string(name->head), std::string(kByTemplateHash)};
  }
  if (pod.is_cut) return {};  // the label may be among those left out
  return {pod.owner_kind, pod.owner_name, std::string(kByOwner)};
}

// The time is in minutes since Kubernetes 1.21, in seconds before. A date ("import-20261122") is neither.
bool is_planned_time(std::string_view text, WallTime seen) {
  constexpr std::size_t kMinuteDigits = 8, kSecondDigits = 10;
  constexpr std::int64_t kOldest = 400LL * 24 * 3600;  // s; with an older time the Job itself counts as the workload
  constexpr std::int64_t kAhead = 3600;                // s; clocks differ
  if (text.size() != kMinuteDigits && text.size() != kSecondDigits) return false;
  const auto number = parse_u64(text);
  if (!number) return false;
  const auto planned = static_cast<std::int64_t>(text.size() == kMinuteDigits ? *number * 60 : *number);
  const std::int64_t age = seen.ns / 1'000'000'000 - planned;
  return age > -kAhead && age < kOldest;
}

Workload of_job(const PodSeen& pod) {
  const auto name = split_name(pod.owner_name);
  if (name && is_planned_time(name->tail, {pod.time.ns + pod.wall_offset_ns})) {
    return {"CronJob", std::string(name->head), std::string(kByJobName)};
  }
  return {pod.owner_kind, pod.owner_name, std::string(kByOwner)};
}

}  // namespace

std::string to_text(const Workload& workload) {
  if (workload.kind.empty()) return "";
  return workload.kind + " " + workload.name + (workload.evidence == kByJobName ? " (by the Job's name)" : "");
}

Workload workload_of(const PodSeen& pod) {
  if (pod.owner_kind.empty() || pod.owner_name.empty() || pod.owner_kind == "Node") return {};
  if (pod.owner_kind == "ReplicaSet") return of_replica_set(pod);
  if (pod.owner_kind == "Job") return of_job(pod);
  return {pod.owner_kind, pod.owner_name, std::string(kByOwner)};
}

}  // namespace oomw
