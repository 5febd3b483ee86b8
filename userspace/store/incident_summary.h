// SPDX-License-Identifier: Apache-2.0
// What lists show of an incident, so that listing thousands opens no incident.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "incident/incident.h"

namespace oomw {

// Texts are those of the incident, bounded, and not printable yet.
struct IncidentSummary {
  std::string directory;  // the name below incidents/; known from where it was read, not part of the file
  std::string id;
  WallTime time;  // of the kill
  std::string pod_namespace, pod_name, container;
  std::string place;     // "payments/otelcol-7f/collector", the unit, or the cgroup's path
  std::string workload;  // IncidentFacts::workload: the same for every restart and every replica
  std::string victim;    // its name (comm); "" = not known
  std::string cause;     // the verdict's; "" = none
  double confidence = 0;
  std::string sentence, claim, code, operation;  // of the answer; code "" = nobody is named
  std::optional<std::uint64_t> limit_bytes;
  std::uint64_t profiles = 0;  // captures that are ok
  std::optional<double> coverage_ratio;
  std::string coverage_method;
  std::uint64_t repeats = 0;  // later kills that are counted here and have no incident of their own
  std::optional<WallTime> last_repeat;
};

inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr std::size_t kMaxSummaryBytes = 16u << 10;

[[nodiscard]] IncidentSummary summary_of(const Incident& incident);
// One line of at most kMaxSummaryBytes.
[[nodiscard]] std::string to_summary_json(const IncidentSummary& summary);
[[nodiscard]] Result<IncidentSummary> summary_from_json(std::string_view text);

// "payments/otelcol-7f/collector", the unit, the runtime's short id, or the cgroup's path: printable, 80 characters.
[[nodiscard]] std::string place_name(const ContainerIdentity& identity, const std::string& cgroup_path);

}  // namespace oomw
