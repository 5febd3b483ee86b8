// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_writer.h"

#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "daemon/boot.h"

namespace oomw {
EvidenceWriter::EvidenceWriter(EventLoop& loop, WorkerPool& worker, Spool& spool, const Clock& clock,
                               std::string data_dir, Retention retention, Written written,
                               IncidentStore::ReadProfiles read_profiles, IncidentStore::CopyUrl copy_url)
    : loop_(loop),
      worker_(worker),
      spool_(spool),
      clock_(clock),
      data_dir_(std::move(data_dir)),
      retention_(retention),
      store_(
          data_dir_,
          [this](const EvidenceFile& file, const std::string& target) {
            return spool_.place(file.spool_file, target, file.comments);
          },
          std::move(read_profiles), std::move(copy_url)),
      start_(ClockReading{clock.wall_now(), time_since_boot(), ""}),
      written_(std::move(written)) {
  prune_soon();
}

void EvidenceWriter::write(Incident incident) {
  if (is_on_disk(incident.id)) {
    backlog_.add_amendment(std::move(incident));
  } else {
    backlog_.add_first(std::move(incident));
  }
  pump();
}

// No incident is in both queues: the first write is of what is not on disk.
void EvidenceWriter::pump() {
  if (is_retry_armed_) return;
  if (!first_in_flight_) {
    if (auto next = backlog_.take_first()) submit(std::move(*next), true);
  }
  if (!amendment_in_flight_ && !is_retry_armed_ && backlog_.firsts() == 0) {
    if (auto next = backlog_.take_amendment()) submit(std::move(*next), false);
  }
}

void EvidenceWriter::submit(Incident incident, bool is_first) {
  auto given = std::make_shared<UnderWay>(std::move(incident));
  in_flight(is_first) = given;
  ++under_way_;
  auto task = [this, given, is_first, directory = directory_of(given->incident.id)] {
    Outcome outcome = store(given->incident, directory);
    given->is_stored = outcome.written.has_value();
    --under_way_;
    post_back(
        [this, given, is_first, outcome = std::move(outcome)] { handle_written(given->incident, is_first, outcome); });
  };
  if (worker_.post(std::move(task))) return;
  --under_way_;
  in_flight(is_first) = nullptr;
  put_back(std::move(given->incident));
  retry_later();
}

void EvidenceWriter::put_back(Incident incident) {
  if (is_on_disk(incident.id)) {
    backlog_.put_back_amendment(std::move(incident));
  } else {
    backlog_.put_back_first(std::move(incident));
  }
}

std::string EvidenceWriter::directory_of(const std::string& id) const {
  const auto known = directories_.find(id);
  return known != directories_.end() ? known->second : "";
}

// Worker. An incident that retention removed meanwhile must not return with its amendment.
EvidenceWriter::Outcome EvidenceWriter::store(const Incident& incident, const std::string& known_directory) {
  const MonotonicTime start = clock_.now();
  if (!known_directory.empty() && ::access(known_directory.c_str(), F_OK) != 0 && errno == ENOENT) {
    return {WrittenIncident{known_directory, {}, false}, 0};
  }
  Outcome outcome{store_.write(incident), 0};
  outcome.seconds = to_seconds(clock_.now() - start);
  return outcome;
}

// Worker. A write in flight must report back, or nothing would ever be written again; a core thread that is behind by
// a full queue gets time to catch up.
void EvidenceWriter::post_back(const EventLoop::Task& task) {
  constexpr int kTries = 10'000;
  for (int tries = 0; tries < kTries && !is_over_ && !loop_.post(task); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void EvidenceWriter::handle_written(const Incident& incident, bool is_first, const Outcome& outcome) {
  in_flight(is_first) = nullptr;
  if (outcome.written.has_value()) {
    finish(incident, outcome);
  } else {
    handle_refusal(outcome.written.error());
    put_back(incident);
    retry_later();
  }
  pump();
}

void EvidenceWriter::finish(const Incident& incident, const Outcome& outcome) {
  handle_success();
  prune_soon();
  stats_.last_write_seconds = outcome.seconds;
  const auto& [directory, unplaced, has_unread] = *outcome.written;
  const bool is_revision = is_on_disk(incident.id);
  if (!is_revision) {
    ++stats_.incidents_written;
    remember(incident.id, directory);
    backlog_.make_amendment(incident.id);
    if (has_unread) backlog_.put_back_amendment(incident);  // unless a newer form waits
  }
  for (const FilesUnplaced::File& file : unplaced) {
    log::warn("incident {}: {} could not be kept: {}", printable(incident.id), file.name, file.why);
  }
  written_(incident, {directory, is_revision}, unplaced);
}

void EvidenceWriter::remember(const std::string& id, const std::string& directory) {
  directories_.emplace(id, directory);
  ids_by_age_.push_back(id);
  if (ids_by_age_.size() <= kMaxKnown) return;
  directories_.erase(ids_by_age_.front());
  ids_by_age_.pop_front();
}

// Pruning lists all incidents and may read some, so it must not run at the moment of a kill.
void EvidenceWriter::prune_soon() {
  if (std::exchange(is_prune_armed_, true)) return;
  (void)loop_.add_once(kPruneDelay, [this] {
    is_prune_armed_ = false;
    (void)worker_.post([this] { prune(); });
  });
}

void EvidenceWriter::prune() {
  const std::lock_guard lock(prune_mutex_);
  if (boot_id_.empty()) boot_id_ = read_boot_id("/proc");
  if (const auto start = std::exchange(start_, std::nullopt)) {
    store_.note_start({start->wall, start->since_boot, boot_id_});
  }
  const auto pruned = store_.prune(retention_, {clock_.wall_now(), time_since_boot(), boot_id_}, is_held_);
  if (pruned) post_back([this, pruned = *pruned] { handle_pruned(pruned); });
}

void EvidenceWriter::handle_pruned(const Pruned& pruned) {
  for (const auto& [reason, count] : pruned.incidents) stats_.incidents_pruned[reason] += count;
  stats_.clock_jumps += pruned.clock_jumps;
  stats_.is_age_held = pruned.is_age_held;
  if (pruned.is_more) prune_soon();
}

void EvidenceWriter::retry_later() {
  if (std::exchange(is_retry_armed_, true)) return;
  (void)loop_.add_once(kRetry, [this] {
    is_retry_armed_ = false;
    pump();
    if (next_ledger_ && !is_ledger_in_flight_) submit_ledger();
  });
}

void EvidenceWriter::save_ledger(LedgerState state) {
  next_ledger_ = std::move(state);
  if (!is_ledger_in_flight_ && !is_retry_armed_) submit_ledger();
}

void EvidenceWriter::submit_ledger() {
  is_ledger_in_flight_ = true;
  ++under_way_;
  LedgerState state = std::move(*std::exchange(next_ledger_, std::nullopt));
  auto task = [this, state] {
    const Result<> saved = oomw::save_ledger(data_dir_, state);
    --under_way_;
    post_back([this, state, saved] { handle_ledger(state, saved); });
  };
  if (worker_.post(std::move(task))) return;
  --under_way_;
  handle_ledger(std::move(state), fail(ErrorCode::kLimit, "writer queue full"));
}

void EvidenceWriter::handle_ledger(LedgerState state, const Result<>& saved) {
  is_ledger_in_flight_ = false;
  if (!saved.has_value()) {
    if (!next_ledger_) next_ledger_ = std::move(state);
    handle_refusal(saved.error());
    return retry_later();
  }
  if (next_ledger_) submit_ledger();
}

// The loop no longer runs: everything that waits goes to the worker, which the owner then drains. Where a disk that
// hung has let the queue fill, this thread does it.
void EvidenceWriter::flush() {
  is_over_ = true;
  const auto store_rest = [this, until = clock_.now() + kFlushTime] { store_until(until); };
  if (!worker_.post(store_rest)) store_rest();
}

// Worker, or the core thread at its end. What is under way comes first: of two ledgers, or forms of an incident, the
// newer one stays. The counts go before the incidents, since they are of all kills.
void EvidenceWriter::store_until(MonotonicTime until) {
  while (under_way_ > 0 && clock_.now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (next_ledger_) (void)oomw::save_ledger(data_dir_, *next_ledger_);
  // Nobody hears of a write that failed since the loop has ended: it is tried once more.
  for (auto* given : {&first_in_flight_, &amendment_in_flight_}) {
    if (*given && !(*given)->is_stored && under_way_ == 0) put_back((*given)->incident);
  }
  while (clock_.now() < until) {
    const auto incident = take_rest();
    if (!incident) return;
    const Outcome outcome = store(*incident, directory_of(incident->id));
    if (!outcome.written.has_value()) {
      log::error("incident {} could not be written to the end: {}", printable(incident->id),
                 outcome.written.error().message);
    }
  }
  if (backlog_.firsts() + backlog_.amendments() == 0) return;
  log::error("the disk was too slow to the end: {} incidents and {} amendments are not written", backlog_.firsts(),
             backlog_.amendments());
}

std::optional<Incident> EvidenceWriter::take_rest() {
  return backlog_.firsts() > 0 ? backlog_.take_first() : backlog_.take_amendment();
}

void EvidenceWriter::handle_refusal(const Error& error) {
  ++stats_.write_errors;
  if (!std::exchange(stats_.is_data_dir_writable, false)) return;  // logged already
  log::error("evidence cannot be written, keeping the newest in memory and counting on: {}", error.message);
}

void EvidenceWriter::handle_success() {
  if (std::exchange(stats_.is_data_dir_writable, true)) return;
  log::info("evidence can be written again");
}

}  // namespace oomw
