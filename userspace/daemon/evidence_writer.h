// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/event_loop.h"
#include "base/worker_pool.h"
#include "captures/spool.h"
#include "daemon/evidence_backlog.h"
#include "sinks/incident_sink.h"
#include "store/incident_store.h"
#include "store/ledger_file.h"

namespace oomw {

struct EvidenceStats {
  std::uint64_t incidents_written = 0;
  std::uint64_t write_errors = 0;
  std::map<LossReason, std::uint64_t> incidents_pruned;  // by retention, since the start
  std::uint64_t clock_jumps = 0;                         // of the wall clock, found by retention
  bool is_age_held = false;                              // no incident is dropped for its age: the clock is in doubt
  double last_write_seconds = 0;
  bool is_data_dir_writable = true;
};

// Puts incidents and kill counts on disk from workers, so that an fsync never holds up the core thread. Core thread
// only; the workers get values and post back.
//   - one first write and one amendment are in flight at a time, and an amendment begins only while no first write
//     waits: the next kill's evidence must not wait for amendments of the last one, whose profiles may take seconds to
//     read. What a first write's report had no time for, an amendment brings. The others wait in an EvidenceBacklog:
//     bounded in bytes, and kills are the last that it gives up;
//   - a disk that refuses (full, read-only, unreadable) is logged once; what waits is tried again every kRetry until
//     space returns;
//   - the ledger is coalesced: one save in flight, the newest state next, retried like incidents.
class EvidenceWriter {
 public:
  static constexpr std::size_t kMaxKnown = 4'096;
  static constexpr Nanoseconds kRetry = std::chrono::seconds(2);
  // 400 incidents at 75 ms each, on a disk beside other writers.
  static constexpr Nanoseconds kFlushTime = std::chrono::seconds(30);
  static constexpr Nanoseconds kPruneDelay = std::chrono::seconds(5);
  // On disk, but for the files in `unplaced`. Called on the core thread; nothing that it does writes this incident
  // again, except a revision without those files.
  using Written = std::function<void(const Incident&, const StoredAt&, const UnplacedFiles& unplaced)>;

  // Everything passed by reference outlives this. `worker` has two threads, or one where nothing is to run beside.
  EvidenceWriter(EventLoop& loop, WorkerPool& worker, Spool& spool, const Clock& clock, std::string data_dir,
                 Retention retention, Written written,
                 IncidentStore::ReadProfiles read_profiles = IncidentStore::read_profiles_here,
                 IncidentStore::CopyUrl copy_url = {});
  // Which incidents retention must leave alone; called by the worker. Before the first write.
  void set_held(IsHeld is_held) { is_held_ = std::move(is_held); }

  void write(Incident incident);
  void save_ledger(LedgerState state);
  // At the end, when the loop has stopped: hands everything that waits to the worker, which writes for kFlushTime at
  // most, or writes it itself where the worker's queue is full. Anything left after that would be lost to the SIGKILL
  // that follows a SIGTERM.
  void flush();
  [[nodiscard]] const EvidenceStats& stats() const { return stats_; }
  [[nodiscard]] const EvidenceBacklog& backlog() const { return backlog_; }

 private:
  struct Outcome {
    Result<WrittenIncident> written;
    double seconds = 0;
  };
  // What a worker has: null while it has none.
  struct UnderWay {
    explicit UnderWay(Incident its) : incident(std::move(its)) {}
    Incident incident;
    std::atomic<bool> is_stored = false;
  };
  void pump();
  void submit(Incident incident, bool is_first);
  [[nodiscard]] Outcome store(const Incident& incident, const std::string& known_directory);
  [[nodiscard]] std::string directory_of(const std::string& id) const;
  void post_back(const EventLoop::Task& task);
  [[nodiscard]] std::shared_ptr<UnderWay>& in_flight(bool is_first) {
    return is_first ? first_in_flight_ : amendment_in_flight_;
  }
  void handle_written(const Incident& incident, bool is_first, const Outcome& outcome);
  void finish(const Incident& incident, const Outcome& outcome);
  void put_back(Incident incident);
  void remember(const std::string& id, const std::string& directory);
  void retry_later();
  void prune_soon();
  void prune();  // worker
  void handle_pruned(const Pruned& pruned);
  void store_until(MonotonicTime until);
  [[nodiscard]] std::optional<Incident> take_rest();
  [[nodiscard]] bool is_on_disk(const std::string& id) const { return directories_.contains(id); }
  void submit_ledger();
  void handle_ledger(LedgerState state, const Result<>& saved);
  void handle_refusal(const Error& error);
  void handle_success();

  EventLoop& loop_;
  WorkerPool& worker_;
  Spool& spool_;
  const Clock& clock_;
  const std::string data_dir_;
  const Retention retention_;
  IncidentStore store_;                // used by workers only
  std::mutex prune_mutex_;             // of the next two
  std::string boot_id_;                // "" = not read yet
  std::optional<ClockReading> start_;  // when this was made, until the first pruning
  Written written_;
  IsHeld is_held_;
  EvidenceBacklog backlog_;
  std::unordered_map<std::string, std::string> directories_;  // by id; present: the next write is an amendment
  std::deque<std::string> ids_by_age_;                        // the same ids, oldest first
  std::optional<LedgerState> next_ledger_;
  std::atomic<bool> is_over_ = false;  // tasks posted back are no longer run
  std::atomic<int> under_way_ = 0;     // incidents and ledgers that workers have
  std::shared_ptr<UnderWay> first_in_flight_, amendment_in_flight_;
  bool is_ledger_in_flight_ = false;
  bool is_retry_armed_ = false;
  bool is_prune_armed_ = false;
  EvidenceStats stats_;
};

}  // namespace oomw
