// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"
#include "incident/incident.h"
#include "incident/incident_fields.h"

namespace oomw {

std::string to_json(const Incident& incident) {
  return to_json_text(JsonWriter<incident_json::Format>::json_of(incident), 2) + "\n";
}

Result<Incident> incident_from_json(std::string_view text) {
  return from_json_text<incident_json::Format, Incident>(text);
}

}  // namespace oomw
