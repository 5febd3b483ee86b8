// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock_steadiness.h"
#include "base/result.h"
#include "incident/incident_facts.h"

namespace oomw {

// What retention knows of one incident, and of which incident.json.
struct KnownFacts {
  IncidentFacts facts;
  std::int64_t changed_ns = 0;  // mtime of the incident.json they were taken from
};

struct DroppedIncidents {
  std::uint64_t count = 0;
  WallTime last;  // time of the newest one dropped
};

// What retention must remember across restarts. Everything in it can be lost: facts are read from the incidents again.
struct RetentionState {
  static constexpr std::size_t kMaxDroppedWorkloads = 256;

  std::map<std::string, KnownFacts> incidents;      // by the name of the directory
  std::map<std::string, DroppedIncidents> dropped;  // by IncidentFacts::workload; at most kMaxDroppedWorkloads
  std::uint64_t dropped_others = 0;                 // of workloads that `dropped` has no room for
  std::optional<ClockSteadiness::State> clock;

  // Counts one incident that was dropped.
  void add_dropped(const IncidentFacts& facts);
};

// <data-dir>/retention.json, written atomically.
[[nodiscard]] Result<RetentionState> load_retention(const std::string& data_dir);  // kNotFound on first run
[[nodiscard]] Result<> save_retention(const std::string& data_dir, const RetentionState& state);

}  // namespace oomw
