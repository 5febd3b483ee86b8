// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/clock.h"
#include "captures/capture.h"
#include "events/event.h"
#include "facts/operation_patterns.h"
#include "runtimes/go/bucket_decoder.h"
#include "runtimes/go/go_process.h"

namespace oomw {

// What stands for a process that is not known.
[[nodiscard]] GoProcessPtr stand_in_process(ProcessKey key);

// Turns a walk at the kill into a stored profile: pass the chunks in order, then finish(). One walk, one thread (in
// the reader: names come from the executable's file, see walk_job.h).
//
// - ok and complete: the list's end was reached, every bucket was verified, none was lost on the way.
// - ok, not complete, reason = end of the walk (fault | malformed | pool_full | bucket_limit |
//   time_limit), or rejected | lost | limit: part of the list, newest buckets first.
// - failed: layout_unknown | rejected | rate_zero | empty, the end of a walk that got nothing, or loop: the runtime's
//   list never has one.
// - A process that is not known (null) or whose file is gone gives addresses without names.
class WalkDecoder {
 public:
  WalkDecoder(const HeapWalked& walk, GoProcessPtr process, OperationPatterns patterns = {});

  void add(std::span<const std::byte> records);
  // The caller fills in capture_id and the limit's figures. `watcher`: see runtimes/runtime.h.
  [[nodiscard]] CaptureOutcome finish(const Clock& clock, const ReadingWatcher& watcher = {});

 private:
  [[nodiscard]] go::HeapSnapshot take_snapshot();
  [[nodiscard]] CaptureReason shortfall(const go::HeapSnapshot& snapshot) const;
  [[nodiscard]] std::string provenance(const CaptureRequest& request, const Clock& clock) const;

  const HeapWalked walk_;
  const OperationPatterns patterns_;
  const GoProcessPtr process_;  // never null: a stand-in where nothing is known
  go::BucketDecoder decoder_;
  CaptureReason refused_ = CaptureReason::kNone;  // the first problem of decoding: kRejected or kLimit
  std::string detail_;
};

}  // namespace oomw
