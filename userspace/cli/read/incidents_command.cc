// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/incident_rows.h"
#include "cli/read/read_commands.h"
#include "cli/read/terminal.h"
#include "report/markdown_view.h"
#include "store/incident_reader.h"
#include "store/retention_file.h"

namespace oomw::cli {
namespace {

int print_incidents_json(const IncidentReader& reader, const IncidentFilter& filter) {
  auto incidents = reader.list(filter);
  if (!incidents.has_value()) return report(incidents.error());
  std::ranges::reverse(*incidents);
  const bool is_terminal = stdout_view().columns > 0;
  for (const auto& [directory, incident] : *incidents) {
    nlohmann::json line = parse_json(to_json(incident));
    line["directory"] = base_name(directory);
    const std::string text = to_json_text(line);
    fmt::print("{}", is_terminal ? for_any_terminal(text) : text + "\n");
  }
  return kOk;
}

// "shop/cart/web" (incident_facts.h); a pod's name begins with that of its workload.
bool is_asked_for(const std::string& workload, const IncidentFilter& filter) {
  const auto has = [&](const std::string& word) { return workload.find(word) != std::string::npos; };
  const auto parts = split(workload, '/');
  const bool is_pod = has(filter.pod) || (parts.size() == 3 && filter.pod.starts_with(parts[1]));
  return has(filter.pod_namespace) && is_pod && has(filter.container);
}

// For whom retention made room, those who lost most first, of those who were asked for. Without its file nothing is
// reported.
std::string dropped_text(const std::string& data_dir, const IncidentFilter& filter) {
  constexpr std::size_t kMaxLines = 10;
  const Result<RetentionState> state = load_retention(data_dir);
  if (!state) return "";
  std::vector<std::pair<std::string, DroppedIncidents>> order(state->dropped.begin(), state->dropped.end());
  std::erase_if(order, [&](const auto& entry) { return !is_asked_for(entry.first, filter); });
  std::ranges::stable_sort(order, std::greater(), [](const auto& entry) { return entry.second.count; });
  std::uint64_t others = filter.has_words() ? 0 : state->dropped_others;
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [workload, dropped] = order[i];
    if (i >= kMaxLines) {
      others += dropped.count;
    } else {
      text += fmt::format("not kept: {} of {}, the last of {}\n", dropped.count, printable(workload, 128),
                          to_rfc3339(dropped.last).substr(0, 19) + "Z");
    }
  }
  return others == 0 ? text : text + fmt::format("not kept: {} of others\n", others);
}

// Why there is nothing to show, and what there is.
std::string nothing_text(const IncidentReader& reader) {
  const auto all = reader.summaries();
  if (!all || all->empty()) {
    return fmt::format("no incidents in {}\nIs the daemon running, and what does it see? oomwitness doctor\n",
                       printable(reader.root(), 512));
  }
  std::set<std::string> causes, namespaces;
  for (const IncidentSummary& summary : *all) {
    causes.insert(summary.cause.empty() ? "unknown" : printable(summary.cause, 32));
    if (namespaces.size() < 10 && !summary.pod_namespace.empty())
      namespaces.insert(printable(summary.pod_namespace, 64));
  }
  return fmt::format("none of {} incidents in {} matches; causes there: {}{}{}\n", all->size(),
                     printable(reader.root(), 512), fmt::join(causes, ", "),
                     namespaces.empty() ? "" : "; namespaces: ", fmt::join(namespaces, ", "));
}

Result<IncidentFilter> filter_of(const CommandLine& line, WallTime now) {
  IncidentFilter filter{.pod_namespace = line.pod_namespace,
                        .pod = line.pod,
                        .container = line.container,
                        .cause = line.cause,
                        .limit = line.limit};
  if (line.since.empty()) return filter;
  filter.since = parse_since(line.since, now);
  if (filter.since) return filter;
  return fail(ErrorCode::kInvalid, "--since: '" + printable(line.since, 64) +
                                       "' is neither an age (90s, 30m, 2h, 7d) nor a time (2026-11-21T03:04:05Z)");
}

}  // namespace

int incidents_command(const CommandLine& line, const std::string& data_dir) {
  const IncidentReader reader(data_dir);
  const WallTime now = SystemClock().wall_now();
  Result<IncidentFilter> filter = filter_of(line, now);
  if (!filter) return report(filter.error()), kUsage;
  if (line.json || line.output_format == "json") return print_incidents_json(reader, *filter);
  const std::size_t limit = std::exchange(filter->limit, 0);  // of rows: a group is one
  const auto summaries = reader.summaries(*filter);
  if (!summaries.has_value()) return report(summaries.error());
  if (summaries->empty()) {
    fmt::print("{}{}", nothing_text(reader), dropped_text(data_dir, *filter));
    return kOk;
  }
  const TerminalView view = stdout_view();
  const RowStyle style{.is_wide = line.output_format == "wide",
                       .is_grouped = !line.all,
                       .is_local = line.local_time,
                       .view = view,
                       .now = now,
                       .limit = limit};
  std::string text = incident_rows(*summaries, style);
  if (view.columns > 0) {
    text += fmt::format("\nWhy one was killed: oomwitness show ID{} (its end is enough, or \"latest\")\n",
                        place_options(line));
  }
  print_paged(text + dropped_text(data_dir, *filter));
  return kOk;
}

}  // namespace oomw::cli
