// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/worker_pool.h"
#include "captures/capture_scheduler.h"
#include "captures/inspection_queue.h"
#include "captures/stored_reading.h"
#include "events/lost_stage.h"
#include "events/share_kind.h"
#include "export/metrics_snapshot.h"
#include "facts/operation_patterns.h"
#include "kernel/kernel_source.h"
#include "reader/reader_group.h"
#include "runtimes/go/go_registry.h"
#include "runtimes/go/inspection_jobs.h"

namespace oomw {

// Gives the kernel the address of every Go program's heap profile, and makes captures of the walks that it does at
// kills. Of the Python processes whose analysis proved where their pools are it makes analyses alike. Core thread, with
// its own workers for all that reads files or memory.
//   - registration at exec, at the start-up scan, and whenever a reading of /proc finds a process; once more when an
//     analysis has proved where its goroutines are;
//   - every kill of a known Go program ends in exactly one at_kill capture, failed ones included:
//     no profile in this program, no kernel program, a walk that never came (kWalkWait), or more
//     of them at once than can be decoded;
//   - a walk whose event did not fit the ring is found by tick().
class WalkCaptures {
 public:
  // Delivery of the victim's signal takes 30 ms on a busy node; a frozen victim may never come.
  static constexpr Nanoseconds kWalkWait = std::chrono::seconds(2);
  // Not urgent: only descriptors of programs that have ended wait for it.
  static constexpr Nanoseconds kSweep = std::chrono::seconds(5);
  // The part of the budget that is left for decoding and for other captures. Walks that were taken out of the kernel's
  // pool and wait to be decoded have the rest.
  static constexpr std::uint64_t kLeftByWalks = 32u << 20;

  using OwnerOf = std::function<ShareOwner(CgroupId)>;        // core thread
  using DeliverAnalysed = std::function<void(HeapAnalysed)>;  // likewise

  // kernel, clock and memory outlive this, and so does what `deliver`, `owner_of` and `watcher` touch.
  WalkCaptures(KernelSource& kernel, const Clock& clock, MemoryBudget& memory, Nanoseconds reader_idle,
               std::string proc_root, CaptureScheduler::Deliver deliver, DeliverAnalysed deliver_analysed,
               OwnerOf owner_of, ReadingWatcher watcher = {}, OperationPatterns patterns = {});

  [[nodiscard]] GoRegistry& registry() { return registry_; }
  // Start the reader of walks, and of living heaps, ahead; workers that stay.
  void warm_up_walks() { walk_readers_.warm_up(); }
  void warm_up_heaps() { inspector_.heap_readers().warm_up(); }
  // The profile of a living program's heap, by a reader of living heaps. Any worker.
  [[nodiscard]] CaptureOutcome store_living(ReadingToStore stored, const RuntimeProcess& process);
  [[nodiscard]] std::vector<reader::ReaderCounters> reader_counters() const;

  void scan();  // processes that exist already
  void on_exec(const ProcessExec& exec);
  void on_seen(const ProcessSeen& seen);
  void on_exit(const ProcessExit& exit);
  // Its goroutines or its pools can be counted at the kill, if the reading proved where they are.
  void on_analysed(const HeapAnalysed& analysed);
  // `victim`: as the model knows it, with its start time.
  void on_kill(const OomKill& kill, ProcessKey victim);
  void on_walked(const HeapWalked& walk, CaptureScheduler& scheduler);
  void tick(CaptureScheduler& scheduler);  // about once a second
  // At the end, when the loop has stopped: inspections and walks that have not begun are dropped.
  void close();
  // Ends what is under way. False: a thread hangs on that uses this.
  [[nodiscard]] bool finish();

  void add_metrics(GoProcessMetrics& metrics) const;
  void add_excesses(ShareExcesses& excesses) const;
  // Cumulative, by stage of events_lost_total.
  [[nodiscard]] LostCounts lost() const;

 private:
  struct Awaited {
    CaptureFinished failed;  // what to deliver if the walk does not come
    MonotonicTime due;
  };
  struct KnownPools {
    ProcessKey process;
    PoolTable table;
    std::optional<HeapAnalysed> failed = {};  // killed: what to deliver if the walk does not come
    MonotonicTime due = {};
  };
  static constexpr std::size_t kMaxAwaited = 4'096, kMaxKnownPools = 256;

  [[nodiscard]] GoRegistry::Watcher watcher();
  void report_to_kernel(const GoProcess& process);
  void watch_pools(ProcessKey process, PoolTable table);
  void forget_pools(ProcessKey process);
  void await_pools(const OomKill& kill, ProcessKey victim);
  void on_pools_walked(const HeapWalked& walk);
  void give_up_pools(MonotonicTime now);
  [[nodiscard]] std::uint64_t number_of(const std::string& owner);
  void inspect(ProcessKey process, CgroupId cgroup, std::optional<MonotonicTime> exec_time);
  [[nodiscard]] static CaptureFinished failed(MonotonicTime time, const CaptureTarget& victim, CaptureReason reason,
                                              std::string detail);
  void refuse(const HeapWalked& walk);
  struct Taken;  // a walk's records, out of the pool
  [[nodiscard]] std::shared_ptr<Taken> take(const HeapWalked& walk);
  using TakeChunk = std::function<void(std::span<const std::byte> records)>;
  void empty_pool_of(const HeapWalked& walk, const TakeChunk& take) const;  // of the kernel's records of this walk
  [[nodiscard]] CaptureOutcome decode(const HeapWalked& walk, Taken* taken, const GoProcessPtr& process);
  [[nodiscard]] bool was_walked(ProcessKey victim) const;

  KernelSource& kernel_;
  const Clock& clock_;
  MemoryBudget& memory_;
  const std::string proc_root_;
  CaptureScheduler::Deliver deliver_;
  DeliverAnalysed deliver_analysed_;
  const OwnerOf owner_of_;
  const ReadingWatcher snapshot_watcher_;
  const OperationPatterns patterns_;
  reader::ReaderGroup walk_readers_;
  go::SandboxedInspector inspector_;
  GoRegistry registry_;
  std::mutex numbers_mutex_;
  std::map<std::string, std::uint64_t> numbers_;  // of owners, for the kernel
  std::uint64_t last_number_ = 0;
  std::map<ProcessKey, Awaited> awaited_;
  std::deque<KnownPools> known_pools_;  // newest last
  std::deque<ProcessKey> walked_;       // newest; a walk may overtake the report of its kill
  std::uint64_t lost_inspections_ = 0;
  ShareExcess cut_walks_;
  MonotonicTime next_sweep_;
  // Last: joined before what their tasks touch. One long walk at a time, for memory. All read executables,
  // whose file systems may hang: see WorkerPool::relieve().
  InspectionQueue inspections_;  // its workers' tasks touch it
  WorkerPool inspectors_;
  WorkerPool walkers_, short_walkers_;
};

}  // namespace oomw
