// SPDX-License-Identifier: Apache-2.0
// Which incidents a list shows, and which of them are the same trouble again. Pure; for the CLI and the API alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/incident_summary.h"

namespace oomw {

// Every member that is given must hold. Texts that are empty ask nothing.
struct IncidentFilter {
  std::optional<WallTime> since = {}, until = {};  // by the second in the directories' names
  std::string pod_namespace = {};                  // as a whole
  std::string pod = {}, container = {};            // a part is enough; a container's place serves where it has no name
  std::string cause = {};                          // as a whole; "unknown": those without one
  std::size_t limit = 0;                           // the newest ones; 0 = all

  // Whether it asks for more than times.
  [[nodiscard]] bool has_words() const;
};

[[nodiscard]] bool matches(const IncidentSummary& summary, const IncidentFilter& filter);

// Kills of one workload for one cause.
struct IncidentGroup {
  IncidentSummary newest;
  std::uint64_t kills = 0;  // with those that have no incident of their own
  WallTime first, last;
};

// By workload and cause; of any order, those with the latest kill first.
[[nodiscard]] std::vector<IncidentGroup> group_repeats(const std::vector<IncidentSummary>& summaries);
// The rows of a list: by workload and cause, or one for each incident, in its order.
[[nodiscard]] std::vector<IncidentGroup> rows_of(const std::vector<IncidentSummary>& summaries, bool is_grouped);

// "90s", "30m", "2h", "7d" before now, or RFC 3339; nullopt: neither.
[[nodiscard]] std::optional<WallTime> parse_since(std::string_view text, WallTime now);

}  // namespace oomw
