// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_writer.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace oomw {
namespace {

// What a profile that was sent on alone must still tell.
std::vector<std::string> comments_of(const Incident& incident, const IncidentCapture& capture) {
  std::vector<std::string> comments{
      fmt::format("oomwitness: incident={} lead_seconds={:.3f}", incident.id, capture.lead_seconds)};
  if (const auto ratio = coverage_of(incident, capture)) {
    comments.push_back(
        fmt::format("oomwitness: coverage={:.3f} (in use / anonymous memory of pid {})", *ratio, capture.pid));
  }
  return comments;
}

}  // namespace

EvidenceWriter::EvidenceWriter(EventLoop& loop, WorkerPool& worker, Spool& spool, const Clock& clock,
                               std::string data_dir, Retention retention, Written written)
    : loop_(loop),
      worker_(worker),
      spool_(spool),
      clock_(clock),
      data_dir_(std::move(data_dir)),
      retention_(retention),
      store_(data_dir_),
      written_(std::move(written)) {
  prune_soon();
}

void EvidenceWriter::write(Incident incident) {
  if (is_on_disk(incident.id)) {
    amendments_.insert_or_assign(incident.id, std::move(incident));
    if (amendments_.size() > kMaxPending) amendments_.erase(amendments_.begin());  // what is on disk stays
  } else {
    keep(std::move(incident), false);
  }
  pump();
}

bool EvidenceWriter::is_on_disk(const std::string& id) const {
  return std::find(known_ids_.begin(), known_ids_.end(), id) != known_ids_.end();
}

void EvidenceWriter::pump() {
  if (is_incident_in_flight_ || is_retry_armed_) return;
  if (!pending_.empty()) {
    Incident next = std::move(pending_.front());
    pending_.pop_front();
    submit(std::move(next));
  } else if (!amendments_.empty()) {
    submit(std::move(amendments_.extract(amendments_.begin()).mapped()));
  }
  stats_.pending = pending_.size();
}

void EvidenceWriter::submit(Incident incident) {
  is_incident_in_flight_ = true;
  auto task = [this, incident]() mutable {
    Outcome outcome = store(incident);
    post_back(
        [this, incident = std::move(incident), outcome = std::move(outcome)] { handle_written(incident, outcome); });
  };
  if (worker_.post(std::move(task))) return;
  is_incident_in_flight_ = false;
  keep(std::move(incident), true);
  retry_later();
}

// Worker.
EvidenceWriter::Outcome EvidenceWriter::store(const Incident& incident) {
  const MonotonicTime start = clock_.now();
  const auto place = [&](const IncidentCapture& capture, const std::string& target) {
    return spool_.place(capture.spool_file, target, comments_of(incident, capture));
  };
  Outcome outcome{store_.write(incident, place), 0};
  outcome.seconds = to_seconds(clock_.now() - start);
  return outcome;
}

// Worker. What is in flight must come back, or nothing would ever be written again; a core that
// is behind by a full queue gets time to catch up.
void EvidenceWriter::post_back(const EventLoop::Task& task) {
  constexpr int kTries = 10'000;
  for (int tries = 0; tries < kTries && !loop_.post(task); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void EvidenceWriter::handle_written(const Incident& incident, const Outcome& outcome) {
  is_incident_in_flight_ = false;
  if (outcome.directory.has_value()) {
    finish(incident, outcome);
  } else {
    handle_refusal(outcome.directory.error());
    // An amendment that is lost leaves a whole incident behind; a first write is tried again.
    if (!is_on_disk(incident.id)) keep(incident, true);
    retry_later();
  }
  pump();
}

void EvidenceWriter::finish(const Incident& incident, const Outcome& outcome) {
  handle_success();
  prune_soon();
  stats_.last_write_seconds = outcome.seconds;
  const bool amended = is_on_disk(incident.id);
  if (!amended) {
    ++stats_.incidents_written;
    known_ids_.push_back(incident.id);
    if (known_ids_.size() > kMaxKnown) known_ids_.pop_front();
  }
  written_(incident, *outcome.directory, amended);
}

// Reading every incident's size and age is no work for the moment of a kill.
void EvidenceWriter::prune_soon() {
  if (std::exchange(is_prune_armed_, true)) return;
  (void)loop_.add_once(kPruneDelay, [this] {
    is_prune_armed_ = false;
    (void)worker_.post([this] { (void)store_.prune(retention_, clock_.wall_now()); });
  });
}

// is_first_again: it was at the front and goes back there, unless a newer form came meanwhile.
void EvidenceWriter::keep(Incident incident, bool is_first_again) {
  const auto same =
      std::find_if(pending_.begin(), pending_.end(), [&](const Incident& p) { return p.id == incident.id; });
  if (same != pending_.end()) {
    if (!is_first_again) *same = std::move(incident);
  } else if (is_first_again) {
    pending_.push_front(std::move(incident));
  } else {
    pending_.push_back(std::move(incident));
  }
  if (pending_.size() > kMaxPending) {
    pending_.pop_front();
    ++stats_.incidents_dropped;
  }
  stats_.pending = pending_.size();
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
  LedgerState state = std::move(*std::exchange(next_ledger_, std::nullopt));
  auto task = [this, state] {
    post_back([this, state, saved = oomw::save_ledger(data_dir_, state)] { handle_ledger(state, saved); });
  };
  if (!worker_.post(std::move(task))) handle_ledger(std::move(state), fail(ErrorCode::kLimit, "writer queue full"));
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

// The loop does not run any more: everything that waits goes to the worker, which the owner then
// drains.
void EvidenceWriter::flush() {
  const auto write_now = [this](const Incident& incident) {
    (void)worker_.post([this, incident] { (void)store(incident); });
  };
  for (const Incident& incident : pending_) write_now(incident);
  for (const auto& [id, incident] : amendments_) write_now(incident);
  if (next_ledger_) (void)worker_.post([this, state = *next_ledger_] { (void)oomw::save_ledger(data_dir_, state); });
}

void EvidenceWriter::handle_refusal(const Error& error) {
  ++stats_.write_errors;
  if (!std::exchange(stats_.is_data_dir_writable, false)) return;  // said already
  log::error("evidence cannot be written, keeping the newest in memory and counting on: {}", error.message);
}

void EvidenceWriter::handle_success() {
  if (std::exchange(stats_.is_data_dir_writable, true)) return;
  log::info("evidence can be written again");
}

}  // namespace oomw
