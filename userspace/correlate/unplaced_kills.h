// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "events/event.h"
#include "model/kill_accounting.h"

namespace oomw {

// Kills that were reported without their cgroup: the kernel log was rate-limited to the line that has only the pid,
// and nothing is left in /proc. They wait for a count that rose without a report.
//   - if one kill waits and one count rose, they are the same kill. Of several, each may be any, so none is assigned,
//     then or later: they are handed over as candidates;
//   - at most kMax wait, and none longer than the caller allows.
class UnplacedKills {
 public:
  static constexpr std::size_t kMax = 64;
  // Between the reading that showed the rise and the reading of the log, in either order.
  static constexpr Nanoseconds kTogether = std::chrono::seconds(1);

  struct Match {
    std::optional<OomKill> kill;  // it was this one
    std::vector<OomKill> any_of;  // or: as many of these as were counted
  };

  // Returns the kill that was dropped to make room, if any.
  [[nodiscard]] std::optional<OomKill> add(OomKill kill);
  // Removes one waiting kill for each counted kill. is_alone: no other count rose at that time.
  [[nodiscard]] Match take_for(const UnobservedKills& counted, bool is_alone = true);
  [[nodiscard]] std::vector<OomKill> take_older_than(MonotonicTime time);
  [[nodiscard]] std::vector<OomKill> take_all();

 private:
  struct Waiting {
    OomKill kill;
    bool is_one_of_many = false;
  };
  [[nodiscard]] static bool is_together(const OomKill& kill, const UnobservedKills& counted);
  std::deque<Waiting> waiting_;  // the oldest first
};

}  // namespace oomw
