// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "incidents/incident.h"

namespace oomw {

// The cause as far as this one incident's evidence supports it; nullopt otherwise: a guess would
// be wrong evidence. In this order, the first that holds:
//   node                   the node was out of memory, not the container
//   ancestor_limit         the limit that was hit is above the container
//   page_cache_or_tmpfs    shmem, or page cache that the victims' memory leaves room for, is at least
//                          half of the usage
//   sibling                the container's other processes held more anon memory than the victims
//   off_heap               a whole heap profile of the end explains less than half of what the victims held
//   spike                  at least half of the limit was gained within 10 s
// leak and undersized need a trend over several heap profiles and are not judged here.
[[nodiscard]] std::optional<IncidentVerdict> judge_incident(const Incident& incident);

}  // namespace oomw
