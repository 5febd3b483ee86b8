// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "analyses/analysis.h"
#include "analyses/jvm_counter_files.h"
#include "base/event_loop.h"
#include "base/fair_queue.h"
#include "base/memory_budget.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/spool.h"
#include "events/heap_analysed.h"
#include "events/share_kind.h"
#include "process/process_files.h"
#include "reader/reader_group.h"
#include "triggers/analysis_policy.h"

namespace oomw {

// Analyses the memory of living processes whose container nears its limit (analyses/analysis.h), and returns
// HeapAnalysed events. Holds the files of JVMs' counters meanwhile; what one of them says after the kill is one more
// event, whose trigger is the kill.
//   - At most kAtOnce run on a node, each for another container, on threads and in reader processes of their own.
//     A kill never waits for them. A container waits only while kAtOnce others are analysed.
//   - How much is read is decided when it begins, by the time that is left then and what the runtime's memory costs:
//     all, a sample of its objects, or its parts by the mappings.
//   - Containers share those threads as base/fair_queue.h describes. What finds no place, waited so long that it would
//     be about another moment, or could not end before the limit is counted in dropped().
//   - Of a request's targets the largest process is analysed, if it still lives. A process that ended meanwhile makes
//     events that failed: what was read of it is thrown away, because a part of a heap names wrong holders.
//   - Files are in the spool before the event is delivered.
// Core thread, except where noted.
class HeapAnalyses {
 public:
  static constexpr std::size_t kAtOnce = 2;
  static constexpr Nanoseconds kMaxWait = std::chrono::seconds(10);
  static constexpr Nanoseconds kSecondsOfOne = std::chrono::seconds(8);  // a minute
  static constexpr Nanoseconds kPatience = std::chrono::seconds(60);     // longer, and it hangs
  using Deliver = std::function<void(HeapAnalysed)>;                     // called on the core thread

  // Everything passed by reference outlives this; the worker (kAtOnce threads) is drained first.
  HeapAnalyses(EventLoop& loop, WorkerPool& worker, reader::ReaderGroup& readers, Spool& spool, MemoryBudget& memory,
               const Clock& clock, std::string proc_root, Deliver deliver);

  // A capture was decided on; request.capture_id is not used. time_to_limit: at the present growth; nullopt: not known.
  void consider(const CaptureRequest& request, std::optional<Nanoseconds> time_to_limit);
  // It was killed for the limit of `cgroup`: its last counters follow, if it was a JVM.
  void read_counters(ProcessKey victim, CgroupId cgroup);
  void forget(CgroupId cgroup) { policy_.forget(cgroup); }        // a kill there, or removed
  void tick();                                                    // about once a second
  [[nodiscard]] bool is_idle() const { return open_jobs_ == 0; }  // nothing waits or runs; any thread
  [[nodiscard]] std::uint64_t dropped() const { return dropped_ + counter_files_.dropped(); }
  void add_excesses(ShareExcesses& excesses) const;

 private:
  struct Done {
    std::uint64_t job = 0;
    Nanoseconds cost{0};
    CgroupId cgroup;
    std::optional<AnalysisPolicy::Depth> found;  // nullopt: as planned, or nothing was to be read
    std::vector<HeapAnalysed> events;
  };
  struct Waiting {
    CaptureRequest request;
    bool is_due = false;                      // no: only the file of its counters is opened
    std::optional<MonotonicTime> limit_at{};  // when the limit is reached at that growth
  };
  void run_next();
  void deliver_done();
  void finish(Done done);  // a worker thread
  // These on the worker threads.
  void run(const Waiting& waiting, Done& done);
  void analyse(const Waiting& waiting, const CaptureTarget& target, Done& done);
  [[nodiscard]] AnalysisPolicy::Plan plan_for(const Waiting& waiting, const HeapAnalysis& row) const;
  // False: the process is none for that row.
  [[nodiscard]] bool analyse_row(const CaptureRequest& request, const ProcessFiles& process, std::size_t row,
                                 std::uint32_t one_in, std::vector<HeapAnalysed>& events);
  [[nodiscard]] const CaptureTarget* largest(const std::vector<CaptureTarget>& targets) const;
  void keep_files(struct AnalysisAnswer& answer, const CaptureRequest& request);

  EventLoop& loop_;
  WorkerPool& worker_;
  reader::ReaderGroup& readers_;
  Spool& spool_;
  MemoryBudget& memory_;
  const Clock& clock_;
  const std::string proc_root_;
  Deliver deliver_;
  AnalysisPolicy policy_;
  FairQueue queue_;
  std::map<std::uint64_t, Waiting> waiting_;  // by job
  std::uint64_t next_job_ = 1;
  std::atomic<std::size_t> open_jobs_ = 0;  // waiting, running, or not delivered
  std::atomic<std::uint64_t> dropped_ = 0;
  JvmCounterFiles counter_files_;
  std::mutex done_mutex_;
  std::vector<Done> done_;  // not delivered yet; at most one per running job
};

}  // namespace oomw
