// SPDX-License-Identifier: Apache-2.0
#include "report/brief_view.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "report/report_story.h"
#include "report/report_verdict.h"
#include "report/text_width.h"
#include "verdict/next_steps.h"

namespace oomw {
namespace {

// Lines of a terminal of that width, which wraps what for_terminal() leaves whole: commands and paths.
std::size_t rows_of(const std::string& text, std::size_t columns) {
  std::size_t rows = 0;
  if (text.empty()) return rows;
  for (const std::string_view line : split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    rows += std::max<std::size_t>(1, (width_of(line) + columns - 1) / columns);
  }
  return rows;
}

constexpr std::size_t kMaxTitleRows = 2, kMaxLineRows = 4, kLeastRest = 6;
constexpr std::size_t kMaxSentence = 560;

// The sentence of the answer is as long as it needs to be, but leaves room for what to do and for kLeastRest rows
// below.
std::string head(const Incident& incident, WallTime now, std::size_t columns, std::size_t lines) {
  std::string text = "**" + shortened("OOM kill in " + place_text(incident), kMaxTitleRows * columns) + "**" +
                     fmt::format(", {} ({}Z)\n", age_text(incident.time, now), to_rfc3339(incident.time).substr(0, 19));
  const std::string answer = answer_lines(incident);
  const std::size_t end = std::min(answer.find('\n'), answer.size());
  std::string others;
  for (const std::string_view line : split(std::string_view(answer).substr(end), '\n')) {
    if (!line.empty()) others += shortened(trim(line), kMaxLineRows * columns) + "\n";
  }
  const std::size_t taken = kMaxTitleRows + kLeastRest + rows_of(for_terminal(others, {columns, false}), columns);
  const std::size_t rows = std::max(kMaxLineRows, lines - std::min(lines, taken));
  if (!answer.empty()) text += shortened(trim(answer.substr(0, end)), std::min(kMaxSentence, rows * columns)) + "\n";
  text += others;
  if (!incident.answer) text += "No answer is in this incident: an earlier version wrote it.\n";
  return text;
}

// Escaped it may be longer, but not by more than this.
std::string sentence(std::string_view text, std::size_t max) { return to_markdown(shortened(text, max), 2 * max); }

std::string cause_block(const Incident& incident) {
  constexpr std::size_t kReasons = 3, kMaxReason = 150;
  if (!incident.verdict) return "\nCause: not known; no single cause is supported by this evidence alone.\n";
  const IncidentVerdict& verdict = *incident.verdict;
  std::string text = fmt::format("\nLikely cause: {} ({:.0f} % sure), because\n", to_markdown(verdict.cause, 32),
                                 verdict.confidence * 100);
  for (std::size_t i = 0; i < std::min(verdict.why.size(), kReasons); ++i) {
    text += "- " + sentence(verdict.why[i], kMaxReason) + "\n";
  }
  return text;
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
  return text + ".\n";
}

std::string step_block(const NextStep& step) {
  constexpr std::size_t kCommands = 3, kMaxWhat = 200, kMaxCommand = 400;
  std::string text = "\n" + sentence(text_elsewhere(step, "its directory, below"), kMaxWhat) + "\n";
  for (std::size_t i = 0; i < std::min(step.commands.size(), kCommands); ++i) {
    text += "    " + printable(step.commands[i], kMaxCommand) + "\n";
  }
  return text;
}

}  // namespace

std::string where_the_rest_is(const std::string& command, const std::string& place, const TerminalView& view) {
  const std::size_t most = 2 * std::max(view.columns, TerminalView::kLeastColumns);
  return fmt::format("\nAll of it: {}\nFiles: {}\n", printable(command, most), printable(place, most));
}

std::string brief_text(const Incident& incident, const std::string& tail, WallTime now, const TerminalView& view,
                       std::size_t lines) {
  const std::size_t columns = std::max(view.columns, TerminalView::kLeastColumns);
  const TerminalView plain{view.columns, false};  // escape sequences take no room
  const std::string begin = head(incident, now, columns, lines - std::min(lines, rows_of(tail, columns)));
  std::size_t rows = rows_of(for_terminal(begin, plain), columns) + rows_of(tail, columns);
  std::string text = for_terminal(begin, view);
  std::vector<std::string> blocks = {cause_block(incident), memory_block(incident)};
  for (const NextStep& step : next_steps(incident)) blocks.push_back(step_block(step));
  for (const std::string& block : blocks) {
    const std::size_t more = rows_of(for_terminal(block, plain), columns);
    if (rows + more > lines) break;  // never a later step without an earlier one
    text += for_terminal(block, view);
    rows += more;
  }
  return text + tail;
}

}  // namespace oomw
