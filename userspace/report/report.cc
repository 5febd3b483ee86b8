// SPDX-License-Identifier: Apache-2.0
// report.md: the incident for a human. Every text that a workload controls goes through
// to_markdown(); blocks are indented, not fenced, because no line of their text can end an
// indented block.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/incident.h"
#include "incident/incident_notes.h"
#include "incident/reconciliation.h"
#include "incident/share_queries.h"
#include "report/collector_report.h"
#include "report/file_link.h"
#include "report/report_memory.h"
#include "report/report_story.h"
#include "report/report_verdict.h"
#include "report/timeline_svg.h"

namespace oomw {

namespace {

std::string percent_of(std::optional<std::uint64_t> part, std::optional<std::uint64_t> whole, int decimals = 1) {
  if (!part || whole.value_or(0) == 0) return "";
  return fmt::format("{:.{}f} %", static_cast<double>(*part) / static_cast<double>(*whole) * 100, decimals);
}

// Each container's share of the pod's limit; "" without shares.
std::string shares_section(const Incident& incident) {
  if (incident.limit_shares.empty()) return "";
  std::string text =
      "## Who filled the pod's limit\n\n| container | used | of the pod's limit | its own limit "
      "|\n|---|---:|---:|---:|\n";
  for (const LimitShare& share : incident.limit_shares) {
    text += fmt::format("| {} | {} | {} | {} |\n", to_markdown(share.container), bytes_or_unknown(share.usage_bytes),
                        percent_of(share.usage_bytes, incident.limit_bytes, 0),
                        share.limit_bytes ? human_bytes(*share.limit_bytes) : "none known");
  }
  const std::uint64_t rest = unexplained_bytes(incident);
  if (rest != 0) {
    text += fmt::format("| not explained by these readings | {} | {} | |\n", human_bytes(rest),
                        percent_of(rest, incident.limit_bytes, 0));
  }
  return text + "\n";
}

struct TimelineRow {
  WallTime time;
  std::string what;
  std::optional<std::uint64_t> usage_bytes;
};

std::string lead_text(double seconds) {
  return fmt::format("{:.3f} s {}", std::abs(seconds), seconds < 0 ? "after" : "before");
}

std::string indented(const std::string& text) {
  std::string result;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) result += fmt::format("    {}\n", line);
  }
  return result;
}

std::string describe_capture(const IncidentCapture& capture) {
  std::string text = fmt::format("capture by {} ({})", to_markdown(capture.method), to_markdown(capture.trigger));
  if (capture.result == "ok") return text + fmt::format(": {} in use", bytes_or_unknown(capture.inuse_bytes));
  return text + fmt::format(" {}: {}", to_markdown(capture.result), to_markdown(capture.reason));
}

std::vector<TimelineRow> timeline_of(const Incident& incident) {
  std::vector<TimelineRow> rows;
  for (const IncidentWatermark& mark : incident.watermarks) {
    const bool is_level = mark.reason == to_string(WatermarkReason::kLevel);
    rows.push_back({mark.time,
                    is_level ? fmt::format("usage crossed {} % of the limit", mark.level_percent)
                             : fmt::format("growth would reach the limit soon (above {} %)", mark.level_percent),
                    mark.usage_bytes});
  }
  for (const IncidentCapture& capture : incident.captures) {
    rows.push_back({capture.time, describe_capture(capture), capture.usage_bytes});
  }
  for (const IncidentVictim& victim : incident.victims) {
    if (victim.started) {
      rows.push_back({*victim.started, fmt::format("{} (pid {}) started", to_markdown(victim.comm), victim.process.pid),
                      std::nullopt});
    }
  }
  rows.push_back({incident.time, "**OOM kill**", incident.usage_bytes});
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  return rows;
}

std::string timeline_section(const Incident& incident) {
  std::string text = "## Timeline\n\n";
  if (has_timeline(incident)) text += fmt::format("![Memory up to the kill]({})\n\n", kTimelineFile);
  text += "| time (UTC) | to the kill | what | usage | of the limit |\n|---|---|---|---|---|\n";
  for (const TimelineRow& row : timeline_of(incident)) {
    const double lead = static_cast<double>(incident.time.ns - row.time.ns) / 1e9;
    text += fmt::format("| {} | {} | {} | {} | {} |\n", to_rfc3339_seconds(row.time),
                        row.time == incident.time ? "" : lead_text(lead), row.what,
                        row.usage_bytes ? human_bytes(*row.usage_bytes) : "",
                        percent_of(row.usage_bytes, incident.limit_bytes));
  }
  return text + "\n";
}

std::string victims_section(const Incident& incident) {
  if (incident.victims.empty()) return "## Victims\n\nNot known; see the notes below.\n\n";
  std::string text =
      "## Victims\n\n| pid | command | anon | file | shmem | oom_score_adj |\n|---|---|---|---|---|---|\n";
  for (const IncidentVictim& victim : incident.victims) {
    const std::string& command = victim.cmdline.empty() ? victim.comm : victim.cmdline;
    const auto of = [&](std::uint64_t RssSplit::*part) {
      return victim.rss ? human_bytes((*victim.rss).*part) : std::string("unknown");
    };
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", victim.process.pid, to_markdown(command, 120),
                        of(&RssSplit::anon_bytes), of(&RssSplit::file_bytes), of(&RssSplit::shmem_bytes),
                        victim.oom_score_adj ? std::to_string(*victim.oom_score_adj) : "unknown");
  }
  return text + "\n";
}

