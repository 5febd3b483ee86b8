// SPDX-License-Identifier: Apache-2.0
#include "report/report_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/estimate_text.h"
#include "base/text.h"
#include "incident/growth_pattern.h"
#include "report/file_link.h"
#include "verdict/owner_answer.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxRows = 8;
constexpr std::size_t kMaxName = 200;
constexpr const char* kSampleText =
    "\nWhat is \"about\" is an estimate from a sample of the memory; +- is two standard deviations.\n";

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string chain_text(const std::vector<std::string>& chain) {
  std::string text;
  for (const std::string& link : chain) text += to_markdown(link, kMaxName);
  return text;
}

std::string ratio_text(std::optional<double> ratio) { return ratio ? fmt::format("x {:.2f}", *ratio) : ""; }

std::string holders_section(const Incident& incident) {
  if (incident.holders.empty()) return "";
  const IncidentHolder& first = incident.holders.front();
  std::string text = "## Who keeps the memory\n\n";
  text += fmt::format("{} Of {} sampled objects, {} of the bytes lead to a root.\n\n",
                      first.is_owner ? "The first row is the owner." : "No owner could be proved.", first.total_samples,
                      percent(first.rooted_ratio));
  text += "| share | bytes | since the reading before | component | from the root down |\n|---:|---:|---:|---|---|\n";
  for (const IncidentHolder& holder : incident.holders) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", percent(holder.share), human_bytes(holder.bytes),
                        ratio_text(holder.growth_ratio), to_markdown(holder.component), chain_text(holder.chain));
  }
  return text + "\n";
}

std::string fillers_section(const Incident& incident) {
  std::string rows;
  std::size_t count = 0;
  bool has_estimates = false;
  for (const IncidentFiller& filler : incident.fillers) {
    if (filler.evidence != "analysis" || ++count > kMaxRows) continue;
    rows += fmt::format("| {}{} | {} | {} | {} | {} | {} |\n", filler.error_bytes ? "about " : "",
                        filler.bytes == 0 ? "" : percent(filler.share),
                        filler.bytes == 0 ? "" : estimate_text(filler.bytes, filler.error_bytes),
                        ratio_text(filler.growth_ratio),
                        filler.count == 0 ? "" : estimated_count_text(filler.count, filler.error_bytes),
                        to_markdown(filler.name, kMaxName), to_markdown(filler.held_as, kMaxName));
    has_estimates |= filler.error_bytes.has_value();
  }
  if (rows.empty()) return "";
  return "## What fills the memory\n\n| share | bytes | since the reading before | objects | what | held as |\n"
         "|---:|---:|---:|---:|---|---|\n" +
         rows + (has_estimates ? kSampleText : "") + "\n";
}

std::string bytes_at_reading(const Incident& incident, const std::string& type) {
  const auto found = std::ranges::find_if(incident.fillers, [&](const IncidentFiller& filler) {
    return filler.runtime == "cpython" && filler.kind == "type" && filler.name == type;
  });
  return found == incident.fillers.end() ? "" : estimate_text(found->bytes, found->error_bytes);
}

std::string pools_section(const Incident& incident) {
  const PoolsAtKill* counted = pools_at_kill(incident);
  if (counted == nullptr) return "";
  std::string text = fmt::format(
      "## Python objects at the kill\n\n{} of objects up to 512 bytes in {} of {} pools{}. One block of each pool "
      "decides for all of it, so bytes are estimates; the last column is the reading before, with larger objects.\n\n",
      human_bytes(counted->bytes), counted->pools_read, counted->pools,
      counted->cut.empty() ? "" : "; the others were not read (" + to_markdown(counted->cut) + ")");
  text += "| bytes | +- | objects | type | before |\n|---:|---:|---:|---|---:|\n";
  for (std::size_t i = 0; i < std::min(kMaxRows, counted->types.size()); ++i) {
    const PoolsAtKill::Type& type = counted->types[i];
    text += fmt::format("| {} | {} | {} | {} | {} |\n", human_bytes(type.bytes), human_bytes(type.error_bytes),
                        type.count, to_markdown(type.name, kMaxName), bytes_at_reading(incident, type.name));
  }
  return text + "\n";
}

