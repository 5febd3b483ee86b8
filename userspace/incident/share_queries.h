// SPDX-License-Identifier: Apache-2.0
// Questions about Incident::limit_shares: who filled a pod's limit that is not one container's alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// How much of what the limit counted the victim's container held, 0 to 1; nullopt: not known.
[[nodiscard]] std::optional<double> victims_share(const Incident& incident);
// The limit is the sum of its containers' as far as they were read: a kubelet's, not one of the pod's own.
[[nodiscard]] bool is_sum_of_containers(const Incident& incident);
// "web 60.0 MiB, db 48.0 MiB", the largest first, at most `max`; what no living container explains is last.
[[nodiscard]] std::string shares_text(const Incident& incident, std::size_t max);
// What the pod is charged for and no living container holds, where that is a twentieth of the limit or more: files in
// memory that an ended container left. 0 = none worth a word.
[[nodiscard]] std::uint64_t unexplained_bytes(const Incident& incident);

[[nodiscard]] std::string bytes_or_unknown(const std::optional<std::uint64_t>& bytes);

}  // namespace oomw
