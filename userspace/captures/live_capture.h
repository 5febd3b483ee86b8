// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "captures/capture.h"
#include "captures/go_processes.h"
#include "captures/read_gate.h"

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
// Thread-safe; borrows registry and clock.
class LiveCapture final : public CaptureBackend {
 public:
  LiveCapture(GoProcesses& processes, const Clock& clock) : processes_(processes), clock_(clock), gate_(clock) {}

  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override { processes_.forget(process); }

 private:
  GoProcesses& processes_;
  const Clock& clock_;
  ReadGate gate_;

  struct Attempt;
  [[nodiscard]] Attempt try_targets(const CaptureRequest& request);
  [[nodiscard]] Attempt try_target(const CaptureTarget& target, MonotonicTime deadline);
  [[nodiscard]] CaptureOutcome store(const CaptureRequest& request, CaptureFinished event, Attempt attempt);
};

}  // namespace oomw
