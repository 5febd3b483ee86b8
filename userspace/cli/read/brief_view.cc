// SPDX-License-Identifier: Apache-2.0
#include "cli/read/brief_view.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/read/text_width.h"
#include "report/report_story.h"
#include "report/report_verdict.h"
#include "store/incident_filter.h"
#include "verdict/next_steps.h"

namespace oomw::cli {
namespace {

constexpr std::size_t kMaxHeadLine = 320;  // 4 lines of 80: five such lines and the last ones leave room

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::string_view front = std::string_view(text).substr(0, most);
  while (!front.empty() && (static_cast<unsigned char>(front.back()) & 0xC0) == 0x80) front.remove_suffix(1);
  if (!front.empty()) front.remove_suffix(1);  // the first byte of what was cut, or one character
  while (front.ends_with('\\') || front.ends_with('*')) front.remove_suffix(1);
  return std::string(front) + "...";
}

std::string head(const Incident& incident, WallTime now) {
  std::string text = "**" + cut(fmt::format("OOM kill in {}", place_text(incident)), kMaxHeadLine / 2) + "**" +
                     fmt::format(", {} ({}Z)\n", age_text(incident.time, now), to_rfc3339(incident.time).substr(0, 19));
  const std::string answer = answer_lines(incident);
  for (const std::string_view line : split(answer, '\n')) {
    if (!line.empty()) text += cut(std::string(trim(line)), kMaxHeadLine) + "\n";
  }
  if (!incident.answer) text += "No answer is in this incident: an earlier version wrote it.\n";
  return text;
}

std::string cause_block(const Incident& incident) {
  constexpr std::size_t kReasons = 3, kMaxReason = 150;
  if (!incident.verdict) return "\nCause: not known; no single cause is supported by this evidence alone.\n";
  const IncidentVerdict& verdict = *incident.verdict;
  std::string text = fmt::format("\nLikely cause: {} ({:.0f} % sure), because\n", to_markdown(verdict.cause, 32),
                                 verdict.confidence * 100);
  for (std::size_t i = 0; i < std::min(verdict.why.size(), kReasons); ++i) {
    text += "- " + to_markdown(verdict.why[i], kMaxReason) + "\n";
  }
  return text;
}

std::string growth_line(const Incident& incident) {
  constexpr std::size_t kMaxCode = 120;
  if (!incident.growth || incident.growth->places.empty()) return "";
  const IncidentGrowth::Place& first = incident.growth->places.front();
  std::string where = first.code.empty() ? "no named function of the program" : to_markdown(first.code, kMaxCode);
  if (first.is_collector) where = "threads of a garbage collector";
  if (!first.operation.empty()) where += ", for " + to_markdown(first.operation, kMaxCode);
  return fmt::format("Grown by {}, by first touch {:.0f} % in {}.\n", human_bytes(incident.growth->grown_bytes),
                     first.share * 100, where);
}

std::string memory_block(const Incident& incident) {
  std::string text = incident.limit_bytes ? "\nLimit " + human_bytes(*incident.limit_bytes) : "\nLimit not known";
  if (!incident.scope.empty()) text += fmt::format(", the {}'s", to_markdown(incident.scope, 16));
  if (!incident.victims.empty()) {
    const IncidentVictim& victim = incident.victims.front();
    text += fmt::format("; killed: {} (pid {}", to_markdown(victim.comm, 32), victim.process.pid);
    if (victim.rss) text += ", " + human_bytes(victim.rss->anon_bytes) + " anonymous";
    text += ")";
    const std::size_t count = std::max(incident.victim_count, incident.victims.size());
    if (count > 1) text += fmt::format(" and {} more", count - 1);
  }
  return text + ".\n" + growth_line(incident);
}

std::string step_block(const NextStep& step) {
  constexpr std::size_t kCommands = 3, kMaxWhat = 200, kMaxCommand = 400;
  std::string text = "\n" + to_markdown(text_elsewhere(step, "its directory, below"), kMaxWhat) + "\n";
  for (std::size_t i = 0; i < std::min(step.commands.size(), kCommands); ++i) {
    text += "    " + printable(step.commands[i], kMaxCommand) + "\n";
  }
  return text;
}

// Lines of a terminal of that width, which wraps what for_terminal() leaves whole: commands and paths.
std::size_t rows_of(const std::string& text, std::size_t columns) {
  std::size_t rows = 0;
  for (const std::string_view line : split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    rows += std::max<std::size_t>(1, (width_of(line) + columns - 1) / columns);
  }
  return rows;
}

std::string tail(const StoredIncident& stored, const std::string& name, std::size_t most) {
  return fmt::format("\nAll of it: oomwitness show {} --full\nFiles: {}\n", printable(name, most),
                     printable(stored.directory, most));
}

}  // namespace

std::string brief_text(const StoredIncident& stored, const std::string& name, WallTime now, const TerminalView& view) {
  const std::size_t columns = std::max<std::size_t>(view.columns, 80);
  const TerminalView plain{view.columns, false};  // escape sequences take no room
  const std::string begin = head(stored.incident, now), end = tail(stored, name, 2 * columns);
  std::size_t rows = rows_of(for_terminal(begin, plain), columns) + rows_of(end, columns);
  std::string text = for_terminal(begin, view);
  std::vector<std::string> blocks = {cause_block(stored.incident), memory_block(stored.incident)};
  for (const NextStep& step : next_steps(stored.incident)) blocks.push_back(step_block(step));
  for (const std::string& block : blocks) {
    const std::size_t more = rows_of(for_terminal(block, plain), columns);
    if (rows + more > kBriefLines) continue;
    text += for_terminal(block, view);
    rows += more;
  }
  return text + end;
}

}  // namespace oomw::cli
