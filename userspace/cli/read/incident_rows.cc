// SPDX-License-Identifier: Apache-2.0
#include "cli/read/incident_rows.h"

#include <ctime>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/read/columns.h"

namespace oomw::cli {
namespace {

constexpr std::size_t kMaxCell = 160, kShortId = 8;

std::string cell(const std::string& text) { return text.empty() ? "-" : printable(text, kMaxCell); }

// The end of an id is random, so it names the incident: "1a2b3c4d".
std::string id_cell(const std::string& id, bool is_short) {
  return printable(is_short && id.size() > kShortId ? id.substr(id.size() - kShortId) : id, 64);
}

std::string coverage_cell(const IncidentSummary& summary) {
  if (!summary.coverage_ratio) return "-";
  return fmt::format("{:.0f} % ({})", *summary.coverage_ratio * 100, printable(summary.coverage_method, 16));
}

// The part that tells one code from another, for a narrow screen: "store.(*Session).Keep (store.go:44)" without the
// module's path, and "`sessions` in module `app`" without what it holds.
std::string short_code(const std::string& code) {
  constexpr std::string_view kHeld = " held as ";
  if (const std::size_t held = code.find(kHeld); held != std::string::npos) return code.substr(held + kHeld.size());
  const std::size_t name_end = code.find_first_of(" ([");  // a file, a receiver or type arguments may have slashes too
  const std::size_t slash = code.rfind('/', name_end);
  const bool is_path = slash != std::string::npos && (name_end == std::string::npos || slash < name_end) && slash > 0;
  return is_path ? code.substr(slash + 1) : code;
}

// "x37, 4 min ago".
std::string age_cell(const IncidentGroup& group, WallTime now) {
  const std::string age = age_text(group.last, now);
  return group.kills > 1 ? fmt::format("x{}, {}", group.kills, age) : age;
}

// A terminal with less room than every column needs shows no limit.
bool has_limit(const RowStyle& style) { return style.is_wide || style.view.columns == 0 || style.view.columns >= 72; }

std::vector<std::string> row_of(const IncidentGroup& group, const RowStyle& style) {
  const IncidentSummary& newest = group.newest;
  const bool is_short = style.view.columns > 0 && !style.is_wide;
  std::vector<std::string> row = {
      id_cell(newest.id, is_short), age_cell(group, style.now),
      cell(newest.cause),           newest.limit_bytes ? human_bytes(*newest.limit_bytes) : "-",
      cell(newest.place),           cell(is_short ? short_code(newest.code) : newest.code)};
  if (!has_limit(style)) row.erase(row.begin() + 3);
  if (!style.is_wide) return row;
  for (std::string more : {cell(newest.operation), cell(newest.victim), std::to_string(newest.profiles),
                           coverage_cell(newest), time_text(newest.time, style.is_local)}) {
    row.push_back(std::move(more));
  }
  return row;
}

std::vector<Column> columns_of(const RowStyle& style) {
  std::vector<Column> columns = {{.title = "ID"},
                                 {.title = "KILLED"},
                                 {.title = "CAUSE", .least = 8},
                                 {.title = "LIMIT", .is_right = true},
                                 {.title = "WHERE", .least = 10, .keeps_end = true},
                                 {.title = "CODE", .least = 10}};
  if (!has_limit(style)) columns.erase(columns.begin() + 3);
  if (!style.is_wide) return columns;
  for (const char* title : {"OPERATION", "VICTIM"}) columns.push_back({.title = title});
  columns.push_back({.title = "PROFILES", .is_right = true});
  for (const char* title : {"COVERAGE", "TIME"}) columns.push_back({.title = title});
  return columns;
}

}  // namespace

std::string time_text(WallTime time, bool is_local) {
  if (!is_local) return to_rfc3339(time).substr(0, 19) + "Z";
  const std::time_t seconds = time.ns / 1'000'000'000;
  std::tm parts{};
  char text[64];
  if (::localtime_r(&seconds, &parts) == nullptr) return to_rfc3339(time).substr(0, 19) + "Z";
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &parts)};
}

std::string incident_rows(const std::vector<IncidentSummary>& summaries, const RowStyle& style) {
  std::vector<std::vector<std::string>> rows;
  for (const IncidentGroup& group : rows_of(summaries, style.is_grouped)) {
    if (style.limit != 0 && rows.size() == style.limit) break;
    rows.push_back(row_of(group, style));
  }
  const std::string text = columns_text(columns_of(style), rows, style.is_wide ? 0 : style.view.columns);
  if (!style.view.has_color) return text;
  const std::size_t end = text.find('\n');
  return "\x1b[1m" + text.substr(0, end) + "\x1b[0m" + text.substr(end);
}

}  // namespace oomw::cli
