// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "base/memory_budget.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/go_processes.h"
#include "daemon/heap_trends.h"

namespace oomw {

// Readings for the trend of Go programs whose heap cannot be read from outside (32-bit, no list of buckets
// found): their own endpoint is asked. Off unless [trend] http = true, for asking makes the process work and
// allocate.
//   - after everybody else: only while no capture is under way, one at a time, on the workers of captures;
//   - whom a capture would leave alone is left alone (TargetOf says), and so is who has too little headroom;
//   - each every interval at most, and all together at kMaxCoreShare of a core;
//   - what came of it is counted: "http_ok" or "http_" and the capture's reason.
// Core thread.
class HttpTrends {
 public:
  static constexpr double kMaxCoreShare =
      0.0007;  // as TrendScheduleConfig's; what the endpoint costs is not ours to bound
  // Those that are there at the start are spread over this.
  static constexpr Nanoseconds kFirstRound = std::chrono::seconds(10);
  // Nothing: not to be asked, for now.
  using TargetOf = std::function<std::optional<CaptureTarget>(ProcessKey)>;
  struct Config {
    Nanoseconds interval;
    Nanoseconds timeout;
  };

  // All of it outlives this; `workers` are drained before.
  HttpTrends(EventLoop& loop, GoProcesses& processes, const Clock& clock, MemoryBudget& memory, CaptureBackend& http,
             WorkerPool& workers, HeapTrends& trends, Config config, TargetOf target_of);

  void tick(bool is_busy);  // about once a second

 private:
  void list_processes(MonotonicTime now);
  void ask(GoProcessPtr process, CaptureTarget target, MonotonicTime now);
  [[nodiscard]] std::string take(const GoProcess& process, const CaptureRequest& request);  // worker thread
  void finish(const std::string& result, Nanoseconds cost);

  EventLoop& loop_;
  GoProcesses& processes_;
  const Clock& clock_;
  MemoryBudget& memory_;
  CaptureBackend& http_;
  WorkerPool& workers_;
  HeapTrends& trends_;
  const Config config_;
  const TargetOf target_of_;
  struct Entry {
    GoProcessPtr process;
    MonotonicTime due;
  };
  std::map<ProcessKey, Entry> entries_;
  MonotonicTime next_list_, not_before_;
  std::optional<MonotonicTime> asking_until_;  // under way; past it its end was lost on a core that was behind
};

}  // namespace oomw
