// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/spool.h"
#include "model/memory_model.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// Turns decisions into capture requests, runs them on workers and brings back CaptureFinished
// events. Core thread, except where said.
//   - one capture in flight per limiting cgroup; a second decision meanwhile is "skipped: busy";
//   - a full worker queue is "skipped: queue_full": every decision ends in exactly one event;
//   - the profile is on disk (Spool) before the event is delivered;
//   - a prepare decision makes no event and takes no part in these counts.
class CaptureScheduler {
 public:
  using Deliver = std::function<void(CaptureFinished)>;  // called on the core thread

  // loop, workers, backend, spool and clock outlive this. workers must be drained first.
  CaptureScheduler(EventLoop& loop, WorkerPool& workers, CaptureBackend& backend, Spool& spool, const Clock& clock,
                   Nanoseconds timeout, Deliver deliver);

  void on_decision(const TriggerDecision& decision, const WatermarkCrossed& crossing, const MemoryModel& model);
  [[nodiscard]] std::size_t in_flight() const { return busy_.size(); }

 private:
  [[nodiscard]] CaptureRequest make_request(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                            const MemoryModel& model);
  void prepare(CaptureRequest request);
  void start(CaptureRequest request);
  void skip(const CaptureRequest& request, std::string reason);
  void run(const CaptureRequest& request);  // worker thread
  void deliver_done();
  EventLoop& loop_;
  WorkerPool& workers_;
  CaptureBackend& backend_;
  Spool& spool_;
  const Clock& clock_;
  Nanoseconds timeout_;
  Deliver deliver_;
  std::uint64_t next_id_ = 1;
  std::map<CgroupId, std::uint64_t> busy_;
  std::mutex done_mutex_;
  std::vector<CaptureFinished> done_;  // finished, not delivered yet; at most one a running capture
};

}  // namespace oomw
