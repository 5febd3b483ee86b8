// SPDX-License-Identifier: Apache-2.0
#include "captures/live_capture.h"

#include <optional>

#include "captures/capture_event.h"
#include "captures/provenance.h"

namespace oomw {

// The first target that gives a reading, else the failure that got furthest; ties go to the later.
std::pair<const CaptureTarget*, HeapRead> LiveCapture::try_targets(const CaptureRequest& request) {
  std::pair<const CaptureTarget*, HeapRead> furthest;
  furthest.second.failure = {CaptureReason::kNotGo, "no process is known in the cgroup"};
  for (const CaptureTarget& target : request.targets) {
    const bool is_over = clock_.now() >= request.deadline;
    HeapRead read;
    if (is_over) {
      read.failure = {CaptureReason::kTimeout, "no time left to read", target.process};
    } else {
      read = runtime_.read(target.process, request.deadline);
    }
    if (read.reading || read.failure.reason >= furthest.second.failure.reason) furthest = {&target, std::move(read)};
    if (furthest.second.reading || is_over) break;
  }
  return furthest;
}

CaptureOutcome LiveCapture::store(const CaptureRequest& request, CaptureFinished begun, const CaptureTarget& target,
                                  HeapRead read) {
  if (watcher_) watcher_(*read.process, *read.reading);
  const MonotonicTime taken = read.reading->as_of;
  const auto comment = provenance_comment(CaptureMethod::kLive, request, target, clock_.wall_of(taken));
  return store_({std::move(*read.reading), std::move(begun), taken, CaptureReason::kNone, comment, request.deadline},
                *read.process);
}

CaptureOutcome LiveCapture::capture(const CaptureRequest& request) {
  CaptureFinished begun = begin_capture(request, CaptureMethod::kLive, clock_.now());
  const auto failed = [&](CaptureFailure failure) {
    return CaptureOutcome{not_taken(std::move(begun), clock_.now(), std::move(failure)), ""};
  };
  const ReadGate::Pass pass = gate_.enter(request.deadline);  // held until the profile is written
  if (!pass.is_in()) return failed({CaptureReason::kTimeout, "another read took all the time"});
  const auto room = memory_ != nullptr ? memory_->take(kMemoryBytes, request.deadline - clock_.now()) : std::nullopt;
  if (memory_ != nullptr && !room) {
    return failed({CaptureReason::kTimeout, "other captures took all the memory that is theirs"});
  }
  auto [target, read] = try_targets(request);
  if (!read.reading) return failed(std::move(read.failure));
  return store(request, std::move(begun), *target, std::move(read));
}

void LiveCapture::prepare(const CaptureRequest& request) {
  for (const CaptureTarget& target : request.targets) runtime_.prepare(target.process);
}

}  // namespace oomw
