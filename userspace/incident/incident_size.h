// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "incident/incident.h"

namespace oomw {

// The daemon writes at most kMaxWrittenIncidentBytes. Readers accept up to kMaxReadIncidentBytes, because older
// versions did not bound what they wrote: 256 victims with hostile command lines came to 6.5 MB, and a
// reader's limit of 4 MiB hid that incident.
inline constexpr std::uint64_t kMaxWrittenIncidentBytes = 4u << 20;
inline constexpr std::size_t kMaxReadIncidentBytes = 16u << 20;

// The length of to_json() to a few percent, without building the text. Every string counts at its escaped size,
// whatever its origin. In memory an incident takes 0.4 to 1.6 times that.
[[nodiscard]] std::uint64_t serialised_bytes(const Incident& incident);

// If the text would exceed max_bytes, shortens the strings of all victims but the first and adds a note.
void bound_serialised(Incident& incident, std::uint64_t max_bytes = kMaxWrittenIncidentBytes);

}  // namespace oomw
