// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/past_kills.h"
#include "store/stored_victims.h"

namespace oomw {

// What is to be known of the time before this run, or before it had the data directory.
struct PastRequest {
  std::string kmsg_path = "/dev/kmsg";
  std::string data_dir;
  HeardUntil heard;
  MonotonicTime watching_since;
  std::vector<OomKill> held;  // that this run saw while it stood by
};

struct PastReading {
  PastWindow window;
  std::vector<PastKill> kills;
  std::vector<OomKill> held;  // without those that the run before dealt with
  std::vector<bool> is_held_counted;
  std::vector<StoredVictim> stored;
  std::uint64_t lost = 0;  // of the kernel log: see KmsgBacklog
  std::string problem;     // why the kernel log says nothing, or less than it should; "" = it does
};

// Reads the kernel log and the incidents of those times. A worker's: 1 ms for a log of 1,000 lines, seconds
// for the longest.
[[nodiscard]] PastReading read_past(PastRequest request, const Clock& clock);

}  // namespace oomw
