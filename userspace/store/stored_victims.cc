// SPDX-License-Identifier: Apache-2.0
#include "store/stored_victims.h"

#include <algorithm>

#include "base/files.h"
#include "incident/incident.h"
#include "store/directory_names.h"
#include "store/incident_index.h"

namespace oomw {
namespace {

// The two clocks' slack and a second for a name that is cut to it; a clock that was stepped meanwhile hides
// an incident, and then there are two.
constexpr std::int64_t kBeforeNs = 35'000'000'000;
constexpr std::int64_t kAfterNs = 5'000'000'000;
constexpr std::size_t kMaxJsonBytes = 4u << 20;

bool is_near(WallTime incident, WallTime kill) {
  return incident.ns >= kill.ns - kBeforeNs && incident.ns <= kill.ns + kAfterNs;
}

bool is_near_any(WallTime incident, const std::vector<WallTime>& sorted_kills) {
  const auto first = std::ranges::lower_bound(sorted_kills, WallTime{incident.ns - kAfterNs});
  return first != sorted_kills.end() && is_near(incident, *first);
}

void add_victims(const std::string& file, std::vector<StoredVictim>& victims) {
  const Result<std::string> text = read_file(file, kMaxJsonBytes);
  if (!text.has_value()) return;
  const Result<Incident> incident = incident_from_json(*text);
  if (!incident.has_value()) return;
  for (const IncidentVictim& victim : incident->victims) {
    victims.push_back({victim.process.pid, incident->time, incident->cgroup_path, incident->container});
  }
}

}  // namespace

std::vector<StoredVictim> stored_victims_near(const std::string& data_dir, std::vector<WallTime> times) {
  std::vector<StoredVictim> victims;
  if (times.empty()) return victims;
  std::ranges::sort(times);
  const std::string root = data_dir + "/incidents";
  for (const std::string& name :
       list_directory(root, IncidentIndex::kMaxEntries).value_or(std::vector<std::string>{})) {
    const auto time = is_incident_directory(name) ? time_of_directory(name) : std::nullopt;
    if (time && is_near_any(*time, times)) add_victims(root + "/" + name + "/incident.json", victims);
  }
  return victims;
}

const StoredVictim* find_stored(std::int32_t pid, WallTime time, const std::vector<StoredVictim>& stored) {
  const auto found = std::ranges::find_if(
      stored, [&](const StoredVictim& victim) { return victim.pid == pid && is_near(victim.time, time); });
  return found == stored.end() ? nullptr : &*found;
}

}  // namespace oomw
