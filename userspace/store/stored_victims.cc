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
constexpr std::size_t kMaxNameless = 1'000;  // of one incident

bool is_near(WallTime incident, WallTime kill) {
  return incident.ns >= kill.ns - kBeforeNs && incident.ns <= kill.ns + kAfterNs;
}

// The time of an incident without a name is when the count was seen to have risen, after its kill.
bool is_count_of(const StoredVictim& victim, WallTime kill, const std::string& home) {
  constexpr std::int64_t kClockSlackNs = 2'000'000'000;
  if (victim.pid != 0 || victim.is_taken || victim.cgroup_path.empty() || victim.time.ns < kill.ns - kClockSlackNs) {
    return false;
  }
  return home.starts_with(victim.cgroup_path) &&
         (home.size() == victim.cgroup_path.size() || home[victim.cgroup_path.size()] == '/');
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
      victims.push_back({victim.process.pid, incident.time, incident.cgroup_path, incident.container,
                         victim.cgroup_path.empty() ? incident.cgroup_path : victim.cgroup_path});
    }
    const std::size_t nameless = incident.victims.empty() ? std::min(incident.victim_count, kMaxNameless) : 0;
    victims.insert(victims.end(), nameless, {0, incident.time, incident.cgroup_path, incident.container, ""});
  }
  return victims;
}

const StoredVictim* find_stored(std::int32_t pid, WallTime time, const std::string& home,
                                std::vector<StoredVictim>& stored) {
  const auto is_it = [&](const StoredVictim& victim) { return victim.pid == pid && is_near(victim.time, time); };
  const auto is_its_count = [&](const StoredVictim& victim) {
    return is_near(victim.time, time) && is_count_of(victim, time, home);
  };
  if (const auto named = std::ranges::find_if(stored, is_it); named != stored.end()) return &*named;
  const auto counted = std::ranges::find_if(stored, is_its_count);
  if (counted == stored.end()) return nullptr;
  counted->is_taken = true;
  return &*counted;
}

}  // namespace oomw
