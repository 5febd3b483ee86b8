// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/read/event_line.h"
#include "cli/read/foreign_file.h"
#include "cli/read/markdown_view.h"
#include "cli/read/read_commands.h"
#include "events/json_text.h"
#include "store/incident_reader.h"

namespace oomw::cli {
namespace {

std::string coverage_of(const Incident& incident) {
  if (!incident.coverage_ratio) return "-";
  return fmt::format("{:.0f} % ({})", *incident.coverage_ratio * 100, printable(incident.coverage_method, 16));
}

std::size_t good_captures(const Incident& incident) {
  std::size_t good = 0;
  for (const IncidentCapture& capture : incident.captures) good += capture.result == "ok" ? 1 : 0;
  return good;
}

void print_table(const std::vector<StoredIncident>& incidents) {
  fmt::print("{:<26}{:<22}{:<40}{:<18}{:>10}{:>10}  {}\n", "ID", "TIME", "CONTAINER", "VICTIM", "LIMIT", "PROFILES",
             "COVERAGE");
  for (const auto& [directory, incident] : incidents) {
    const std::string victim = incident.victims.empty() ? "-" : printable(incident.victims.front().comm, 16);
    fmt::print("{:<26}{:<22}{:<40}{:<18}{:>10}{:>10}  {}\n", incident.id, to_rfc3339(incident.time).substr(0, 19) + "Z",
               name_of(incident.container, incident.cgroup_path), victim,
               incident.limit_bytes ? human_bytes(*incident.limit_bytes) : "-", good_captures(incident),
               coverage_of(incident));
  }
}

void print_json(const std::vector<StoredIncident>& incidents) {
  const bool is_terminal = stdout_view().columns > 0;
  for (const auto& [directory, incident] : incidents) {
    nlohmann::json line = nlohmann::json::parse(to_json(incident), nullptr, false);
    line["directory"] = directory.substr(directory.rfind('/') + 1);
    const std::string text = to_json_text(line);
    fmt::print("{}", is_terminal ? for_any_terminal(text) : text + "\n");
  }
}

}  // namespace

int incidents_command(const CommandLine& line, const std::string& data_dir) {
  const IncidentReader reader(data_dir);
  const Result<std::vector<StoredIncident>> incidents = reader.list();
  if (!incidents.has_value()) return report(incidents.error());
  if (line.json) {
    print_json(*incidents);
  } else if (incidents->empty()) {
    fmt::print("no incidents in {}\n", reader.root());
  } else {
    print_table(*incidents);
  }
  return kOk;
}

}  // namespace oomw::cli
