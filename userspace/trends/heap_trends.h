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
#include "events/leak_suspicion.h"
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
  // The longest list of a Go heap, 60,000 buckets, takes 60 ms of CPU.
  Nanoseconds read_timeout = std::chrono::milliseconds(500);
  // Of one core, for reading Go heaps. They share it.
  double core_share = 0.0006;
  // Of one core, for reading what fills programs without heap profiles (analyses/contents_runtime.h); 0: not read.
  double contents_core_share = 0.0003;
};

// The part of `config` for Go heaps.
[[nodiscard]] TrendConfig go_trends_config(TrendConfig config);
// The part of `config` for the others: less often, because a reading takes 0.1 to 1 ms a MiB.
[[nodiscard]] TrendConfig contents_trends_config(TrendConfig config);

// Reads the heap of every readable program from time to time, keeps its trend, and judges it after each reading.
//   - Scheduled readings have a worker of their own, and wait while captures are under way: for kLongestBusy, since a
//     node with many slow endpoints always has one.
//   - If no collection has published its counts since the last reading, 4 bytes show that the live bytes are unchanged,
//     and the heap is not read again ("no_gc").
//   - Heaps that were read for another reason (a capture, the walk at a kill) are readings too.
//   - A reading leases its memory; if captures want all of it, the reading is left out and counted.
// Core thread, except where noted. The core never waits for a trend: only workers take the store's lock.
class HeapTrends {
 public:
  // For 20,000 buckets of 20 frames: no profile is made of them.
  static constexpr std::uint64_t kMemoryBytes = 6u << 20;
  // Three profiles of a trend, one after the other.
  static constexpr std::uint64_t kEvidenceBytes = 20u << 20;
  // Of a living heap, which finds this much left whatever a scheduled reading takes.
  static constexpr std::uint64_t kLeftForCaptures = 18u << 20;
  // Fewer readings show nothing that a capture does not.
  static constexpr std::size_t kLeastReadings = 3;
  static constexpr Nanoseconds kLongestBusy = std::chrono::seconds(10);
  // Of a thousand kills at once, the first few are judged before their incidents are written: the worker takes
  // milliseconds for each, and has room for kQueue tasks, evidence among them.
  static constexpr std::size_t kMaxJudgedAtKill = 8;
  static constexpr std::size_t kMaxAwaited = 256;  // victims whose walk is awaited; the evidence of more is left out
  using OnJudged = std::function<void(const TrendJudged&)>;
  // Processes whose container's memory is read in one tick: a microsecond each.
  static constexpr std::size_t kMemoryLooks = 256;
  using MemoryOf = std::function<std::optional<ContainerMemory>(ProcessKey)>;

  // Everything passed by reference outlives this, and so does what memory_of touches.
  HeapTrends(EventLoop& loop, Runtime& runtime, const Clock& clock, MemoryBudget& memory, TrendConfig config,
             MemoryOf memory_of, OnJudged on_judged, KeepTrendFile keep);

  // Somebody else reads it, and add() will bring what was found.
  void note_read(ProcessKey process) { schedule_.note_read(process, clock_.now()); }
  // About once a second. is_busy: captures are under way.
  void tick(bool is_busy);
  void on_exit(ProcessKey process);
  // Ends what is under way; from then on only add(). Call it before the registry goes, whose workers call add(). False:
  // a thread hangs on that uses this.
  [[nodiscard]] bool stop_reading();
  // Adds a heap that was read for another reason. Any worker.
  void add(const RuntimeProcess& process, const HeapReading& heap, ReadingOrigin origin);
  [[nodiscard]] ReadingWatcher watcher(ReadingOrigin origin);

  // Called at a kill, before its incident is first written: judges the readings so far and gives the result to
  // on_judged on the core thread. Of the victim that an incident is about, the evidence follows: once, as soon as its
  // walk is a reading too, see trend_evidence.h, and with it the judgement that names the files.
  void judge_at_kill(ProcessKey victim, bool has_incident);
  // Its walk was added, failed or never came. Any thread.
  void on_no_more_readings(ProcessKey victim);

  // Processes read often enough to judge. Any thread, as is metrics().
  [[nodiscard]] LeakSuspicions suspicions() const;
  [[nodiscard]] TrendMetrics metrics() const;
  [[nodiscard]] std::uint64_t given_up() const { return worker_->given_up(); }

 private:
  struct Look {
    std::string result;  // "": it was not even tried
    Nanoseconds cost{};
  };
  // Held, because the registry forgets an exited process before the last of many walks is decoded.
  struct Awaited {
    RuntimeProcessPtr process;
    MonotonicTime since;
  };
  void list_processes(MonotonicTime now);
  void await_walk(const RuntimeProcessPtr& victim);
  void end_long_waits(MonotonicTime now);
  void note_memory();
  // For a process read often enough. A copy, since naming and writing must not hold up captures that add readings.
  struct Known {
    HeapTrend trend;
    LeakReport report;
  };
  [[nodiscard]] std::optional<Known> known_of(ProcessKey victim);  // worker thread
  void report(const Known& known, const RuntimeProcess& victim, ProgramNames& names,
              const TrendEvidence& evidence);                                                  // worker thread
  void keep_evidence(const RuntimeProcess& victim);                                            // worker thread
  void read(ProcessKey process);                                                               // worker thread
  [[nodiscard]] std::string read_into_store(ProcessKey process, Nanoseconds& cost_elsewhere);  // worker thread
  [[nodiscard]] bool has_nothing_new(ProcessKey process);                                      // worker thread
  void judge_locked(ProcessKey process);  // any worker, with store_mutex_
  // Of the suspects that gained half as much as the first one or more, the one whose name tells most.
  [[nodiscard]] GrowingContents growing_in(const HeapTrend& trend, const LeakReport& report,
                                           const RuntimeProcess& process) const;
  void say_suspected(ProcessKey process, const LeakReport& report, const GrowingContents& growing) const;
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
  const KeepTrendFile keep_;
  TrendSchedule schedule_;
  MonotonicTime next_list_, next_expiry_;
  std::optional<MonotonicTime> busy_since_;

  std::mutex store_mutex_;  // taken before state_mutex_
  TrendStore store_;

  mutable std::mutex state_mutex_;  // held only for moments
  TrendMetrics metrics_;
  struct Suspected {
    Suspicion suspicion;
    GrowingContents growing;  // as of the newest judgement that raised it
  };
  std::map<ProcessKey, Suspected> suspicions_;
  std::map<ProcessKey, std::uint64_t> limits_;  // as of the last reading of its memory
  std::map<std::int32_t, Awaited> awaited_;     // by pid: victims whose evidence waits for their walk

  std::unique_ptr<WorkerPool> worker_;  // last: joined before what its tasks touch; reset with state_mutex_
};

}  // namespace oomw
