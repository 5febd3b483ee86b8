// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_writer.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace oomw {

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
  // Behind others that wait, it waits too: the disk just refused, and order is kept.
  if (!pending_.empty()) return keep(std::move(incident));
  submit(std::move(incident));
}

void EvidenceWriter::submit(Incident incident) {
  const auto task = [this, incident]() mutable {
    const MonotonicTime start = clock_.now();
    const auto place = [this](const IncidentCapture& capture, const std::string& target) {
      return spool_.place(capture.spool_file, target);
    };
    Outcome outcome{store_.write(incident, place), 0};
    outcome.seconds = to_seconds(clock_.now() - start);
    const auto back = [this, incident = std::move(incident), outcome = std::move(outcome)]() mutable {
      handle_written(std::move(incident), std::move(outcome));
    };
    (void)loop_.post(back);  // refused only by a full loop: the incident is on disk all the same
  };
  if (!worker_.post(task)) keep(std::move(incident));
}

void EvidenceWriter::handle_written(Incident incident, Outcome outcome) {
  if (!outcome.directory.has_value()) {
    handle_refusal(outcome.directory.error());
    return keep(std::move(incident));
  }
  handle_success();
  prune_soon();
  stats_.last_write_seconds = outcome.seconds;
  const bool amended = std::find(known_ids_.begin(), known_ids_.end(), incident.id) != known_ids_.end();
  if (!amended) {
    ++stats_.incidents_written;
    known_ids_.push_back(incident.id);
    if (known_ids_.size() > 4'096) known_ids_.pop_front();
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

void EvidenceWriter::keep(Incident incident) {
  const auto same =
      std::find_if(pending_.begin(), pending_.end(), [&](const Incident& p) { return p.id == incident.id; });
  if (same != pending_.end()) {
    *same = std::move(incident);
  } else {
    pending_.push_back(std::move(incident));
  }
  if (pending_.size() > kMaxPending) {
    pending_.pop_front();
    ++stats_.incidents_dropped;
  }
  stats_.pending = pending_.size();
  if (std::exchange(is_retry_armed_, true)) return;
  (void)loop_.add_once(kRetry, [this] { retry(); });
}

void EvidenceWriter::retry() {
  is_retry_armed_ = false;
  for (Incident& incident : std::exchange(pending_, {})) submit(std::move(incident));
  stats_.pending = pending_.size();
}

void EvidenceWriter::save_ledger(LedgerState state) {
  next_ledger_ = std::move(state);
  if (!is_ledger_in_flight_) submit_ledger();
}

void EvidenceWriter::submit_ledger() {
  is_ledger_in_flight_ = true;
  const auto task = [this, state = std::move(*next_ledger_)] {
    (void)loop_.post([this, saved = oomw::save_ledger(data_dir_, state)] { handle_ledger(saved); });
  };
  next_ledger_.reset();
  if (!worker_.post(task)) handle_ledger(fail(ErrorCode::kLimit, "writer queue full"));
}

void EvidenceWriter::handle_ledger(const Result<>& saved) {
  is_ledger_in_flight_ = false;
  if (!saved.has_value()) return handle_refusal(saved.error());
  if (next_ledger_) submit_ledger();
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
