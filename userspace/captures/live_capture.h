// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "captures/capture.h"
#include "captures/read_gate.h"
#include "captures/stored_reading.h"
#include "runtimes/runtime.h"

namespace oomw {

// Heap profiles read from the memory of programs: no endpoint, no cooperation, no pause, and the heap held now rather
// than that of the last collection.
//
// - The targets are tried in order; the first that gives a reading wins, else the failure that got furthest.
// - A part of the heap is better than nothing: ok, complete = false, reason "partial".
// - One read at a time; each stops at the request's deadline.
// Thread-safe; borrows runtime, clock and budget.
class LiveCapture final : public CaptureBackend {
 public:
  // For a reading of 20,000 buckets of 20 frames; a reader makes the profile. Larger lists overdraw: their size is
  // known only once they have been read.
  static constexpr std::uint64_t kMemoryBytes = 6u << 20;

  // Makes the profile of a reading: store_reading() or store_reading_apart().
  using Store = std::function<CaptureOutcome(ReadingToStore stored, const RuntimeProcess& process)>;

  // memory: the budget that a read leases from; null: nothing else needs any.
  LiveCapture(Runtime& runtime, const Clock& clock, Store store, MemoryBudget* memory = nullptr,
              ReadingWatcher watcher = {})
      : runtime_(runtime),
        clock_(clock),
        store_(std::move(store)),
        memory_(memory),
        watcher_(std::move(watcher)),
        gate_(clock) {}

  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override { runtime_.forget(process); }

 private:
  Runtime& runtime_;
  const Clock& clock_;
  const Store store_;
  MemoryBudget* const memory_;
  const ReadingWatcher watcher_;
  ReadGate gate_;

  [[nodiscard]] std::pair<const CaptureTarget*, HeapRead> try_targets(const CaptureRequest& request);
  [[nodiscard]] CaptureOutcome store(const CaptureRequest& request, CaptureFinished begun, const CaptureTarget& target,
                                     HeapRead read);
};

}  // namespace oomw
