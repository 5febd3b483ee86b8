// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
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
//   - one capture in flight per limiting cgroup. The newest decision meanwhile waits for it (80 %
//     may still be under way when 90 % is crossed, and 90 % is the better evidence); one that is
//     overtaken, or waits longer than kMaxWait, is "skipped: busy";
//   - a full worker queue is "skipped: queue_full": every decision ends in exactly one event;
//   - the profile is on disk (Spool) before the event is delivered;
//   - a prepare decision makes no event and takes no part in these counts.
class CaptureScheduler {
 public:
  // At 500 MB/s a 256 MiB container goes from 80 % to its limit in 100 ms: later than this the
  // decision is about another moment.
  static constexpr Nanoseconds kMaxWait = std::chrono::milliseconds(250);
  using Deliver = std::function<void(CaptureFinished)>;  // called on the core thread

  // loop, workers, backend, spool and clock outlive this. workers must be drained first.
  CaptureScheduler(EventLoop& loop, WorkerPool& workers, CaptureBackend& backend, Spool& spool, const Clock& clock,
                   Nanoseconds timeout, Deliver deliver);

  void on_decision(const TriggerDecision& decision, const WatermarkCrossed& crossing, const MemoryModel& model);
  [[nodiscard]] std::size_t in_flight() const { return busy_.size(); }

 private:
  [[nodiscard]] CaptureRequest make_request(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                            const MemoryModel& model);
  struct Running {
    std::uint64_t capture_id = 0;
    std::optional<CaptureRequest> next;  // the decision that waits
  };
  void prepare(CaptureRequest request);
  void start(CaptureRequest request);
  void wait_for_running(CaptureRequest request);
  void start_waiting(CaptureRequest request);
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
  std::map<CgroupId, Running> busy_;
  std::mutex done_mutex_;
  std::vector<CaptureFinished> done_;  // finished, not delivered yet; at most one a running capture
};

}  // namespace oomw
