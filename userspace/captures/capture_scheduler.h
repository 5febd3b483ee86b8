// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/event_loop.h"
#include "base/fair_queue.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/spool.h"
#include "events/share_kind.h"
#include "model/memory_model.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// One capture method with its workers: every decision asks all lanes, each with its own capture id and event.
struct CaptureLane {
  CaptureMethod method = CaptureMethod::kHttp;
  CaptureBackend* backend = nullptr;  // outlives the scheduler, as do the workers
  WorkerPool* workers = nullptr;      // its own: an endpoint that hangs must not hold up other methods
  Nanoseconds timeout{};
  std::size_t slots = 1;  // captures at a time: threads of `workers`
};

// Turns decisions into capture requests, runs them on workers and returns CaptureFinished events. Core thread, except
// where noted.
//   - One capture is in flight per limiting cgroup and lane. The newest decision meanwhile waits for it (80 % may still
//     be under way when 90 % is crossed, and 90 % is the better evidence). One that is overtaken, or waits longer than
//     kMaxWait, is "skipped: busy".
//   - A decision that may not allocate in the container skips the http lane: "headroom".
//   - Containers share the workers of a lane as base/fair_queue.h describes: one that captures slowly, hangs or asks
//   all
//     the time waits or is skipped, and others are not held up. No place to wait: "skipped: queue_full"; over its
//     seconds of worker time: "skipped: budget". Every decision ends in exactly one event.
//   - The profile is on disk (Spool) before the event is delivered.
//   - A prepare decision makes no event and is not part of these counts. It is dropped where its container already has
//     something under way: capture() resolves what was not prepared.
class CaptureScheduler {
 public:
  // At 500 MB/s a 256 MiB container goes from 80 % to its limit in 100 ms: after this wait, the decision is about
  // another moment.
  static constexpr Nanoseconds kMaxWait = std::chrono::milliseconds(250);
  static constexpr Nanoseconds kPatience = std::chrono::seconds(3);  // past its deadline a capture hangs
  // Decoding a walk may take 15 s of a slow file system (captures/walk_capture.cc).
  static constexpr Nanoseconds kWalkPatience = std::chrono::seconds(30);
  static constexpr std::size_t kMaxWalks = 256, kMaxWalksOfOne = 128;  // that wait
  using Deliver = std::function<void(CaptureFinished)>;                // called on the core thread

  // Everything passed by reference outlives this; the lanes' workers must be drained first. lanes: the best method
  // first. is_opt_in: see why_left_alone().
  CaptureScheduler(EventLoop& loop, std::vector<CaptureLane> lanes, Spool& spool, const Clock& clock, Deliver deliver,
                   bool is_opt_in = false);

  void on_decision(const TriggerDecision& decision, const WatermarkCrossed& crossing, const MemoryModel& model);
  // What a decision asks for, without capture id and deadline. The processes of a limit, the likely culprit first.
  [[nodiscard]] CaptureRequest make_request(const TriggerDecision& decision, const WatermarkCrossed& crossing,
                                            const MemoryModel& model) const;
  // Evidence that no watermark requested (the walk at a kill): `take` runs on `workers`; its outcome gets a capture id
  // and is stored (for `owner`) and delivered like any other. One at a time, in fair order. False: `owner` has no
  // place.
  [[nodiscard]] bool run_on(WorkerPool& workers, ShareOwner owner, std::function<CaptureOutcome()> take);
  void tick();  // about once a second: the place of a capture that hangs goes to the next
  [[nodiscard]] std::size_t in_flight() const { return busy_.size(); }
  void add_excesses(ShareExcesses& excesses) const;

 private:
  struct Running {
    std::uint64_t capture_id = 0;
    std::optional<CaptureRequest> next;  // the decision that waits
  };
  using Place = std::pair<CgroupId, const CaptureLane*>;
  struct Task {
    std::function<std::optional<CaptureFinished>()> run;  // worker thread; nullopt: no event
    std::function<void()> refused;                        // the workers' own queue is full
  };
  // What waits for some workers or runs on them.
  struct Work {
    WorkerPool* workers = nullptr;
    FairQueue queue;
    std::map<std::uint64_t, Task> waiting;  // by job
  };
  struct Done {
    std::uint64_t job = 0;
    Nanoseconds cost{0};
    std::optional<CaptureFinished> event;
  };
  [[nodiscard]] Work& work_of(const CaptureLane& lane);
  [[nodiscard]] FairQueue::Added add(Work& work, std::uint64_t job, const ShareOwner& owner, Task task);
  void run_next(Work& work);
  void finish(Done done);  // worker thread
  void ask(const CaptureLane& lane, CaptureRequest request, const TriggerDecision& decision);
  void prepare(const CaptureLane& lane, const CaptureRequest& request);
  void start(const CaptureLane& lane, CaptureRequest request);
  void wait_for_running(const CaptureLane& lane, CaptureRequest request);
  void start_waiting(const CaptureLane& lane, CaptureRequest request);
  void skip(const CaptureLane& lane, const CaptureRequest& request, CaptureReason reason);
  [[nodiscard]] CaptureFinished run(const CaptureLane& lane, const CaptureRequest& request);  // worker thread
  [[nodiscard]] CaptureFinished store(std::uint64_t capture_id, const ShareOwner& owner,
                                      CaptureOutcome outcome);  // worker thread
  void deliver_done();
  void release(std::uint64_t capture_id);

  EventLoop& loop_;
  const std::vector<CaptureLane> lanes_;
  Spool& spool_;
  const Clock& clock_;
  Deliver deliver_;
  const bool is_opt_in_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_preparation_ = std::uint64_t{1} << 63;  // numbers of jobs that are no captures
  std::map<const void*, Work> work_;                         // by lane; that of run_on() by its workers
  std::map<Place, Running> busy_;
  std::mutex done_mutex_;
  std::vector<Done> done_;  // not delivered yet; at most one per running job
};

}  // namespace oomw
