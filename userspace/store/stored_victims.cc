// SPDX-License-Identifier: Apache-2.0
#include "store/stored_victims.h"

#include <algorithm>

#include "store/incident_reader.h"

namespace oomw {
namespace {

// Slack between the two clocks, plus a second because names are cut to the second. If a clock was stepped in
// between, the stored incident is not found, and a second one is written.
constexpr std::int64_t kBeforeNs = 35'000'000'000;
constexpr std::int64_t kAfterNs = 5'000'000'000;

bool is_near(WallTime incident, WallTime kill) {
  return incident.ns >= kill.ns - kBeforeNs && incident.ns <= kill.ns + kAfterNs;
}

}  // namespace

std::vector<StoredVictim> stored_victims_near(const std::string& data_dir, const std::vector<WallTime>& times) {
  if (times.empty()) return {};
  const auto [first, last] = std::ranges::minmax(times);
  const auto stored = IncidentReader(data_dir).list({{{first.ns - kBeforeNs}}, {{last.ns + kAfterNs}}});
  std::vector<StoredVictim> victims;
  if (!stored) return victims;
  for (const auto& [directory, incident] : *stored) {
    for (const IncidentVictim& victim : incident.victims) {
      victims.push_back({victim.process.pid, incident.time, incident.cgroup_path, incident.container});
    }
  }
  return victims;
}

const StoredVictim* find_stored(std::int32_t pid, WallTime time, const std::vector<StoredVictim>& stored) {
  const auto found = std::ranges::find_if(
      stored, [&](const StoredVictim& victim) { return victim.pid == pid && is_near(victim.time, time); });
  return found == stored.end() ? nullptr : &*found;
}

}  // namespace oomw
