// SPDX-License-Identifier: Apache-2.0
// The names below <data-dir>/incidents: how to distinguish ours from what others put there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace oomw {

inline constexpr const char* kIncidentFile = "incident.json";

// "20261121T030405Z-...-1a2b3c4d"
[[nodiscard]] bool is_incident_directory(std::string_view name);
// "20261121T030405Z-1a2b3c4d" of such a name; "" of one that is too short to be such.
[[nodiscard]] std::string id_of_directory(std::string_view name);
[[nodiscard]] std::optional<WallTime> time_of_directory(std::string_view name);

// ".tmp-<id>-<pid>": a directory that is being written, or that its writer left unfinished when it died.
[[nodiscard]] std::string temporary_name(const std::string& id, int pid);
[[nodiscard]] std::optional<int> pid_of_temporary(std::string_view name);

}  // namespace oomw
