// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_backlog.h"

#include <algorithm>
#include <utility>

#include "incident/incident_size.h"

namespace oomw {
namespace {

// Keeps what a table of kills would show.
Incident slimmed_form(Incident incident) {
  constexpr const char* kWhy = ": given up: incidents came faster than the disk took them";
  incident.memory_stat.clear();
  if (std::exchange(incident.trend, std::nullopt)) incident.notes.push_back(std::string("trend") + kWhy);
  incident.series.clear();
  incident.series.shrink_to_fit();  // = {} would keep its memory
  if (!std::exchange(incident.container.labels, {}).empty()) {
    incident.notes.push_back(std::string("pod.labels") + kWhy);
  }
  incident.watermarks.clear();
  incident.watermarks.shrink_to_fit();
  std::erase_if(incident.captures, [](const IncidentCapture& capture) { return capture.result != "ok"; });
  incident.captures.shrink_to_fit();
  for (const char* field : {"memory_stat", "series", "pressure.watermarks", "captures"}) {
    incident.notes.push_back(std::string(field) + kWhy);
  }
  return incident;
}

}  // namespace

void EvidenceBacklog::add_first(Incident incident) { add(firsts_, std::move(incident)); }
void EvidenceBacklog::add_amendment(Incident incident) { add(amendments_, std::move(incident)); }
void EvidenceBacklog::put_back_first(Incident incident) { put_back(firsts_, std::move(incident)); }
void EvidenceBacklog::put_back_amendment(Incident incident) { put_back(amendments_, std::move(incident)); }

void EvidenceBacklog::add(Queue& queue, Incident incident) {
  const auto known = queue.arrivals.find(incident.id);
  place(queue, known != queue.arrivals.end() ? known->second : next_arrival_++, std::move(incident));
}

void EvidenceBacklog::put_back(Queue& queue, Incident incident) {
  if (!queue.arrivals.contains(incident.id)) place(queue, next_arrival_++, std::move(incident));
}

void EvidenceBacklog::place(Queue& queue, std::uint64_t arrival, Incident incident) {
  const std::uint64_t bytes = serialised_bytes(incident);
  queue.arrivals[incident.id] = arrival;
  Waiting& waiting = queue.by_arrival[arrival];
  bytes_ += bytes - waiting.bytes;
  waiting = {std::move(incident), bytes, false};
  if (&queue == &firsts_) slim_until_ = std::min(slim_until_, arrival);
  make_room();
}

std::optional<Incident> EvidenceBacklog::take() {
  for (Queue* queue : {&firsts_, &amendments_}) {
    if (!queue->by_arrival.empty()) return take_oldest(*queue);
  }
  return std::nullopt;
}

Incident EvidenceBacklog::take_oldest(Queue& queue) {
  Waiting oldest = std::move(queue.by_arrival.extract(queue.by_arrival.begin()).mapped());
  queue.arrivals.erase(oldest.incident.id);
  bytes_ -= oldest.bytes;
  return std::move(oldest.incident);
}

void EvidenceBacklog::make_room() {
  while (bytes_ > max_bytes_ && firsts() + amendments() > 1) {
    if (!amendments_.by_arrival.empty()) {
      (void)take_oldest(amendments_);
      ++dropped_amendments_;
    } else if (!slim_one()) {
      (void)take_oldest(firsts_);
      ++dropped_incidents_;
    }
  }
}

bool EvidenceBacklog::slim_one() {
  for (auto it = firsts_.by_arrival.lower_bound(slim_until_); it != firsts_.by_arrival.end(); ++it) {
    slim_until_ = it->first + 1;
    Waiting& waiting = it->second;
    if (waiting.is_slim) continue;
    bytes_ -= waiting.bytes;
    waiting.incident = slimmed_form(std::move(waiting.incident));
    waiting.bytes = serialised_bytes(waiting.incident);
    waiting.is_slim = true;
    bytes_ += waiting.bytes;
    ++slimmed_;
    return true;
  }
  return false;
}

}  // namespace oomw
