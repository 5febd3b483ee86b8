// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "events/event.h"
#include "incident/incident.h"

namespace oomw::cli {

// One line for a human, or nullopt for an event that needs none. `wall` is the event's time.
[[nodiscard]] std::optional<std::string> event_line(const Event& event, WallTime wall);
[[nodiscard]] std::string incident_line(const Incident& incident, const std::string& directory);
// "payments/otelcol-7f/collector", the unit, or the cgroup path: printable.
[[nodiscard]] std::string name_of(const ContainerIdentity& identity, const std::string& cgroup_path);

}  // namespace oomw::cli
