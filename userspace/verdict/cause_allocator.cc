// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "verdict/causes.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

std::uint64_t bytes_of_part(const IncidentComposition& composition, std::string_view name) {
  const auto found = std::ranges::find(composition.parts, name, &MemoryShare::name);
  return found == composition.parts.end() ? 0 : found->bytes;
}

double composition_age(const Incident& incident) {
  return (static_cast<double>(incident.time.ns) - static_cast<double>(incident.composition->as_of.ns)) / 1e9;
}

}  // namespace

// Free blocks can be used again without any growth of the process: an old reading shows nothing of the kill.
std::optional<Finding> judge_allocator(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  if (!incident.composition || !incident.limit_bytes) return std::nullopt;
  const double age = composition_age(incident);
  if (age > threshold::kFreshReading) return std::nullopt;
  const std::uint64_t free = bytes_of_part(*incident.composition, "malloc: free");
  const std::uint64_t used = bytes_of_part(*incident.composition, "malloc: in use");
  const double share =
      static_cast<double>(free) / static_cast<double>(std::max<std::uint64_t>(*incident.limit_bytes, 1));
  if (share < threshold::kRetained || free <= used) return std::nullopt;
  return Finding{"allocator_retention",
                 threshold::kMeasuredApart,
                 {fmt::format("{} = {:.0f} % of the limit were freed by the program and kept by malloc {:.1f} s before "
                              "the kill, {} were in use",
                              human_bytes(free), share * 100, std::max(age, 0.0), human_bytes(used))}};
}

}  // namespace oomw
