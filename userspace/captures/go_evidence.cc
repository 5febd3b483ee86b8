// SPDX-License-Identifier: Apache-2.0
#include "captures/go_evidence.h"

#include <fmt/format.h>
#include <malloc.h>

#include "base/text.h"
#include "memory/deadline_source.h"
#include "pprof/codec.h"
#include "runtimes/go/go_profile.h"
#include "runtimes/go/symbolizer.h"

namespace oomw {
namespace {

using go::HeapSnapshot;

// From here on the allocator holds tens of megabytes that the next capture may need hours later.
constexpr std::size_t kTrimFromBuckets = 5000;

std::string describe(const HeapSnapshot& snapshot, const HeapTotals& totals) {
  std::string text = fmt::format("{} buckets of {}: {} held now, {} live at the last GC", snapshot.buckets.size(),
                                 snapshot.go_version.empty() ? "a Go program" : printable(snapshot.go_version),
                                 human_bytes(totals.held_bytes), human_bytes(totals.live_bytes));
  if (snapshot.counts.clipped > 0) text += fmt::format(", {} stacks cut short", snapshot.counts.clipped);
  if (!snapshot.complete) text += "; not the whole list: " + printable(snapshot.reason);
  return text;
}

std::string unnamed(const std::string& why) { return "oomwitness: addresses without names: " + printable(why); }

pprof::Profile build_named(const HeapSnapshot& snapshot, const GoProcess& process, GoProfileContext context,
                           const Clock& clock, MonotonicTime deadline) {
  if (!process.exe) {
    context.comments.push_back(unnamed("the executable is not held open"));
    return build_profile(snapshot, nullptr, context);
  }
  const FdSource file(process.exe->fd());
  const DeadlineSource source(file, clock, deadline);
  // Whole names, so that the process's own profile compares with this one.
  const auto symbolizer = go::Symbolizer::open(source, go::Symbolizer::TypeArguments::kWhole);
  if (!symbolizer.has_value()) {
    context.comments.push_back(unnamed(symbolizer.error().message));
    return build_profile(snapshot, nullptr, context);
  }
  auto profile = build_profile(snapshot, symbolizer->get(), context);
  if ((*symbolizer)->unknown_frames() > 0) {
    profile.comments.push_back(fmt::format("oomwitness: {} frames without a name", (*symbolizer)->unknown_frames()));
  }
  return profile;
}

}  // namespace

std::optional<GoFailure> why_useless(const HeapSnapshot& snapshot) {
  if (snapshot.layout == go::RecordLayout::kUnknown) return GoFailure{"layout_unknown", snapshot.reason};
  if (snapshot.rate == 0) {
    return GoFailure{"rate_zero", "runtime.MemProfileRate is 0: the program has switched heap profiling off"};
  }
  if (!snapshot.buckets.empty()) return std::nullopt;
  if (!snapshot.complete) return GoFailure{"rejected", "nothing in the list verifies as a bucket: " + snapshot.reason};
  return GoFailure{"empty", snapshot.reason.empty() ? "no allocation has been sampled yet" : snapshot.reason};
}

CaptureOutcome store_snapshot(HeapSnapshot snapshot, const GoProcess& process, CaptureFinished event,
                              const std::string& provenance, const Clock& clock, MonotonicTime deadline) {
  const HeapTotals totals = totals_of(snapshot);
  const bool is_big = snapshot.buckets.size() >= kTrimFromBuckets;
  event.result = CaptureResult::kOk;
  event.complete = snapshot.complete;
  if (event.complete) event.reason.clear();
  if (!event.complete && event.reason.empty()) event.reason = "partial";
  event.detail = describe(snapshot, totals);
  event.inuse_bytes = totals.held_bytes;
  event.live_bytes = totals.live_bytes;
  event.sample_count = snapshot.buckets.size();
  std::string bytes;
  {
    const std::string path = process.exe ? process.exe->path() : std::string();
    const auto profile = build_named(snapshot, process,
                                     {clock.wall_of(event.time), path, *process.binary, {provenance}}, clock, deadline);
    snapshot = HeapSnapshot();
    bytes = pprof::write(profile);
  }
  if (is_big) ::malloc_trim(0);
  return {std::move(event), std::move(bytes)};
}

}  // namespace oomw
