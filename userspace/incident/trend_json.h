// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "incident/incident_trend.h"
#include "incident/json_reader.h"

namespace oomw {

// The member "trend" of incident.json.
[[nodiscard]] nlohmann::ordered_json trend_json(const IncidentTrend& trend);
void read_trend(JsonReader json, IncidentTrend& trend);

}  // namespace oomw
