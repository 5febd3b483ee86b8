// SPDX-License-Identifier: Apache-2.0
// The part of incident_fields.h about what was found in memory. For .cc files.
#pragma once

#include "events/json_fields.h"
#include "events/jvm_figures_fields.h"
#include "events/pools_at_kill_fields.h"
#include "incident/incident.h"

namespace oomw::incident_json {

struct Format {
  static constexpr bool kWritesNull = true;
  static constexpr bool kTimesAsText = true;
};

using enum Presence;
using oomw::describe;  // of what recordings describe alike

void describe(auto& v, Of<IncidentFiller> auto& filler) {
  v("runtime", filler.runtime);
  v("kind", filler.kind, kRequired);
  v("name", filler.name, kRequired);
  v("path", filler.path);
  v("operation_kind", filler.operation_kind, kOmitted);
  v("operation", filler.operation, kOmitted);
  v("bytes", filler.bytes, kRequired);
  v("share", filler.share);
  v("evidence", filler.evidence, kOmitted);
  v("held_as", filler.held_as, kOmitted);
  v("count", filler.count, kOmitted);
  v("as_of", filler.as_of, kOmitted);
  v("growth_ratio", filler.growth_ratio, kOmitted);
  v("error_bytes", filler.error_bytes, kOmitted);
}

void describe(auto& v, Of<IncidentAnalysis::File> auto& file) {
  v("name", file.name, kRequired);
  v.check(is_plain_file_name(file.name), "name", "a plain file name");
}

void describe(auto& v, Of<IncidentAnalysis> auto& analysis) {
  v("of", analysis.of, kRequired);
  v("pid", analysis.pid, kRequired);
  v("time", analysis.time, kRequired);
  v("trigger", analysis.trigger);
  v("result", analysis.result, kRequired);
  v("reason", analysis.reason);
  v("detail", analysis.detail);
  v("duration_seconds", analysis.duration_seconds);
  v("lead_seconds", analysis.lead_seconds);
  v("files", analysis.files);
  v("sampled_ratio", analysis.sampled_ratio, kOmitted);
  v("jvm", analysis.jvm, kOmitted);
  v("pools", analysis.pools, kOmitted);
}

void describe(auto& v, Of<IncidentHolder> auto& holder) {
  v("share", holder.share, kRequired);
  v("bytes", holder.bytes);
  v("owner", holder.is_owner);
  v("component", holder.component, kOmitted);
  v("chain", holder.chain, kRequired);
  v("rooted_ratio", holder.rooted_ratio);
  v("samples", holder.samples);
  v("total_samples", holder.total_samples);
  v("growth_ratio", holder.growth_ratio, kOmitted);
}

void describe(auto& v, Of<GoroutineStack> auto& one) {
  v("count", one.count, kRequired);
  v("state", one.state);
  v("stack", one.stack);
  v("created_by", one.created_by, kOmitted);
  v("component", one.component, kOmitted);
}

void describe(auto& v, Of<GoroutineTally> auto& one) {
  v("count", one.count, kRequired);
  v("state", one.state);
  v("reason", one.reason, kOmitted);
}

void describe(auto& v, Of<MemoryShare> auto& part) {
  v("name", part.name, kRequired);
  v("runtime", part.runtime, kOmitted);
  v("bytes", part.bytes, kRequired);
  v("source", part.source);
}

void describe(auto& v, Of<IncidentComposition> auto& composition) {
  v("named_ratio", composition.named_ratio, kOmitted);
  v("as_of", composition.as_of, kRequired);
  v("max_heap_bytes", composition.max_heap_bytes, kOmitted);
  v("parts", composition.parts);
}

void describe(auto& v, Of<IncidentOperation> auto& operation) {
  v("kind", operation.kind, kRequired);
  v("name", operation.name, kRequired);
  v("bytes", operation.bytes, kRequired);
  v("share", operation.share);
  v("growth_ratio", operation.growth_ratio, kOmitted);
}

void describe(auto& v, Of<IncidentGrowth::Place> auto& place) {
  v("code", place.code, kOmitted);
  v("operation_kind", place.operation_kind, kOmitted);
  v("operation", place.operation, kOmitted);
  v("bytes", place.bytes, kRequired);
  v("share", place.share);
  v("collector", place.is_collector);
  v("build_id", place.build_id, kOmitted);
  v("bytes_by_part", place.parts, kOmitted);
  v.check(place.parts.size() <= IncidentGrowth::kParts, "bytes_by_part", "an array of bounded size");
  v("pattern", place.pattern, kOmitted);
  v("late_bytes", place.late_bytes, kOmitted);
}

void describe(auto& v, Of<IncidentGrowth::Stack> auto& stack) {
  v("bytes", stack.bytes, kRequired);
  v("share", stack.share);
  v("complete", stack.is_complete);
  v("frames", stack.frames, kRequired);
  v.check(stack.frames.size() <= IncidentGrowth::kMaxFrames, "frames", "an array of bounded size");
  v("code", stack.code, kOmitted);
  v("operation_kind", stack.operation_kind, kOmitted);
  v("operation", stack.operation, kOmitted);
  v("late_bytes", stack.late_bytes, kOmitted);
}

void describe(auto& v, Of<IncidentGrowth> auto& growth) {
  v("pid", growth.pid, kRequired);
  v("as_of", growth.as_of, kRequired);
  v("slot_bytes", growth.slot_bytes);
  v("grown_bytes", growth.grown_bytes, kRequired);
  v("samples", growth.samples);
  v("late_bytes", growth.late_bytes, kOmitted);
  v("lost", growth.lost);
  v("sampled_seconds", growth.sampled_seconds, kOmitted);
  v("places", growth.places);
  v.check(growth.places.size() <= IncidentGrowth::kMaxPlaces, "places", "an array of bounded size");
  v("stacks", growth.stacks);
  v.check(growth.stacks.size() <= IncidentGrowth::kMaxStacks, "stacks", "an array of bounded size");
  v("notes", growth.notes);
  v("file", growth.file, kOmitted);
  v.check(is_plain_file_name(growth.file), "file", "a plain file name");
}

}  // namespace oomw::incident_json
