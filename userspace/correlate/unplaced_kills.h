// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "events/event.h"
#include "model/kill_accounting.h"

namespace oomw {

// Kills that were told without their cgroup: the kernel log is rate-limited to the line that has the
// pid alone, and nothing is left in /proc. They wait for a count that rose without a report.
//   - the only one that waits is what the only rise counted; of several each may be any, so none is
//     taken for it, then or later: they are handed over as what it may have been;
//   - at most kMax wait, and none longer than the caller lets it.
class UnplacedKills {
 public:
  static constexpr std::size_t kMax = 64;
  // From the reading that showed the rise to the reading of the log, or the other way.
  static constexpr Nanoseconds kTogether = std::chrono::seconds(1);

  struct Match {
    std::optional<OomKill> kill;  // it was this one
    std::vector<OomKill> any_of;  // or: as many of these as were counted
  };

  // The one that had to go for it, if any.
  [[nodiscard]] std::optional<OomKill> add(OomKill kill);
  // What waits is taken out: for each counted kill one. is_alone: no other count rose at that time.
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
