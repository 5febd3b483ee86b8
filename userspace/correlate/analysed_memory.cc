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

std::optional<double> growth_ratio_of(const HeapHolder& holder, const HeapAnalysed* before) {
  if (before == nullptr || holder.chain.empty()) return std::nullopt;
  const auto found = std::ranges::find_if(before->holders, [&](const HeapHolder& earlier) {
    return !earlier.chain.empty() && earlier.chain.front() == holder.chain.front();
  });
  if (found == before->holders.end() || found->bytes == 0) return std::nullopt;
  return static_cast<double>(holder.bytes) / static_cast<double>(found->bytes);
}

// An estimate is not compared: what differs may be its error, or what the other reading alone has read.
std::optional<double> growth_ratio_of(const HeapFiller& filler, const HeapAnalysed* before) {
  if (before == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(before->fillers, [&](const HeapFiller& earlier) {
    return earlier.kind == filler.kind && earlier.name == filler.name && earlier.held_as == filler.held_as;
  });
  if (found == before->fillers.end() || found->bytes == 0) return std::nullopt;
  if (filler.error_bytes || found->error_bytes) return std::nullopt;
  return static_cast<double>(filler.bytes) / static_cast<double>(found->bytes);
}

// Those of the reading that counts, and of the one before it what it is compared with. Of two runtimes in one process
// the first has the name.
void add_files(Incident& incident, const HeapAnalysed& event, bool counts) {
  for (const HeapAnalysed::File& file : event.files) {
    if (!counts && file.name != kContentsFile) continue;
    const std::string name = counts ? file.name : kContentsBeforeFile;
    if (!has_analysis_file(incident, name)) incident.analyses.back().files.push_back({name, file.spool_file});
  }
}

IncidentComposition composition_of(const HeapAnalysed& event, std::int64_t wall_offset_ns) {
  return {event.named_ratio, {event.time.ns + wall_offset_ns}, event.parts, event.max_heap_bytes};
}

void add_found(Incident& incident, const HeapAnalysed& event, const HeapAnalysed* before, std::int64_t wall_offset_ns) {
  for (const HeapHolder& holder : event.holders) {
    IncidentHolder one{holder, event.rooted_ratio.value_or(0), event.samples, growth_ratio_of(holder, before)};
    incident.holders.push_back(std::move(one));
  }
  if (!event.why_no_owner.empty()) {
    incident.notes.push_back(fmt::format("holders: owner not found ({})", event.why_no_owner));
  }
  for (const GoroutineStack& stack : event.goroutines) incident.goroutines.push_back(stack);
  if (event.goroutine_count > 0) incident.goroutine_count = event.goroutine_count;
  const WallTime as_of{event.time.ns + wall_offset_ns};
  for (const HeapFiller& filler : event.fillers) {
    IncidentFiller one;
    one.runtime = to_string(event.of);
    one.kind = filler.kind;
    one.name = filler.name;
    one.held_as = filler.held_as;
    one.bytes = filler.bytes;
    one.count = filler.count;
    one.share = filler.share;
    one.as_of = as_of;
    one.evidence = "analysis";
    one.growth_ratio = growth_ratio_of(filler, before);
    one.error_bytes = filler.error_bytes;
    incident.fillers.push_back(std::move(one));
  }
  for (const std::string& note : event.notes) incident.notes.push_back("analyses: " + note);
  // A runtime that knows its own parts comes before the mappings of any process.
  if (event.parts.empty() || incident.composition) return;
  incident.composition = composition_of(event, wall_offset_ns);
}

// A sample knows no holder: a whole reading says more, unless a quarter of the memory came after it.
bool says_more_than(const HeapAnalysed& whole, const HeapAnalysed& sample) {
  return whole.usage_bytes && sample.usage_bytes && *whole.usage_bytes / 3 >= *sample.usage_bytes / 4;
}

// The reading of that runtime's memory which the incident's holders and fillers are of; nullptr: none.
const HeapAnalysed* reading_that_counts(const std::vector<HeapAnalysed>& analyses, RuntimeKind of) {
  const HeapAnalysed *newest = nullptr, *whole = nullptr;
  for (const HeapAnalysed& one : analyses) {
    if (one.of != of || !has_read(one)) continue;
    newest = &one;
    if (!one.sampled_ratio) whole = &one;
  }
  return whole != nullptr && whole != newest && says_more_than(*whole, *newest) ? whole : newest;
}

// A sample that does not count otherwise is the newest all the same of what a moment's memory consists of.
void add_newer_parts(Incident& incident, const HeapAnalysed& event, const HeapAnalysed& reading,
                     std::int64_t wall_offset_ns) {
  const bool is_of_reading =
      incident.composition && incident.composition->as_of == WallTime{reading.time.ns + wall_offset_ns};
  if (!has_read(event) || event.parts.empty() || !is_of_reading) return;
  incident.composition = composition_of(event, wall_offset_ns);
}

}  // namespace

void add_analyses(Incident& incident, const std::vector<HeapAnalysed>& analyses, MonotonicTime kill,
                  std::int64_t wall_offset_ns) {
  for (const HeapAnalysed& event : analyses) {
    incident.analyses.push_back(analysis_of(event, kill, wall_offset_ns));
    if (event.result != CaptureResult::kOk) {
      incident.notes.push_back(fmt::format("analyses: of {}: {}: {}", to_string(event.of), to_string(event.reason),
                                           event.detail.empty() ? "no details" : event.detail));
    }
    const HeapAnalysed* reading = reading_that_counts(analyses, event.of);
    const bool counts = &event == reading || (event.result == CaptureResult::kOk && is_after_kill(event));
    if (counts || (reading != nullptr && event.time < reading->time)) add_files(incident, event, counts);
    if (!counts) {
      if (reading != nullptr && event.time > reading->time) add_newer_parts(incident, event, *reading, wall_offset_ns);
      continue;
    }
    const auto before = std::ranges::find_if(analyses, [&](const HeapAnalysed& other) {
      return other.of == event.of && other.result == CaptureResult::kOk && other.time < event.time;
    });
    add_found(incident, event, before == analyses.end() ? nullptr : &*before, wall_offset_ns);
  }
}

}  // namespace oomw
