// SPDX-License-Identifier: Apache-2.0
// Queries on Incident::limit_shares: which containers filled a pod's limit that is not one container's alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// The victim's container's share of what the limit counted, 0 to 1; nullopt: not known.
[[nodiscard]] std::optional<double> victims_share(const Incident& incident);
// What the killed processes held of a limit that others share, where that is more than all the rest; by the kill's own
// record. nullopt: less, or not known.
[[nodiscard]] std::optional<std::uint64_t> most_of_limit(const Incident& incident);
// The pod's limit is the sum of its containers' limits, as far as they were read: the kubelet derived it from them.
[[nodiscard]] bool is_sum_of_containers(const Incident& incident);
// "web 60.0 MiB, db 48.0 MiB", the largest first, at most `max`; what no living container explains is last.
[[nodiscard]] std::string shares_text(const Incident& incident, std::size_t max);
// Memory that is charged to the pod but held by no living container: files in memory that an ended container left.
// 0 = a twentieth of what the limit counted, or less.
[[nodiscard]] std::uint64_t unexplained_bytes(const Incident& incident);

[[nodiscard]] std::string bytes_or_unknown(const std::optional<std::uint64_t>& bytes);

}  // namespace oomw
