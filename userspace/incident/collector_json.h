// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "incident/collector.h"
#include "incident/json_reader.h"

namespace oomw {

// The member "collector" of incident.json.
[[nodiscard]] nlohmann::ordered_json collector_json(const IncidentCollector& collector);
void read_collector(JsonReader json, IncidentCollector& collector);
// A line for each null in it.
[[nodiscard]] std::vector<std::string> collector_notes(const IncidentCollector& collector);

}  // namespace oomw
