// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/go_reading.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace oomw::go {
namespace {

std::string cycle_text(const HeapSnapshot& snapshot) {
  if (!snapshot.cycle) return "gc_cycle=unknown";
  return fmt::format("gc_cycle={} torn={} retries={}", snapshot.cycle->cycle(),
                     snapshot.cycle->is_torn() ? "yes" : "no", snapshot.cycle->retries);
}

std::vector<std::string> facts_of(const HeapSnapshot& snapshot, const HeapTotals& totals) {
  const WalkCounts& counts = snapshot.counts;
  return {
      fmt::format("oomwitness: go={} rate={}{} layout={} located_by={}",
                  snapshot.go_version.empty() ? "unknown" : printable(snapshot.go_version), snapshot.rate,
                  snapshot.is_rate_assumed ? " (assumed)" : "", to_string(snapshot.layout), to_string(snapshot.method)),
      fmt::format("oomwitness: series=held_now held_bytes={} live_at_last_gc_bytes={} {}", totals.held_bytes,
                  totals.live_bytes, cycle_text(snapshot)),
      fmt::format("oomwitness: buckets={} walked={} clipped={} rejected={} torn={} complete={}",
                  snapshot.buckets.size(), counts.walked, counts.clipped, counts.rejected_hash + counts.rejected_shape,
                  counts.torn, snapshot.complete ? "yes" : "no: " + printable(snapshot.reason))};
}

std::string summary_of(const HeapSnapshot& snapshot, const HeapTotals& totals) {
  std::string text = fmt::format("{} buckets of {}: {} held now, {} live at the last GC", snapshot.buckets.size(),
                                 snapshot.go_version.empty() ? "a Go program" : printable(snapshot.go_version),
                                 human_bytes(totals.held_bytes), human_bytes(totals.live_bytes));
  if (snapshot.counts.clipped > 0) text += fmt::format(", {} stacks cut short", snapshot.counts.clipped);
  if (!snapshot.complete) text += "; not the whole list: " + printable(snapshot.reason);
  return text;
}

}  // namespace

std::optional<CaptureFailure> why_useless(const HeapSnapshot& snapshot) {
  if (snapshot.layout == RecordLayout::kUnknown) return CaptureFailure{CaptureReason::kLayoutUnknown, snapshot.reason};
  if (snapshot.rate == 0) {
    return CaptureFailure{CaptureReason::kRateZero,
                          "runtime.MemProfileRate is 0: the program has switched heap profiling off"};
  }
  if (!snapshot.buckets.empty()) return std::nullopt;
  if (!snapshot.complete) {
    return CaptureFailure{CaptureReason::kRejected, "nothing in the list verifies as a bucket: " + snapshot.reason};
  }
  return CaptureFailure{CaptureReason::kEmpty,
                        snapshot.reason.empty() ? "no allocation has been sampled yet" : snapshot.reason};
}

HeapReading reading_of(HeapSnapshot snapshot, MonotonicTime as_of) {
  HeapReading reading;
  reading.as_of = as_of;
  reading.is_complete = snapshot.complete;
  reading.rate = snapshot.rate;
  if (snapshot.cycle) reading.collection = snapshot.cycle->cycle();
  reading.load_bias = snapshot.load_bias;
  reading.holdings.reserve(snapshot.buckets.size());
  for (const Bucket& bucket : snapshot.buckets) {
    const Counts counts = bucket.held_now();
    reading.holdings.push_back({bucket.first_pc, bucket.pc_count, bucket.size, allocated(counts), in_use(counts),
                                in_use(bucket.live_at_last_gc())});
  }
  reading.pcs = std::move(snapshot.pcs);
  const HeapTotals totals = totals_of(reading);
  reading.summary = summary_of(snapshot, totals);
  reading.facts = facts_of(snapshot, totals);
  return reading;
}

HeapEvidence evidence_of(HeapSnapshot snapshot, MonotonicTime as_of) {
  HeapEvidence evidence;
  evidence.layout = snapshot.layout;
  if (auto useless = why_useless(snapshot)) {
    evidence.failure = std::move(*useless);
  } else {
    evidence.reading = reading_of(std::move(snapshot), as_of);
  }
  return evidence;
}

}  // namespace oomw::go
