// SPDX-License-Identifier: Apache-2.0
#include "report/report_verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/estimate_text.h"
#include "base/text.h"
#include "verdict/next_steps.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxWhy = 512, kMaxAnswer = 1024, kMaxCulprit = 256, kMaxFunction = 120;

std::string suggested_limit_text(const SuggestedLimit& limit) {
  return fmt::format("Suggested limit: **{}{}**, {}.\n\n", limit.is_lower_bound ? "at least " : "",
                     human_bytes(limit.bytes), to_markdown(limit.why, kMaxWhy));
}

std::string also_text(const Finding& finding) {
  const std::string why = finding.why.empty() ? "" : ": " + to_markdown(finding.why.front(), kMaxWhy);
  return fmt::format("- also {} ({:.0f} %){}\n", to_markdown(finding.cause), finding.confidence * 100, why);
}

std::string slope_text(const TrendFigures& figures) {
  if (!figures.slope_bytes_per_second) return "";
  std::string text = human_signed_bytes(*figures.slope_bytes_per_second) + "/s";
  if (figures.slope_low_bytes_per_second && figures.slope_high_bytes_per_second) {
    text += fmt::format(" ({} to {})", human_signed_bytes(*figures.slope_low_bytes_per_second),
                        human_signed_bytes(*figures.slope_high_bytes_per_second));
  }
  return text;
}

std::string site_row(const std::string& name, const TrendFigures& figures) {
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, to_markdown(figures.judgement),
                     human_bytes(figures.first_live_bytes), human_bytes(figures.last_live_bytes),
                     human_bytes(figures.last_held_bytes), slope_text(figures));
}

std::string call_site_name(const TrendSite& site) {
  std::string name = site.component.empty() ? "" : fmt::format("**{}** ", to_markdown(site.component));
  constexpr std::size_t kFrames = 3;
  for (std::size_t i = 0; i < std::min(site.frames.size(), kFrames); ++i) {
    name += (i == 0 ? "" : " < ") + to_markdown(site.frames[i], 160);
  }
  return name;
}

std::string points_table(const Incident& incident) {
  std::string text = "| to the kill | why it was read | collection | live | held |\n|---|---|---|---|---|\n";
  for (const IncidentTrend::Point& point : incident.trend->points) {
    const double seconds = static_cast<double>(incident.time.ns - point.time.ns) / 1e9;
    text +=
        fmt::format("| {:.1f} s {} | {}{} | {} | {} | {} |\n", seconds < 0 ? -seconds : seconds,
                    seconds < 0 ? "after" : "before", to_markdown(point.origin), point.is_baseline ? ", baseline" : "",
                    point.gc_cycle ? std::to_string(*point.gc_cycle) : "unknown", human_bytes(point.live_bytes),
                    human_bytes(point.held_bytes));
  }
  return text;
}

// "main.report > main.put > bytes.Clone": the functions from the user's code to the allocation. The links by which a
// root keeps the memory, "store.Sessions", " -> map[string]*Session", have their own arrows.
std::string path_text(const AnswerCulprit& culprit) {
  constexpr std::size_t kLinks = 6;
  const bool is_chain = culprit.claim == to_string(Claim::kKeeps);
  std::string text;
  for (std::size_t i = 0; i < std::min(culprit.path.size(), kLinks); ++i) {
    text += (i == 0 || is_chain ? "" : " > ") + to_markdown(culprit.path[i], kMaxFunction);
  }
  return text + (culprit.path.size() <= kLinks ? "" : is_chain ? " -> ..." : " > ...");
}