// What it is and the name that holds it.
std::string contents_name(const TrendSite& site) {
  std::string name;
  for (const std::string& line : site.frames) name += (name.empty() ? "" : ", ") + to_markdown(line, kMaxName);
  return name;
}

std::string contents_trend_section(const Incident& incident) {
  if (!incident.contents_trend || incident.contents_trend->points.empty()) return "";
  const IncidentTrend& trend = *incident.contents_trend;
  if (trend.sites.empty() && trend.whole.last_held_bytes <= trend.whole.first_held_bytes) return "";
  const auto seconds = [&](const IncidentTrend::Point& point) {
    return static_cast<double>(incident.time.ns - point.time.ns) / 1e9;
  };
  std::string text = fmt::format(
      "## What grew, by name\n\n{} readings, from {:.0f} s to {:.1f} s before the kill.{}\n\n"
      "| at first | at last | what |\n|---:|---:|---|\n",
      trend.points.size(), seconds(trend.points.front()), seconds(trend.points.back()),
      trend.suspects == 0 ? "" : fmt::format(" Names that keep growing: {}.", trend.suspects));
  for (const TrendSite& site : trend.sites) {
    text += fmt::format("| {} | {} | {}{} |\n", human_bytes(site.figures.first_held_bytes),
                        human_bytes(site.figures.last_held_bytes), contents_name(site),
                        site.figures.judgement == "leak" ? " (keeps growing)" : "");
  }
  return text + fmt::format("| {} | {} | the whole process |\n\n", human_bytes(trend.whole.first_held_bytes),
                            human_bytes(trend.whole.last_held_bytes));
}

std::string composition_section(const Incident& incident) {
  if (!incident.composition || incident.composition->parts.empty()) return "";
  std::string text = fmt::format("## Parts of the memory\n\nRead {:.1f} s before the kill{}.\n\n",
                                 static_cast<double>(incident.time.ns - incident.composition->as_of.ns) / 1e9,
                                 incident.composition->named_ratio
                                     ? "; " + percent(*incident.composition->named_ratio) + " of it has a name"
                                     : "");
  text += "| part | bytes | shown by |\n|---|---:|---|\n";
  for (const MemoryShare& part : incident.composition->parts) {
    text += fmt::format("| {} | {} | {} |\n", to_markdown(part.name, kMaxName), human_bytes(part.bytes),
                        to_markdown(part.source, kMaxName));
  }
  return text + "\n";
}

std::string operation_text(const IncidentGrowth::Place& place) {
  return place.operation.empty() ? "" : to_markdown(place.operation_kind + " " + place.operation, kMaxName);
}

std::string code_text(const IncidentGrowth::Place& place) {
  if (place.is_collector) return "threads of a garbage collector";
  return place.code.empty() ? "no named function of the program in the stack" : to_markdown(place.code, kMaxName);
}

std::string pattern_text(const IncidentGrowth::Place& place, std::uint64_t slot_bytes) {
  if (place.pattern == to_string(GrowthPattern::kPersistent)) {
    return fmt::format("all the time, in {} of {} parts", parts_that_grew(place.parts, slot_bytes), place.parts.size());
  }
  return place.pattern == to_string(GrowthPattern::kOneOff) ? "one-off" : "";
}

