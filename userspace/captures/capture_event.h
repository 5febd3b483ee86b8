// SPDX-License-Identifier: Apache-2.0
// The only place where a CaptureFinished is made: it is begun, then either taken or not.
#pragma once

#include <map>

#include "captures/capture.h"

namespace oomw {

// What is known of a capture before it is tried: that of the request's first target, until another one answers.
[[nodiscard]] CaptureFinished begin_capture(const CaptureRequest& request, CaptureMethod method, MonotonicTime started);

// The request that a kill makes: the victim's heap.
[[nodiscard]] CaptureRequest request_at_kill(CaptureTarget victim);

// Failed, or skipped if nothing was tried or nothing could fail (kNotGo).
[[nodiscard]] CaptureFinished not_taken(CaptureFinished begun, MonotonicTime ended, CaptureFailure failure);

struct TakenHeap {
  ProcessKey process;
  std::optional<RuntimeKind> of{};
  std::uint64_t inuse_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t sample_count = 0;
  CaptureReason shortfall = CaptureReason::kNone;  // why the heap is not whole
  std::string detail{};
  std::map<std::string, std::uint64_t> memstats{};
  std::vector<CollectorComponent> components{};
  HeapSites sites{};
};
[[nodiscard]] CaptureFinished taken(CaptureFinished begun, MonotonicTime at, TakenHeap heap);

// What the kernel counted at the kill. At most kMaxTallies kinds; those that are left out are said to be cut.
constexpr std::size_t kMaxTallies = 16;
void add_goroutines(CaptureFinished& capture, const HeapWalked& walk, const GoroutineList& list);

}  // namespace oomw
