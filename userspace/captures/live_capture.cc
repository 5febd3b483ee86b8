// SPDX-License-Identifier: Apache-2.0
#include "captures/live_capture.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "captures/capture_event.h"
#include "captures/go_evidence.h"
#include "captures/provenance.h"

namespace oomw {
namespace {

using go::HeapSnapshot;

struct Failure {
  std::string reason;
  std::string detail;
  ProcessKey process;
};

// How far an attempt got, least first: of several failures the furthest tells most.
std::size_t progress_of(const std::string& reason) {
  static constexpr std::array<std::string_view, 12> kOrder = {
      "not_go",  "gone",       "permission", "32_bit",    "linked_out", "not_found",
      "timeout", "unreadable", "empty",      "rate_zero", "rejected",   "layout_unknown"};
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), reason) - kOrder.begin());
}

ProcessKey first_process(const CaptureRequest& request) {
  return request.targets.empty() ? ProcessKey{} : request.targets.front().process;
}

}  // namespace

struct LiveCapture::Attempt {
  const CaptureTarget* target = nullptr;  // of the request; set together with a snapshot
  GoProcessPtr process;
  MonotonicTime taken;
  std::optional<HeapSnapshot> snapshot;
  std::optional<Failure> failure;  // set if there is no snapshot
};

LiveCapture::Attempt LiveCapture::try_target(const CaptureTarget& target, MonotonicTime deadline) {
  LiveRead read = read_live(processes_, target.process, clock_, deadline);
  Attempt attempt;
  attempt.process = std::move(read.process);
  attempt.taken = read.taken;
  attempt.snapshot = std::move(read.snapshot);
  if (read.failure) {
    attempt.failure = Failure{std::move(read.failure->reason), std::move(read.failure->detail), target.process};
  }
  return attempt;
}

// The first that gives a profile, else the failure that got furthest; of equals the later.
LiveCapture::Attempt LiveCapture::try_targets(const CaptureRequest& request) {
  Attempt furthest;
  furthest.failure = Failure{"not_go", "no process is known in the cgroup", first_process(request)};
  for (const CaptureTarget& target : request.targets) {
    const bool is_over = clock_.now() >= request.deadline;
    Attempt attempt;
    if (is_over) {
      attempt.failure = Failure{"timeout", "no time left to read", target.process};
    } else {
      attempt = try_target(target, request.deadline);
    }
    attempt.target = &target;
    if (!attempt.failure) return attempt;
    if (progress_of(attempt.failure->reason) >= progress_of(furthest.failure->reason)) furthest = std::move(attempt);
    if (is_over) break;
  }
  return furthest;
}

CaptureOutcome LiveCapture::store(const CaptureRequest& request, CaptureFinished event, Attempt attempt) {
  if (watcher_) watcher_(*attempt.process, *attempt.snapshot, attempt.taken);
  event.time = attempt.taken;
  event.process = attempt.process->key;
  const auto comment =
      provenance_comment(CaptureMethod::kLive, request, *attempt.target, clock_.wall_of(attempt.taken));
  return store_snapshot(std::move(*attempt.snapshot), *attempt.process, std::move(event), comment, clock_,
                        request.deadline);
}

CaptureOutcome LiveCapture::capture(const CaptureRequest& request) {
  CaptureFinished event = event_of(request, CaptureMethod::kLive, clock_.now());
  const ReadGate::Pass pass = gate_.enter(request.deadline);  // held until the profile is written
  Attempt attempt;
  const bool wants_room = memory_ != nullptr && pass.is_in();
  const auto room = wants_room ? memory_->take(kMemoryBytes, request.deadline - clock_.now()) : std::nullopt;
  if (wants_room && !room) {
    attempt.failure = Failure{"timeout", "other captures took all the memory that is theirs", event.process};
  } else if (pass.is_in()) {
    attempt = try_targets(request);
  } else {
    attempt.failure = Failure{"timeout", "another read took all the time", event.process};
  }
  if (!attempt.failure) return store(request, std::move(event), std::move(attempt));
  event.time = clock_.now();
  event.process = attempt.failure->process;
  if (attempt.failure->reason == "not_go") event.result = CaptureResult::kSkipped;  // nothing there to fail at
  event.reason = std::move(attempt.failure->reason);
  event.detail = std::move(attempt.failure->detail);
  return {std::move(event), ""};
}

void LiveCapture::prepare(const CaptureRequest& request) {
  for (const CaptureTarget& target : request.targets) (void)processes_.add(target.process);  // capture() says why not
}

}  // namespace oomw
