// SPDX-License-Identifier: Apache-2.0
#include "correlate/analysed_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "correlate/analysis_memory.h"
#include "events/contents_file.h"
#include "incident/incident_files.h"

namespace oomw {
namespace {

IncidentAnalysis analysis_of(const HeapAnalysed& event, MonotonicTime kill, std::int64_t wall_offset_ns) {
  IncidentAnalysis analysis;
  analysis.of = to_string(event.of);
  analysis.pid = event.process.pid;
  analysis.time = {event.time.ns + wall_offset_ns};
  analysis.duration_seconds = to_seconds(event.time - event.started);
  analysis.lead_seconds = to_seconds(kill - event.time);
  analysis.trigger = to_string(event.trigger);
  analysis.result = to_string(event.result);
  analysis.reason = to_string(event.reason);
  analysis.detail = event.detail;
  analysis.sampled_ratio = event.sampled_ratio;
  if (!event.jvm.empty()) analysis.jvm = event.jvm.front();
  if (!event.pools.empty()) analysis.pools = event.pools.front();
  return analysis;
}

std::optional<double> growth_of(const HeapHolder& holder, const HeapAnalysed* before) {
  if (before == nullptr || holder.chain.empty()) return std::nullopt;
  const auto found = std::ranges::find_if(before->holders, [&](const HeapHolder& earlier) {
    return !earlier.chain.empty() && earlier.chain.front() == holder.chain.front();
  });
  if (found == before->holders.end() || found->bytes == 0) return std::nullopt;
  return static_cast<double>(holder.bytes) / static_cast<double>(found->bytes);
}

// An estimate is not compared: what differs may be its error, or what the other reading alone has read.
std::optional<double> growth_of(const HeapFiller& filler, const HeapAnalysed* before) {
  if (before == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(before->fillers, [&](const HeapFiller& earlier) {
    return earlier.kind == filler.kind && earlier.name == filler.name && earlier.held_as == filler.held_as;
  });
  if (found == before->fillers.end() || found->bytes == 0) return std::nullopt;
  if (filler.error_bytes || found->error_bytes) return std::nullopt;
  return static_cast<double>(filler.bytes) / static_cast<double>(found->bytes);
}

// The newest reading's, and of the one before it what it is compared with. Of two runtimes in one process the first has
// the name.
void add_files(Incident& incident, const HeapAnalysed& event, bool is_newest) {
  for (const HeapAnalysed::File& file : event.files) {
    if (!is_newest && file.name != kContentsFile) continue;
    const std::string name = is_newest ? file.name : kContentsBeforeFile;
    if (!has_analysis_file(incident, name)) incident.analyses.back().files.push_back({name, file.spool_file});
  }
}

void add_newest(Incident& incident, const HeapAnalysed& newest, const HeapAnalysed* before,
                std::int64_t wall_offset_ns) {
  for (const HeapHolder& holder : newest.holders) {
    IncidentHolder one{holder, newest.rooted_ratio.value_or(0), newest.samples, growth_of(holder, before)};
    incident.holders.push_back(std::move(one));
  }
  if (!newest.why_no_owner.empty()) {
    incident.notes.push_back(fmt::format("holders: owner not found ({})", newest.why_no_owner));
  }
  for (const GoroutineStack& stack : newest.goroutines) incident.goroutines.push_back(stack);
  if (newest.goroutine_count > 0) incident.goroutine_count = newest.goroutine_count;
  const WallTime as_of{newest.time.ns + wall_offset_ns};
  for (const HeapFiller& filler : newest.fillers) {
    IncidentFiller one;
    one.runtime = to_string(newest.of);
    one.kind = filler.kind;
    one.name = filler.name;
    one.held_as = filler.held_as;
    one.bytes = filler.bytes;
    one.count = filler.count;
    one.share = filler.share;
    one.as_of = as_of;
    one.evidence = "analysis";
    one.growth_ratio = growth_of(filler, before);
    one.error_bytes = filler.error_bytes;
    incident.fillers.push_back(std::move(one));
  }
  for (const std::string& note : newest.notes) incident.notes.push_back("analyses: " + note);
  // A runtime that knows its own parts comes before the mappings of any process.
  if (newest.parts.empty() || incident.composition) return;
  incident.composition = IncidentComposition{newest.named_ratio, as_of, newest.parts, newest.max_heap_bytes};
}

}  // namespace

void add_analyses(Incident& incident, const std::vector<HeapAnalysed>& analyses, MonotonicTime kill,
                  std::int64_t wall_offset_ns) {
  const auto is_newest = [&](const HeapAnalysed& one) {
    return std::ranges::none_of(analyses, [&](const HeapAnalysed& other) {
      return other.of == one.of && other.result == CaptureResult::kOk && other.time > one.time && !is_after_kill(other);
    });
  };
  for (const HeapAnalysed& event : analyses) {
    incident.analyses.push_back(analysis_of(event, kill, wall_offset_ns));
    if (event.result != CaptureResult::kOk) {
      incident.notes.push_back(fmt::format("analyses: of {}: {}: {}", to_string(event.of), to_string(event.reason),
                                           event.detail.empty() ? "no details" : event.detail));
    }
    const bool counts = event.result == CaptureResult::kOk && is_newest(event);
    add_files(incident, event, counts);
    if (!counts) continue;
    const auto before = std::ranges::find_if(analyses, [&](const HeapAnalysed& other) {
      return other.of == event.of && other.result == CaptureResult::kOk && other.time < event.time;
    });
    add_newest(incident, event, before == analyses.end() ? nullptr : &*before, wall_offset_ns);
  }
}

}  // namespace oomw
