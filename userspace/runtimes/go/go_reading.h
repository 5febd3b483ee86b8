// SPDX-License-Identifier: Apache-2.0
// Converts the runtime's own buckets to a reading that does not depend on Go.
#pragma once

#include <optional>

#include "events/capture_terms.h"
#include "runtimes/go/heap_snapshot.h"
#include "runtimes/heap_reading.h"

namespace oomw::go {

// Why a snapshot is no evidence of the heap (kRateZero, kLayoutUnknown, kRejected, kEmpty); nothing if it is. A partial
// list is.
[[nodiscard]] std::optional<CaptureFailure> why_useless(const HeapSnapshot& snapshot);

// Its facts, one line each:
//   oomwitness: go=go1.26.1 rate=524288 layout=objects_and_bytes located_by=code
//   oomwitness: series=held_now held_bytes=... live_at_last_gc_bytes=... gc_cycle=17 torn=no
//   oomwitness: buckets=62 walked=62 clipped=0 rejected=0 complete=yes
[[nodiscard]] HeapReading reading_of(HeapSnapshot snapshot, MonotonicTime as_of);

// What a reading of a process's list came to.
struct HeapEvidence {
  RecordLayout layout = RecordLayout::kNoData;
  CaptureFailure failure;  // as why_useless()
  std::optional<HeapReading> reading;
  Nanoseconds cost{};  // CPU time of the process that read it, if that was another
};
[[nodiscard]] HeapEvidence evidence_of(HeapSnapshot snapshot, MonotonicTime as_of);

}  // namespace oomw::go
