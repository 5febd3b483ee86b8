// SPDX-License-Identifier: Apache-2.0
#include "correlate/resolved_kill.h"

#include <utility>

namespace oomw {

// The pid of a kill long ago may belong to another process by now.
OomKill completed(OomKill kill, const MemoryModel& model) {
  if (kill.unwatched) return kill;
  const ProcessState* process = model.find_process(kill.victim);
  if (process == nullptr) return kill;
  if (kill.victim.start_ticks == 0) kill.victim.start_ticks = process->key.start_ticks;
  if (!kill.victim_cgroup) kill.victim_cgroup = process->cgroup;
  if (!kill.victim_uid) kill.victim_uid = process->uid;
  if (kill.victim_comm.empty()) kill.victim_comm = process->comm;
  return kill;
}

ResolvedKill resolved_by_model(OomKill kill, const MemoryModel& model) {
  ResolvedKill resolved;
  const CgroupState* container = model.container_of(kill.victim_cgroup);
  resolved.container = container != nullptr ? container->id : kill.victim_cgroup;
  resolved.place = place_of_limit(kill, model);
  resolved.labels = labels_of(kill.victim_cgroup, resolved.place.scope, model);
  resolved.kill = std::move(kill);
  return resolved;
}

}  // namespace oomw
