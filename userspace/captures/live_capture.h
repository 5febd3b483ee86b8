// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "captures/capture.h"
#include "captures/live_read.h"
#include "captures/read_gate.h"
#include "runtimes/go/go_processes.h"

namespace oomw {

// Heap profiles of Go programs read from their memory: no endpoint, no cooperation, no pause, and
// what is held now rather than what was at the last GC.
//
// - The targets are tried in order; the first Go process that gives a profile wins. Otherwise the
//   failure that got furthest is reported:
//   skipped not_go; failed gone | permission | 32_bit | linked_out | not_found | timeout | unreadable | empty |
//   rate_zero | rejected | layout_unknown
// - A part of the list is better than nothing: ok, complete = false, reason "partial".
// - One read at a time (see store_snapshot for what it takes); each stops at the request's deadline.
// - A proved record layout goes to the registry, so that a walk at the kill reads no more than it has to.
// Thread-safe; borrows registry, clock and budget.
class LiveCapture final : public CaptureBackend {
 public:
  // Of 20,000 buckets of 20 frames. Larger lists overdraw: their size is known when they have been read.
  static constexpr std::uint64_t kMemoryBytes = 18u << 20;

  // memory: what a read takes is leased from; null: nobody else wants any.
  LiveCapture(GoProcesses& processes, const Clock& clock, MemoryBudget* memory = nullptr, SnapshotWatcher watcher = {})
      : processes_(processes), clock_(clock), memory_(memory), watcher_(std::move(watcher)), gate_(clock) {}

  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override { processes_.forget(process); }

 private:
  GoProcesses& processes_;
  const Clock& clock_;
  MemoryBudget* const memory_;
  const SnapshotWatcher watcher_;
  ReadGate gate_;

  struct Attempt;
  [[nodiscard]] Attempt try_targets(const CaptureRequest& request);
  [[nodiscard]] Attempt try_target(const CaptureTarget& target, MonotonicTime deadline);
  [[nodiscard]] CaptureOutcome store(const CaptureRequest& request, CaptureFinished event, Attempt attempt);
};

}  // namespace oomw
