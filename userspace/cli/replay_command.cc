// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cli/commands.h"
#include "cli/read/event_line.h"
#include "daemon/replay.h"
#include "store/incident_store.h"

namespace oomw::cli {
namespace {

Result<> place_nothing(const EvidenceFile&, const std::string&) {
  return fail(ErrorCode::kNotFound, "recordings hold no profiles");
}

std::string one_line(const Incident& incident) { return to_json_text(parse_json(to_json(incident))); }

}  // namespace

int replay_command(const CommandLine& line, const Config& config) {
  const Result<std::vector<Incident>> incidents = replay(line.input_path, config.triggers, config.correlator);
  if (!incidents.has_value()) return report(incidents.error());
  for (const Incident& incident : *incidents) {
    std::string where = "not stored (no --data-dir)";
    if (line.data_dir) {
      IncidentStore store(*line.data_dir, place_nothing);
      const Result<WrittenIncident> written = store.write(incident);
      if (!written.has_value()) return report(written.error());
      where = written->directory;
    }
    fmt::print("{}\n", line.json ? one_line(incident) : incident_line(incident, where));
  }
  return kOk;
}

}  // namespace oomw::cli
