// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/event.h"

namespace oomw {

// A victim of an incident on disk.
struct StoredVictim {
  std::int32_t pid = 0;  // 0: of an incident that only a count led to
  WallTime time;         // of the incident
  // The container that the incident is about, with its pod's names.
  std::string cgroup_path;
  ContainerIdentity container;
  std::string home;       // the cgroup that the victim ran in, or the container's
  bool is_taken = false;  // one without a pid stands for one kill
};

// The victims of incidents below <data_dir>/incidents from about the first to the last of these times. An incident that
// cannot be read is skipped. For a worker thread.
[[nodiscard]] std::vector<StoredVictim> stored_victims_near(const std::string& data_dir,
                                                            const std::vector<WallTime>& times);
// The victim of that pid, else one without a pid whose container `home` (a cgroup's path, "" = not known) is or is in,
// which is then taken. nullptr: in none of them. A group kill may last for CorrelatorConfig::group_span, all of it in
// one incident.
[[nodiscard]] const StoredVictim* find_stored(std::int32_t pid, WallTime time, const std::string& home,
                                              std::vector<StoredVictim>& stored);

}  // namespace oomw
