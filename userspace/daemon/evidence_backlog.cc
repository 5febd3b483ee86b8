// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_backlog.h"

#include <algorithm>

#include "incident/incident_facts.h"
#include "incident/incident_size.h"

namespace oomw {
namespace {

// Keeps what a table of kills would show.
Incident slimmed_form(Incident incident) {
  constexpr const char* kWhy = ": given up: incidents came faster than the disk took them";
  incident.memory_stat.clear();
  const bool had_trend = incident.trend || incident.contents_trend;
  incident.trend = incident.contents_trend = std::nullopt;
  if (had_trend) incident.notes.push_back(std::string("trend") + kWhy);
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
void EvidenceBacklog::make_amendment(const std::string& id) {
  const auto known = firsts_.places.find(id);
  if (known == firsts_.places.end()) return;
  const Place place = known->second;
  const bool is_slim = firsts_.by_place.at(place).is_slim;
  Incident newer = take(firsts_, place);
  if (!is_slim) return add(amendments_, std::move(newer));
  ++dropped_amendments_;
}
void EvidenceBacklog::put_back_first(Incident incident) { put_back(firsts_, std::move(incident)); }
void EvidenceBacklog::put_back_amendment(Incident incident) { put_back(amendments_, std::move(incident)); }

void EvidenceBacklog::add(Queue& queue, Incident incident) {
  if (const auto known = queue.places.find(incident.id); known != queue.places.end()) {
    return put(queue, Place(known->second), std::move(incident));
  }
  const auto share = queue.shares.find(facts_of(incident).workload);
  const std::uint64_t own_next = share == queue.shares.end() ? 0 : share->second.last_turn + 1;
  put(queue, {std::max(queue.turn, own_next), next_arrival_++}, std::move(incident));
}

void EvidenceBacklog::put_back(Queue& queue, Incident incident) {
  if (queue.places.contains(incident.id)) return;
  const std::uint64_t last = queue.by_place.empty() ? queue.turn : queue.by_place.rbegin()->first.first;
  put(queue, {last, next_arrival_++}, std::move(incident));
}

void EvidenceBacklog::put(Queue& queue, const Place& place, Incident incident) {
  queue.places[incident.id] = place;
  Waiting& waiting = queue.by_place[place];
  if (waiting.workload.empty()) waiting.workload = facts_of(incident).workload;
  const std::uint64_t bytes = serialised_bytes(incident);
  waiting.incident = std::move(incident);
  waiting.is_slim = false;
  count_bytes(queue, place, waiting, bytes);
  make_room();
}

void EvidenceBacklog::count_bytes(Queue& queue, const Place& place, Waiting& waiting, std::uint64_t bytes) {
  Share& share = queue.shares[waiting.workload];
  share.bytes += bytes - waiting.bytes;
  bytes_ += bytes - waiting.bytes;
  waiting.bytes = bytes;
  share.last_turn = std::max(share.last_turn, place.first);
  share.places.insert(place);
  if (waiting.is_slim) {
    share.full.erase(place);
  } else {
    share.full.insert(place);
  }
}

std::optional<Incident> EvidenceBacklog::take(Queue& queue) {
  if (queue.by_place.empty()) return std::nullopt;
  const Place next = queue.by_place.begin()->first;
  queue.turn = next.first;
  return take(queue, next);
}

Incident EvidenceBacklog::take(Queue& queue, const Place& place) {
  Waiting taken = std::move(queue.by_place.extract(place).mapped());
  queue.places.erase(taken.incident.id);
  bytes_ -= taken.bytes;
  const auto share = queue.shares.find(taken.workload);
  share->second.bytes -= taken.bytes;
  share->second.full.erase(place);
  share->second.places.erase(place);
  if (share->second.places.empty()) queue.shares.erase(share);
  return std::move(taken.incident);
}

void EvidenceBacklog::make_room() {
  while (bytes_ > max_bytes_ && firsts() + amendments() > 1) {
    if (!amendments_.by_place.empty()) {
      const Share& most = loser_of(amendments_, false)->second;
      (void)take(amendments_, Place(*most.places.begin()));
      ++dropped_amendments_;
    } else {
      give_up_first_write();
    }
  }
}

// Ties go to the one that has waited longer.
bool EvidenceBacklog::is_worse(const Share& a, const Share& b) {
  return a.bytes > b.bytes || (a.bytes == b.bytes && *a.places.begin() < *b.places.begin());
}

// The workload with the most bytes; is_spared: of those that can give up something and still have an incident.
EvidenceBacklog::Shares::const_iterator EvidenceBacklog::loser_of(const Queue& queue, bool is_spared) {
  auto loser = queue.shares.end();
  for (auto share = queue.shares.begin(); share != queue.shares.end(); ++share) {
    if (is_spared && share->second.full.empty() && share->second.places.size() < 2) continue;
    if (loser == queue.shares.end() || is_worse(share->second, loser->second)) loser = share;
  }
  return loser;
}

void EvidenceBacklog::give_up_first_write() {
  auto loser = loser_of(firsts_, true);
  if (loser == firsts_.shares.end()) loser = loser_of(firsts_, false);
  const Share& share = loser->second;
  if (!share.full.empty()) return slim(Place(*share.full.begin()));
  (void)take(firsts_, Place(*share.places.begin()));
  ++dropped_incidents_;
}

void EvidenceBacklog::slim(const Place& place) {
  Waiting& waiting = firsts_.by_place.at(place);
  waiting.incident = slimmed_form(std::move(waiting.incident));
  waiting.is_slim = true;
  count_bytes(firsts_, place, waiting, serialised_bytes(waiting.incident));
  ++slimmed_;
}

}  // namespace oomw
