// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// The last kills of each workload, so that an incident can say that it is not the first. Pure; the core thread.
//   - a workload is named as IncidentFacts names it: the same for each restart and each replica. The root cgroup is
//     none;
//   - bounded: at most kMaxWorkloads of them, and of each its last kKept kills. The one that was killed least recently
//     makes room.
class KillHistory {
 public:
  static constexpr std::size_t kMaxWorkloads = 1'024, kKept = 4;

  // Of any order; one with an id that is known replaces that. kill.kills is not read.
  void add(const std::string& workload, EarlierKill kill);
  // The newest kill of the workload before `time` that is not the incident `id`; nullopt: none is known.
  [[nodiscard]] std::optional<EarlierKill> before(const std::string& workload, const std::string& id,
                                                  WallTime time) const;
  [[nodiscard]] std::size_t size() const { return workloads_.size(); }

 private:
  using Kills = std::deque<EarlierKill>;  // oldest first; `kills` counts each with all before it
  void make_room();

  std::map<std::string, Kills> workloads_;
};

// What is remembered of an incident.
[[nodiscard]] EarlierKill remembered(const Incident& incident);

}  // namespace oomw