// One row for each place, one column for each part of the sampled time.
std::string growth_over_time(const IncidentGrowth& growth) {
  std::string rows;
  for (const IncidentGrowth::Place& place : growth.places) {
    if (place.parts.size() != IncidentGrowth::kParts) continue;
    rows += "| " + code_text(place) + (place.operation.empty() ? "" : ", " + operation_text(place));
    for (const std::uint64_t bytes : place.parts) rows += " | " + (bytes == 0 ? "" : human_bytes(bytes));
    rows += " | " + pattern_text(place, growth.slot_bytes) + " |\n";
  }
  if (rows.empty() || !growth.sampled_seconds) return "";
  std::string head = "| code |", line = "|---|";
  for (std::size_t part = 1; part <= IncidentGrowth::kParts; ++part) {
    head += fmt::format(" {} |", part);
    line += "---:|";
  }
  return fmt::format(
      "\nWhen it came, in {} equal parts of the {:.1f} s that were sampled; what was given back is in none of them. "
      "\"One-off\" came in one or two parts, and not again.\n\n{} over time |\n{}---|\n{}",
      IncidentGrowth::kParts, *growth.sampled_seconds, head, line, rows);
}

std::string first_touch_section(const Incident& incident) {
  if (!incident.growth) return "";
  const IncidentGrowth& growth = *incident.growth;
  std::string text = fmt::format(
      "## What grew it, by first touch\n\nIt grew by {} in {} samples of {} each; {} samples were lost. Who touches "
      "memory first is neither who allocated nor who keeps it.\n\n",
      human_bytes(growth.grown_bytes), growth.samples, human_bytes(growth.slot_bytes), growth.lost);
  text += "| share | bytes | code | for |\n|---:|---:|---|---|\n";
  for (const IncidentGrowth::Place& place : growth.places) {
    text += fmt::format("| {} | {} | {} | {} |\n", percent(place.share), human_bytes(place.bytes), code_text(place),
                        operation_text(place));
  }
  text += growth_over_time(growth);
  for (const std::string& note : growth.notes) text += "\n" + to_markdown(note, kMaxName) + "\n";
  if (!growth.file.empty()) text += fmt::format("\nAll stacks: {}.\n", file_link(growth.file));
  return text + "\n";
}

std::string stack_text(const GoroutineStack& one) {
  std::string text;
  for (const std::string& function : one.stack) {
    text += (text.empty() ? "" : ", called by ") + to_markdown(function, kMaxName);
  }
  if (!one.created_by.empty()) text += ", started by " + to_markdown(one.created_by, kMaxName);
  return text;
}

std::string at_kill_text(const Incident& incident) {
  const IncidentCapture* counted = goroutines_at_kill(incident);
  if (counted == nullptr) return "";
  std::string text = "At the kill";
  if (!counted->goroutines_cut.empty())
    text += fmt::format(", a part of them ({})", to_markdown(counted->goroutines_cut));
  for (std::size_t i = 0; i < std::min(kMaxRows, counted->goroutines.size()); ++i) {
    const GoroutineTally& one = counted->goroutines[i];
    text += fmt::format("{} {} {}", i == 0 ? ":" : ",", one.count, to_markdown(one.state));
    if (!one.reason.empty()) text += " for " + to_markdown(one.reason);
  }
  return text + ".\n\n";
}

std::string goroutines_section(const Incident& incident) {
  if (!goroutines_matter(incident)) return "";
  if (incident.goroutines.empty()) {
    const std::string at_kill = at_kill_text(incident);
    return at_kill.empty() ? "" : "## Goroutines\n\n" + at_kill;
  }
  std::string text = fmt::format("## Goroutines\n\n{} goroutines; where most of them stood:\n\n",
                                 incident.goroutine_count.value_or(0));
  text += "| count | state | where |\n|---:|---|---|\n";
  for (std::size_t i = 0; i < std::min(kMaxRows, incident.goroutines.size()); ++i) {
    const GoroutineStack& one = incident.goroutines[i];
    text += fmt::format("| {} | {} | {} |\n", one.count, to_markdown(one.state), stack_text(one));
  }
  return text + "\n" + at_kill_text(incident);
}

}  // namespace

std::string memory_sections(const Incident& incident) {
  return holders_section(incident) + fillers_section(incident) + pools_section(incident) +
         contents_trend_section(incident) + composition_section(incident) + first_touch_section(incident) +
         goroutines_section(incident);
}

}  // namespace oomw