std::string pressure_section(const Incident& incident) {
  if (!incident.reclaim) return "";
  const ReclaimSampled& reclaim = *incident.reclaim;
  return fmt::format(
      "## Pressure\n\nThe kernel reclaimed here {} times, {} of them without freeing a page; tasks waited {:.3f} s for "
      "it in all.\n\n",
      reclaim.calls, reclaim.zero_yield_calls, static_cast<double>(reclaim.stall_ns) / 1e9);
}

std::string capture_row(const IncidentCapture& capture) {
  const std::string_view meaning = explain_capture_reason(capture.reason);
  std::string result = to_markdown(capture.result);
  if (!capture.reason.empty()) result += ": " + to_markdown(meaning.empty() ? capture.reason : meaning);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", capture.file.empty() ? "none" : file_link(capture.file),
                     to_markdown(capture.method), to_markdown(capture.trigger), result, lead_text(capture.lead_seconds),
                     percent_of(capture.usage_bytes, capture.limit_bytes),
                     capture.inuse_bytes ? human_bytes(*capture.inuse_bytes) : "");
}

std::string captures_section(const Incident& incident) {
  std::string text = "## Captures\n\n";
  if (incident.captures.empty()) return text + "None; see the gaps below.\n\n";
  text +=
      "| file | method | trigger | result | to the kill | at usage of limit | in use "
      "|\n|---|---|---|---|---|---|---|\n";
  bool has_http = false;
  for (const IncidentCapture& capture : incident.captures) {
    text += capture_row(capture);
    has_http = has_http || (shows_last_collection(capture) && is_of_go(capture));
  }
  if (has_http) {
    text +=
        "\nA heap profile fetched over HTTP shows what was live up to two garbage collections before it was taken. "
        "Go lets its heap about double in between, so the sites are right, but the newest allocations are missing "
        "and the sums are lower than what the process held: typically 0.3 to 0.4 of the limit near a kill.\n";
  }
  if (incident.coverage_ratio) {
    text += fmt::format("\nThe best profile ({}) explains {:.0f} % of the victims' anonymous memory.\n",
                        to_markdown(incident.coverage_method), *incident.coverage_ratio * 100);
  }
  return text + "\n";
}

// Growth by function, and by a Collector's components or else by package; stacks stay in the file.
std::string growth_section(const std::string& growth) {
  if (growth.empty()) return "";
  const bool has_components = growth.find("\nBy Collector component\n") != std::string::npos;
  const char* rest = has_components ? "\nBy package\n" : "\nBy stack, leaf first\n";
  return fmt::format("## What grew\n\n{}\nMore in {}.\n\n", indented(growth.substr(0, growth.find(rest))),
                     file_link("growth-diff.txt"));
}

std::string tops_section(const std::map<std::string, std::string>& tops) {
  std::string text;
  for (const auto& [file, top] : tops) {
    text += fmt::format("## Top functions in {}\n\n{}\n", to_markdown(file), indented(top));
  }
  return text;
}

std::string gaps_section(const Incident& incident) {
  std::vector<std::string> lines = incident.notes;
  for (std::string& note : missing_notes(incident)) lines.push_back(std::move(note));
  for (const auto& [stage, total] : incident.lost) {
    if (total != 0) lines.push_back(fmt::format("lost.{}: {} events since the daemon started", stage, total));
  }
  if (lines.empty()) return "";
  std::string text = "## Gaps and notes\n\n";
  for (const std::string& line : lines) text += fmt::format("- {}\n", to_markdown(line, 512));
  return text + "\n";
}

// What lies beside the report and no other section links to.
std::string files_section(const Incident& incident) {
  std::string text = "Beside this report: " + file_link("incident.json");
  const auto add = [&](const std::string& name) {
    if (!name.empty()) text += ", " + file_link(name);
  };
  for (const IncidentAnalysis& analysis : incident.analyses) {
    for (const IncidentAnalysis::File& file : analysis.files) add(file.name);
  }
  for (const auto* trend : {&incident.trend, &incident.contents_trend}) {
    if (!*trend) continue;
    if (!(*trend)->spool_file.empty()) add(kTrendFile);
    for (const IncidentTrend::Point& point : (*trend)->points) add(point.file);
  }
  return text + "\n\n";
}

}  // namespace

std::string to_markdown(const Incident& incident, const ProfileTexts& profiles) {
  return fmt::format("# OOM kill in {}\n\n", place_text(incident)) + answer_section(incident) +
         verdict_section(incident) + next_steps_section(incident) +
         fmt::format("## What happened\n\n{}\n\n", story_text(incident)) + shares_section(incident) +
         timeline_section(incident) + memory_sections(incident) + growth_section(profiles.growth) +
         trend_section(incident) +
         (incident.collector ? collector_section(*incident.collector, incident.limit_bytes) : "") +
         reconciliation_section(reconcile(incident)) + victims_section(incident) + pressure_section(incident) +
         captures_section(incident) + tops_section(profiles.tops) + gaps_section(incident) + files_section(incident);
}

}  // namespace oomw
