// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "incident/incident.h"

namespace oomw {

// What is written is no larger than kMaxWrittenBytes, and readers take up to kMaxReadBytes: so much may
// lie there from versions that did not bound what they wrote (256 victims with hostile command lines
// came to 6.5 MB, and were hidden by a limit of 4 MiB).
inline constexpr std::uint64_t kMaxWrittenIncidentBytes = 4u << 20;
inline constexpr std::size_t kMaxReadIncidentBytes = 16u << 20;

// The length of to_json() to a few percent, without making it. Every text counts as it is escaped, whoever chose it. In
// memory an incident takes 0.4 to 1.6 times that.
[[nodiscard]] std::uint64_t serialised_bytes(const Incident& incident);

// Shortens the texts of the victims behind the first, with a note, if it would be larger than max_bytes.
void bound_serialised(Incident& incident, std::uint64_t max_bytes = kMaxWrittenIncidentBytes);

}  // namespace oomw
