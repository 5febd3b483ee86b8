// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/event_loop.h"
#include "base/memory_budget.h"
#include "base/worker_pool.h"
#include "events/trend_judged.h"
#include "runtimes/runtime.h"
#include "trends/leak_detector.h"
#include "trends/suspicion.h"
#include "trends/trend_evidence.h"
#include "trends/trend_metrics.h"
#include "trends/trend_store.h"
#include "triggers/trend_schedule.h"

namespace oomw {

struct TrendConfig {
  bool enabled = true;
  TrendStoreConfig store;
  TrendScheduleConfig schedule;
  LeakParameters leak;
  // Growth seen for less than this may be a cache that fills: no alarm yet.
  Nanoseconds suspect_after = std::chrono::minutes(5);
};

// Reads the heap of every program that can be read now and then, keeps its trend, and judges it after each reading.
//   - readings by the schedule have a worker of their own, and wait while captures are under way;
//   - where no collection has published its counts since the last reading, 4 bytes tell that nothing is
//     new in what is live, and the heap is not read again ("no_gc");
//   - heaps that were read for another reason (a capture, the walk at a kill) are readings too;
//   - a reading leases its memory; where captures want all of it, it is left out and counted.
// Core thread, except where said. The core never waits for a trend: the store's lock is the workers'.
class HeapTrends {
 public:
  // Of 20,000 buckets of 20 frames: no profile is made of them.
  static constexpr std::uint64_t kMemoryBytes = 6u << 20;
  // Captures find this much left whatever trends take.
  static constexpr std::uint64_t kLeftForCaptures = 40u << 20;
  // Fewer readings tell nothing that a capture does not.
  static constexpr std::size_t kLeastReadings = 3;
  // Of a thousand kills at once the first few are judged before they are written: the worker takes
  // milliseconds for each, and has room for kQueue tasks, evidence among them.
  static constexpr std::size_t kMaxJudgedAtKill = 8;
  // The longest list, 60,000 buckets, takes 60 ms of CPU.
  static constexpr Nanoseconds kTimeout = std::chrono::milliseconds(500);
  using OnJudged = std::function<void(const TrendJudged&)>;
  // Whose container's memory is looked at in one tick: a microsecond each.
  static constexpr std::size_t kMemoryLooks = 256;
  using MemoryOf = std::function<std::optional<ContainerMemory>(ProcessKey)>;

  // All of it outlives this, and so does what memory_of touches.
  HeapTrends(EventLoop& loop, Runtime& runtime, const Clock& clock, MemoryBudget& memory, TrendConfig config,
             MemoryOf memory_of, OnJudged on_judged);

  // About once a second. is_busy: captures are under way.
  void tick(bool is_busy);
  void on_exit(ProcessKey process);
  // Ends what is under way; from here on only add(). Before the registry goes, whose workers call that.
  void stop_reading() { worker_.reset(); }
  // Any worker: a heap that was read anyway.
  void add(const RuntimeProcess& process, const HeapReading& heap, ReadingOrigin origin);
  [[nodiscard]] ReadingWatcher watcher(ReadingOrigin origin);

  // At a kill, before its incident is written for the first time: what the readings so far come to, to on_judged
  // on the core thread. Where it comes too late, or so much waits that it is left out, that of write_evidence()
  // amends the incident.
  void judge_at_kill(ProcessKey victim);
  // Beside an incident of this victim: see trend_evidence.h, and to on_judged on the core thread. On the
  // worker; nothing if there is no trend of it. Again when its walk came later.
  void write_evidence(ProcessKey victim, const std::string& directory);

  // Processes read often enough to say, and whether a leak is suspected. Any thread, as is metrics().
  [[nodiscard]] std::map<ProcessKey, bool> suspicions() const;
  [[nodiscard]] TrendMetrics metrics() const;
  [[nodiscard]] std::uint64_t given_up() const { return worker_->given_up(); }

 private:
  struct Look {
    std::string result;  // "": it was not even tried
    Nanoseconds cost{};
  };
  void list_processes(MonotonicTime now);
  void note_memory();
  // Of a process that was read often enough; a copy, since naming and writing must not hold up captures that add.
  struct Known {
    HeapTrend trend;
    LeakReport report;
  };
  [[nodiscard]] std::optional<Known> known_of(ProcessKey victim);  // worker thread
  void report(const Known& known, const RuntimeProcess& victim, ProgramNames& names,
              const TrendFiles& files);                                                 // worker thread
  void write_evidence_now(const RuntimeProcess& victim, const std::string& directory);  // worker thread
  void read(ProcessKey process);                                                        // worker thread
  [[nodiscard]] std::string read_into_store(ProcessKey process);                        // worker thread
  [[nodiscard]] bool has_nothing_new(ProcessKey process);                               // worker thread
  void judge_locked(ProcessKey process);                                                // any worker, with store_mutex_
  [[nodiscard]] std::optional<std::uint64_t> limit_of_locked(ProcessKey process) const;
  void finish(ProcessKey process, const Look& look);
  void publish_locked();

  EventLoop& loop_;
  Runtime& runtime_;
  const Clock& clock_;
  MemoryBudget& memory_;
  const TrendConfig config_;
  const MemoryOf memory_of_;
  const OnJudged on_judged_;
  TrendSchedule schedule_;
  MonotonicTime next_list_, next_expiry_;

  std::mutex store_mutex_;  // taken before state_mutex_
  TrendStore store_;

  mutable std::mutex state_mutex_;  // held for moments only
  TrendMetrics metrics_;
  std::map<ProcessKey, Suspicion> suspicions_;
  std::map<ProcessKey, std::uint64_t> limits_;  // as of the last look at its memory

  std::unique_ptr<WorkerPool> worker_;  // last: joined before what its tasks touch
};

}  // namespace oomw
