// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/read/event_line.h"
#include "cli/read/foreign_file.h"
#include "cli/read/markdown_view.h"
#include "cli/read/read_commands.h"
#include "events/json_text.h"
#include "store/incident_reader.h"
#include "store/retention_file.h"

namespace oomw::cli {
namespace {

std::string coverage_of(const Incident& incident) {
  if (!incident.coverage_ratio) return "-";
  return fmt::format("{:.0f} % ({})", *incident.coverage_ratio * 100, printable(incident.coverage_method, 16));
}

std::string repeats_of(const Incident& incident) {
  return incident.repeats ? fmt::format("  +{} repeats", incident.repeats->count) : "";
}

std::size_t good_captures(const Incident& incident) {
  std::size_t good = 0;
  for (const IncidentCapture& capture : incident.captures) good += capture.result == "ok" ? 1 : 0;
  return good;
}

// Names of pods differ in length by far: the widest one sets the column, so that none runs into the next.
void print_table(const std::vector<StoredIncident>& incidents) {
  constexpr std::size_t kLeastWidth = 9;
  std::vector<std::string> names;
  std::size_t width = kLeastWidth;
  for (const auto& [directory, incident] : incidents) {
    width = std::max(width, names.emplace_back(place_name(incident.container, incident.cgroup_path)).size());
  }
  fmt::print("{:<26}{:<22}{:<{}}  {:<17}{:<21}{:>9}{:>10}  {}\n", "ID", "TIME", "CONTAINER", width, "VICTIM", "CAUSE",
             "LIMIT", "PROFILES", "COVERAGE");
  for (std::size_t i = 0; i < incidents.size(); ++i) {
    const Incident& incident = incidents[i].incident;
    const std::string victim = incident.victims.empty() ? "-" : printable(incident.victims.front().comm, 16);
    fmt::print("{:<26}{:<22}{:<{}}  {:<17}{:<21}{:>9}{:>10}  {}{}\n", incident.id,
               to_rfc3339(incident.time).substr(0, 19) + "Z", names[i], width, victim,
               incident.verdict ? printable(incident.verdict->cause, 20) : "-",
               incident.limit_bytes ? human_bytes(*incident.limit_bytes) : "-", good_captures(incident),
               coverage_of(incident), repeats_of(incident));
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

// For whom retention made room, those who lost most first. Without its file there is nothing to tell.
void print_dropped(const std::string& data_dir) {
  constexpr std::size_t kMaxLines = 10;
  const Result<RetentionState> state = load_retention(data_dir);
  if (!state) return;
  std::vector<std::pair<std::string, DroppedIncidents>> order(state->dropped.begin(), state->dropped.end());
  std::ranges::stable_sort(order, std::greater(), [](const auto& entry) { return entry.second.count; });
  std::uint64_t others = state->dropped_others;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [workload, dropped] = order[i];
    if (i >= kMaxLines) {
      others += dropped.count;
    } else {
      fmt::print("not kept: {} of {}, the last of {}\n", dropped.count, printable(workload, 128),
                 to_rfc3339(dropped.last).substr(0, 19) + "Z");
    }
  }
  if (others != 0) fmt::print("not kept: {} of others\n", others);
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
  if (!line.json) print_dropped(data_dir);
  return kOk;
}

}  // namespace oomw::cli
