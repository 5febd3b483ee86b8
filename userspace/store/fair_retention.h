// SPDX-License-Identifier: Apache-2.0
// Which incidents are dropped when there are too many. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/enum_names.h"
#include "incident/incident_facts.h"

namespace oomw {

struct Retention {
  std::size_t count = 200;
  std::uint64_t bytes = 2ull << 30;
  Nanoseconds age = std::chrono::hours(24 * 30);
};

// The bound that an incident was dropped for.
enum class LossReason : std::uint8_t { kAge, kCount, kBytes };
template <>
inline constexpr auto kEnumNames<LossReason> = std::to_array<std::string_view>({"age", "count", "bytes"});

struct KeptIncident {
  std::string name;  // of its directory
  WallTime time;
  std::uint64_t bytes = 0;
  IncidentFacts facts;
};

struct Loss {
  std::size_t index = 0;  // into the incidents given
  LossReason reason = LossReason::kCount;
};

// At most max_losses at a time, in the order in which they are to go; call again for the rest.
//   - beyond the age: all, the oldest first. now = nullopt: the clock is not to be trusted, and nothing is too old;
//   - beyond count or bytes: incidents that cannot be read; then, of the workload that has the most, the oldest but for
//     its first, its best (most evidence; ties go to the newest) and its newest;
//   - when only those are left, the tenant with the most loses, there the workload with the most: its first, then its
//     newest, its best last. So a tenant with many workloads takes nothing from a tenant with few;
//   - the newest incident of all goes only if not even one may stay (count 0): someone is likely to open it soon.
// O(losses * workloads).
[[nodiscard]] std::vector<Loss> choose_losses(const std::vector<KeptIncident>& incidents, const Retention& retention,
                                              std::optional<WallTime> now, std::size_t max_losses = 2'000);

}  // namespace oomw