// "main.put (main.go:44) allocates 92 % (118 MiB), for endpoint main.report; path: main.report > main.put"
std::string code_line(const AnswerCulprit& culprit) {
  std::string text = to_markdown(culprit.code, kMaxCulprit) + " " + to_markdown(culprit.claim, 16);
  if (culprit.share) text += fmt::format(" {:.0f} %", *culprit.share * 100);
  const std::string bytes = estimate_text(culprit.bytes.value_or(0), culprit.error_bytes);
  if (culprit.bytes) text += culprit.share ? " (" + bytes + ")" : " " + bytes;
  if (!culprit.share && !culprit.bytes) text += " it";
  if (!culprit.operation.empty()) {
    const std::string kind = culprit.operation_kind.empty() ? "" : to_markdown(culprit.operation_kind, 32) + " ";
    text += ", for " + kind + to_markdown(culprit.operation, kMaxCulprit);
  }
  if (culprit.path.size() > 1) text += "; path: " + path_text(culprit);
  return text;
}

}  // namespace

// Two spaces at a line's end break it in Markdown.
std::string answer_lines(const Incident& incident) {
  if (!incident.answer) return "";
  const IncidentAnswer& answer = *incident.answer;
  std::string text = fmt::format("**{}**", to_markdown(answer.sentence, kMaxAnswer));
  if (answer.culprit) text += "  \nCode: " + code_line(*answer.culprit);
  if (!answer.action.empty()) text += "  \nWhat to do: " + to_markdown(answer.action, kMaxAnswer);
  if (!answer.again.empty()) text += "  \n" + to_markdown(answer.again, kMaxAnswer);
  return text;
}

std::string answer_section(const Incident& incident) {
  const std::string lines = answer_lines(incident);
  return lines.empty() ? "" : lines + "\n\n";
}

std::string verdict_section(const Incident& incident) {
  if (!incident.verdict) return "**Cause: not known.** No single cause is supported by this evidence alone.\n\n";
  const IncidentVerdict& verdict = *incident.verdict;
  std::string text = fmt::format("**Likely cause: {}** (confidence {:.0f} %)\n\n", to_markdown(verdict.cause),
                                 verdict.confidence * 100);
  for (const std::string& line : verdict.why) text += fmt::format("- {}\n", to_markdown(line, kMaxWhy));
  for (const Finding& finding : verdict.also) text += also_text(finding);
  if (!verdict.why.empty() || !verdict.also.empty()) text += "\n";
  if (verdict.suggested_limit) text += suggested_limit_text(*verdict.suggested_limit);
  return text;
}

std::string next_steps_section(const Incident& incident) {
  std::string text = "## Next steps\n\n";
  for (const NextStep& step : next_steps(incident)) {
    text += to_markdown(step.what, 1024) + "\n\n";
    // Each command is one line, so none can end the indented block.
    for (const std::string& command : step.commands) text += fmt::format("    {}\n", printable(command, 2048));
    if (!step.commands.empty()) text += "\n";
  }
  return text;
}

std::string trend_section(const Incident& incident) {
  if (!incident.trend || incident.trend->points.empty()) return "";
  const IncidentTrend& trend = *incident.trend;
  if (trend.suspects == 0 && trend.whole.last_live_bytes <= trend.whole.first_live_bytes) return "";
  std::string rows;
  std::size_t grown = trend.sites.size();
  for (const TrendSite& site : trend.sites) {
    if (site.figures.judgement != "not_called") rows += site_row(call_site_name(site), site.figures), --grown;
  }
  std::string text = fmt::format(
      "## The Go heap over time\n\n{} readings of pid {}, {} of which count (a collection published between them), "
      "over {:.0f} s.",
      trend.points.size(), trend.pid, trend.whole.readings, trend.span_seconds);
  if (trend.suspects != 0) text += fmt::format(" Call sites that leak: {}.", trend.suspects);
  if (grown != 0) text += fmt::format(" Call sites that grew but are not shown to leak: {}.", grown);
  return text +
         "\n\n| call site | judged | live at first | live at last | held at last | growth of live (interval) |\n"
         "|---|---|---|---|---|---|\n" +
         rows + site_row("the whole heap", trend.whole) + "\n" + points_table(incident) + "\n";
}

}  // namespace oomw
