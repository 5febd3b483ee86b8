// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/spool.h"
#include "model/memory_model.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// One capture method with its workers: every decision asks all lanes, each with its own capture id and event.
struct CaptureLane {
  CaptureMethod method = CaptureMethod::kHttp;
  CaptureBackend* backend = nullptr;  // outlives the scheduler, as do the workers
  WorkerPool* workers = nullptr;      // its own: an endpoint that hangs must not hold up other methods
  Nanoseconds timeout{};
};

// Turns decisions into capture requests, runs them on workers and returns CaptureFinished events. Core thread, except
// where noted.
//   - One capture is in flight per limiting cgroup and lane. The newest decision meanwhile waits for it (80 % may still
//     be under way when 90 % is crossed, and 90 % is the better evidence). One that is overtaken, or waits longer than
//     kMaxWait, is "skipped: busy".
//   - A decision that may not allocate in the container skips the http lane: "headroom".
//   - A full worker queue is "skipped: queue_full": every decision ends in exactly one event.
//   - The profile is on disk (Spool) before the event is delivered.
//   - A prepare decision makes no event and is not part of these counts.
class CaptureScheduler {
 public:
  // At 500 MB/s a 256 MiB container goes from 80 % to its limit in 100 ms: after this wait, the decision is about
  // another moment.
  static constexpr Nanoseconds kMaxWait = std::chrono::milliseconds(250);
  using Deliver = std::function<void(CaptureFinished)>;  // called on the core thread

  // Everything passed by reference outlives this; the lanes' workers must be drained first. lanes: the best method
  // first. is_opt_in: see why_left_alone().
  CaptureScheduler(EventLoop& loop, std::vector<CaptureLane> lanes, Spool& spool, const Clock& clock, Deliver deliver,
                   bool is_opt_in = false);

  void on_decision(const TriggerDecision& decision, const WatermarkCrossed& crossing, const MemoryModel& model);
  // Evidence that no watermark requested (the walk at a kill): `take` runs on `workers`; its outcome gets a capture id
  // and is stored (for `owner`) and delivered like any other. False: the queue is full.
  [[nodiscard]] bool run_on(WorkerPool& workers, ShareOwner owner, std::function<CaptureOutcome()> take);
  [[nodiscard]] std::size_t in_flight() const { return busy_.size(); }

 private:
  [[nodiscard]] CaptureRequest make_request(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                            const MemoryModel& model);
  struct Running {
    std::uint64_t capture_id = 0;
    std::optional<CaptureRequest> next;  // the decision that waits
  };
  using Place = std::pair<CgroupId, const CaptureLane*>;
  void ask(const CaptureLane& lane, CaptureRequest request, const TriggerDecision& decision);
  void prepare(const CaptureLane& lane, const CaptureRequest& request);
  void start(const CaptureLane& lane, CaptureRequest request);
  void wait_for_running(const CaptureLane& lane, CaptureRequest request);
  void start_waiting(const CaptureLane& lane, CaptureRequest request);
  void skip(const CaptureLane& lane, const CaptureRequest& request, CaptureReason reason);
  void run(const CaptureLane& lane, const CaptureRequest& request);                       // worker thread
  void store(std::uint64_t capture_id, const ShareOwner& owner, CaptureOutcome outcome);  // worker thread
  void deliver_done();
  void release(std::uint64_t capture_id);

  EventLoop& loop_;
  const std::vector<CaptureLane> lanes_;
  Spool& spool_;
  const Clock& clock_;
  Deliver deliver_;
  const bool is_opt_in_;
  std::uint64_t next_id_ = 1;
  std::map<Place, Running> busy_;
  std::mutex done_mutex_;
  std::vector<CaptureFinished> done_;  // finished, not delivered yet; at most one per running capture
};

}  // namespace oomw
