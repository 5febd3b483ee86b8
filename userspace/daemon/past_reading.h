// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/past_kills.h"
#include "store/incident_summary.h"
#include "store/stored_victims.h"

namespace oomw {

// The inputs for reading the time before this run, or before it had the data directory.
struct PastRequest {
  std::string kmsg_path = "/dev/kmsg";
  std::string data_dir;
  HeardUntil heard;
  MonotonicTime watching_since;
  std::vector<OomKill> held;  // seen by this run while it stood by
};

struct PastReading {
  static constexpr std::size_t kMaxIncidents = 500;  // 1 MB
  PastWindow window;
  std::vector<PastKill> kills;
  std::vector<OomKill> held;  // without those that the previous run handled
  std::vector<bool> is_held_counted;
  std::vector<StoredVictim> stored;
  std::vector<IncidentSummary> incidents;  // the newest kMaxIncidents on disk
  std::uint64_t lost = 0;                  // of the kernel log: see KmsgBacklog
  std::string problem;  // why the kernel log has nothing, or less than it should; "" = it is complete
};

// Reads the kernel log and the incidents of those times. Runs on a worker: 1 ms for a log of 1,000 lines, seconds for
// the longest.
[[nodiscard]] PastReading read_past(PastRequest request, const Clock& clock);

}  // namespace oomw
