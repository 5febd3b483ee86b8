// SPDX-License-Identifier: Apache-2.0
#include "cli/read/event_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/estimate_text.h"
#include "base/text.h"
#include "store/incident_summary.h"

namespace oomw::cli {
namespace {

std::string clock_part(WallTime wall) { return to_rfc3339(wall).substr(11, 12); }

std::string percent_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "?" : fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string line_of(const OomKill& kill, const std::string& place) {
  const std::string rss = kill.victim_rss ? ", anon " + human_bytes(kill.victim_rss->anon_bytes) : "";
  return fmt::format("KILL       {}{}{} (pid {}{}), triggered by {} (pid {}), limit {}", place,
                     place.empty() ? "" : ": ", printable(kill.victim_comm, 32), kill.victim.pid, rss,
                     printable(kill.trigger_comm, 32), kill.trigger_pid,
                     kill.owner_limit_bytes ? human_bytes(*kill.owner_limit_bytes) : "not known");
}

std::string line_of(const WatermarkCrossed& crossing, const std::string& place) {
  std::string line = fmt::format(
      "{}  {} at {} of {} ({})", crossing.reason == WatermarkReason::kLevel ? "WATERMARK" : "TIME LEFT",
      place.empty() ? fmt::format("cgroup {}", crossing.cgroup.value) : place, human_bytes(crossing.usage_bytes),
      human_bytes(crossing.limit_bytes), percent_of(crossing.usage_bytes, crossing.limit_bytes));
  if (crossing.reason != WatermarkReason::kTimeToLimit || !crossing.growth_bytes_per_second ||
      !crossing.time_to_limit) {
    return line;  // at a level the rate is that of 40 ms, of one burst: nothing to plan by
  }
  return line + fmt::format(", growing {}/s in this moment, at which {:.1f} s are left",
                            human_bytes(static_cast<std::uint64_t>(*crossing.growth_bytes_per_second)),
                            to_seconds(*crossing.time_to_limit));
}

std::string line_of(const CaptureFinished& capture, const std::string& place) {
  std::string line =
      fmt::format("CAPTURE    {}{}{} pid {} on {}: {}", place, place.empty() ? "" : ": ", to_string(capture.method),
                  capture.process.pid, to_string(capture.trigger), to_string(capture.result));
  if (capture.reason != CaptureReason::kNone) line += fmt::format(" ({})", to_string(capture.reason));
  if (capture.inuse_bytes) line += ", in use " + human_bytes(*capture.inuse_bytes);
  return line;
}

std::string line_of(const CollectorSampled& reading, const std::string& place) {
  std::string line = fmt::format("COLLECTOR  {}{}pid {}", place, place.empty() ? "" : ": ", reading.process.pid);
  for (const auto& [exporter, size] : reading.queue_sizes) {
    if (size != 0) line += fmt::format(", {} queued for exporter {}", size, printable(exporter, 64));
  }
  if (reading.limiter_refused) line += fmt::format(", memory_limiter refused {}", *reading.limiter_refused);
  return line;
}

std::string line_of(const HeapAnalysed& analysed, const std::string& place) {
  std::string line =
      fmt::format("ANALYSIS   {}{}{} pid {} on {}: {}", place, place.empty() ? "" : ": ", to_string(analysed.of),
                  analysed.process.pid, to_string(analysed.trigger), to_string(analysed.result));
  if (analysed.reason != CaptureReason::kNone) line += fmt::format(" ({})", to_string(analysed.reason));
  if (!analysed.why_no_owner.empty()) return line + ", owner not found: " + printable(analysed.why_no_owner, 80);
  if (!analysed.holders.empty() && !analysed.holders.front().chain.empty()) {
    const HeapHolder& first = analysed.holders.front();
    line += fmt::format(", {:.0f} % kept by {}", first.share * 100, printable(first.chain.front(), 80));
  } else if (!analysed.fillers.empty()) {
    const HeapFiller& first = analysed.fillers.front();
    line += fmt::format(", {} in {}", estimate_text(first.bytes, first.error_bytes), printable(first.name, 80));
  }
  return line;
}

std::string line_of(const GrowthProfile& growth, const std::string& place) {
  return fmt::format("GROWTH     {}{}pid {} grew by {}: {} samples, {} lost", place, place.empty() ? "" : ": ",
                     growth.process.pid, human_bytes(growth.grown_bytes), growth.samples, growth.lost);
}

std::string line_of(const EventsLost& lost) {
  return fmt::format("LOST       {} so far at stage {}", lost.total, printable(lost.stage, 64));
}

// "memhog (pid 240) and 2 more": the kernel chose the first.
std::string victims_of(const Incident& incident) {
  if (incident.victims.empty()) return "nobody named the victim";
  std::string text =
      fmt::format("{} (pid {})", printable(incident.victims[0].comm, 32), incident.victims[0].process.pid);
  const std::size_t count = std::max(incident.victim_count, incident.victims.size());
  return count > 1 ? text + fmt::format(" and {} more", count - 1) : text;
}

}  // namespace

std::optional<std::string> event_line(const Event& event, const std::string& place, WallTime wall) {
  std::optional<std::string> line;
  if (const auto* kill = std::get_if<OomKill>(&event)) line = line_of(*kill, place);
  if (const auto* crossing = std::get_if<WatermarkCrossed>(&event)) line = line_of(*crossing, place);
  if (const auto* capture = std::get_if<CaptureFinished>(&event)) line = line_of(*capture, place);
  if (const auto* reading = std::get_if<CollectorSampled>(&event)) line = line_of(*reading, place);
  if (const auto* analysed = std::get_if<HeapAnalysed>(&event)) line = line_of(*analysed, place);
  if (const auto* growth = std::get_if<GrowthProfile>(&event)) line = line_of(*growth, place);
  if (const auto* lost = std::get_if<EventsLost>(&event)) line = line_of(*lost);
  if (line) line->insert(0, clock_part(wall) + "  ");
  return line;
}

std::optional<CgroupId> cgroup_of_line(const Event& event) {
  if (const auto* kill = std::get_if<OomKill>(&event)) return kill->victim_cgroup;
  if (const auto* crossing = std::get_if<WatermarkCrossed>(&event)) {
    return crossing->leaf_cgroup ? crossing->leaf_cgroup : crossing->cgroup;
  }
  if (const auto* capture = std::get_if<CaptureFinished>(&event)) return capture->cgroup;
  if (const auto* reading = std::get_if<CollectorSampled>(&event)) return reading->cgroup;
  if (const auto* analysed = std::get_if<HeapAnalysed>(&event)) return analysed->cgroup;
  if (const auto* growth = std::get_if<GrowthProfile>(&event)) return growth->cgroup;
  return std::nullopt;
}

std::string left_out_line(const std::string& place, std::uint64_t lines, WallTime wall) {
  return fmt::format("{}  LEFT OUT   {} more lines of {}", clock_part(wall), lines,
                     place.empty() ? "several cgroups" : place);
}

std::string watching_line(const std::string& data_dir, const std::string& options, const std::string& metrics_listen,
                          WallTime wall) {
  std::string line = fmt::format(
      "{0}  WATCHING   every memory cgroup of this node; incidents go to {1}/incidents (oomwitness incidents{2}, "
      "oomwitness show latest{2})",
      clock_part(wall), printable(data_dir, 512), options);
  if (!metrics_listen.empty()) line += fmt::format("; metrics on http://{}/metrics", printable(metrics_listen, 64));
  return line;
}

// The answer is the end of the line: it is what a person reads on.
std::string incident_line(const Incident& incident, const std::string& directory, bool is_amended) {
  const std::string workload = incident.pod ? to_text(incident.pod->workload) : "";
  std::string answer = incident.verdict ? fmt::format("cause {} ({:.0f} %)", printable(incident.verdict->cause, 32),
                                                      incident.verdict->confidence * 100)
                                        : "cause not known";
  if (incident.coverage_ratio) answer += fmt::format(", heap profile covers {:.0f} %", *incident.coverage_ratio * 100);
  if (incident.answer) {
    answer += ". " + printable(incident.answer->sentence, 512);
    if (!incident.answer->action.empty()) answer += " " + printable(incident.answer->action, 256);
    if (!incident.answer->again.empty()) answer += " " + printable(incident.answer->again, 256);
  }
  return fmt::format("{}  {}   {} {}{}: killed {}, {} [{}]", clock_part(incident.time),
                     is_amended ? "AMENDED " : "INCIDENT", incident.id,
                     place_name(incident.container, incident.cgroup_path),
                     workload.empty() ? "" : " of " + printable(workload, 80), victims_of(incident), answer,
                     printable(directory, 512));
}

}  // namespace oomw::cli
