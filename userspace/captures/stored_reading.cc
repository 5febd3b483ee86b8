// SPDX-License-Identifier: Apache-2.0
#include "captures/stored_reading.h"

#include <malloc.h>

#include <utility>

#include "captures/capture_event.h"
#include "facts/collector_components.h"
#include "facts/heap_sites.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

// From this count on, the allocator holds tens of megabytes that the next capture may need hours later.
constexpr std::size_t kTrimFromHoldings = 5000;

}  // namespace

CaptureOutcome store_reading(HeapReading reading, const RuntimeProcess& process, CaptureFinished begun,
                             MonotonicTime taken_at, CaptureReason shortfall, const std::string& provenance,
                             const OperationPatterns& patterns, const Clock& clock, MonotonicTime deadline) {
  const HeapTotals totals = totals_of(reading);
  const std::size_t count = reading.holdings.size();
  if (reading.is_complete) shortfall = CaptureReason::kNone;
  if (!reading.is_complete && shortfall == CaptureReason::kNone) shortfall = CaptureReason::kPartial;
  CaptureOutcome outcome;
  TakenHeap heap{process.key, process.kind(), totals.held_bytes,         totals.live_bytes,
                 count,       shortfall,      std::move(reading.summary)};
  {
    const auto profile = process.names(clock, deadline)->profile_of(reading, clock.wall_of(taken_at), {provenance});
    reading = HeapReading();
    heap.components = collector_components_of(profile);
    heap.sites = heap_sites_of(profile, patterns);
    outcome.profile = pprof::write(profile, &outcome.string_count);
  }
  outcome.finished = taken(std::move(begun), taken_at, std::move(heap));
  if (count >= kTrimFromHoldings) ::malloc_trim(0);
  return outcome;
}

}  // namespace oomw
