// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "incident/incident.h"

namespace oomw {

// A note is "<field>: <why>". An unknown field is null with a reason, never 0; these are the notes that an
// incident still lacks. A field that has a note already, or whose parent has one ("container" for
// "container.image"), gets no other.
[[nodiscard]] std::vector<std::string> missing_notes(const Incident& incident);
[[nodiscard]] bool has_note(const Incident& incident, std::string_view field);

}  // namespace oomw
