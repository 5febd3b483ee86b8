// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "events/event.h"
#include "incident/incident.h"

namespace oomw::cli {

// One line for a human, or nullopt for an event that needs none. `place` is printable and names whose event it is, ""
// = nobody's in particular; `wall` is the event's time.
[[nodiscard]] std::optional<std::string> event_line(const Event& event, const std::string& place, WallTime wall);
// Whose budget a line is taken from (cli/read/line_budget.h); nullopt: a line that no container causes.
[[nodiscard]] std::optional<CgroupId> cgroup_of_line(const Event& event);
[[nodiscard]] std::string left_out_line(const std::string& place, std::uint64_t lines, WallTime wall);
// What `run` watches, where incidents go, and how to read them. options: place_options() of the command.
[[nodiscard]] std::string watching_line(const std::string& data_dir, const std::string& options,
                                        const std::string& metrics_listen, WallTime wall);
// is_amended: it was announced before, with another answer.
[[nodiscard]] std::string incident_line(const Incident& incident, const std::string& directory,
                                        bool is_amended = false);

}  // namespace oomw::cli
