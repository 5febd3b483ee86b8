// SPDX-License-Identifier: Apache-2.0
// Incidents of a Python program whose contents were read.
#pragma once

#include <functional>
#include <string>

#include "unit/incident/sample_incident.h"

namespace oomw::testing {

inline IncidentFiller found(const std::string& kind, const std::string& name, const std::string& held_as,
                            double share) {
  IncidentFiller filler;
  filler.runtime = "cpython";
  filler.kind = kind;
  filler.name = name;
  filler.held_as = held_as;
  filler.share = share;
  filler.bytes = static_cast<std::uint64_t>(share * (96 << 20));
  filler.count = 500'000;
  filler.evidence = "analysis";
  return filler;
}

inline Incident python_incident(const std::string& cause) {
  Incident incident = incident_without_findings();
  incident.limit_bytes = 96u << 20;
  incident.victims.front().comm = "python3";
  incident.verdict = IncidentVerdict{cause, 0.5, {"memory rose in each quarter"}};
  incident.fillers = {found("holder", "list of dict", "`LOG` in module `app`", 0.86), found("type", "dict", "", 0.6)};
  return incident;
}

// One that is not judged yet: so many MiB at each second of its life, until a limit of 96 MiB.
inline Incident grown(const std::function<double(double)>& mebibytes_at, int seconds) {
  Incident incident = python_incident("leak");
  incident.verdict.reset();
  incident.usage_bytes = incident.limit_bytes = 96u << 20;
  incident.victims.front().started = before_kill(std::int64_t{seconds} * 1000);
  incident.victims.front().rss->anon_bytes = 92u << 20;
  incident.watermarks.clear();
  incident.captures.clear();
  incident.series.clear();
  for (int i = 0; i < 120; ++i) {
    const double second = seconds * i / 120.0;
    const auto bytes = static_cast<std::uint64_t>(mebibytes_at(second) * (1 << 20));
    incident.series.push_back({before_kill(static_cast<std::int64_t>((seconds - second) * 1000)), bytes, bytes});
  }
  return incident;
}

}  // namespace oomw::testing
