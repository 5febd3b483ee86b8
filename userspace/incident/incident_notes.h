// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "incident/incident.h"

namespace oomw {

// A note is "<field>: <why>". Unknown is null with a reason, never 0: these are the notes that an
// incident still lacks for the fields it does not know. A field (or a part of it, "container" for
// "container.image") that has a note already keeps its own.
[[nodiscard]] std::vector<std::string> missing_notes(const Incident& incident);
[[nodiscard]] bool has_note(const Incident& incident, std::string_view field);

}  // namespace oomw
