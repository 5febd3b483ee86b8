// SPDX-License-Identifier: Apache-2.0
// The only place where a CaptureFinished is made: begun, then either taken or not.
#pragma once

#include <map>

#include "captures/capture.h"

namespace oomw {

// What is known of a capture before it is tried: of the request's first target, until another one answers.
[[nodiscard]] CaptureFinished begin_capture(const CaptureRequest& request, CaptureMethod method, MonotonicTime started);

// What a kill asks for: the victim's heap.
[[nodiscard]] CaptureRequest request_at_kill(CaptureTarget victim);

// Failed; or skipped, where nothing was tried or there was nothing to fail at (kNotGo).
[[nodiscard]] CaptureFinished not_taken(CaptureFinished begun, MonotonicTime ended, CaptureFailure failure);

struct TakenHeap {
  ProcessKey process;
  std::optional<RuntimeKind> of{};
  std::uint64_t inuse_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t sample_count = 0;
  CaptureReason shortfall = CaptureReason::kNone;  // why it is not whole
  std::string detail{};
  std::map<std::string, std::uint64_t> memstats{};
};
[[nodiscard]] CaptureFinished taken(CaptureFinished begun, MonotonicTime at, TakenHeap heap);

}  // namespace oomw
