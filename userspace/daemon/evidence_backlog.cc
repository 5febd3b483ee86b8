// SPDX-License-Identifier: Apache-2.0
#include "daemon/evidence_backlog.h"

#include <algorithm>
#include <utility>

namespace oomw {
namespace {

constexpr std::uint64_t kAllocation = 16;  // malloc's header and rounding
constexpr std::uint64_t kMapNode = 48;     // three links, colour, and the allocation

std::uint64_t heap_bytes(const std::string& text) {
  constexpr std::size_t kInside = 15;  // shorter ones live in the string itself
  return text.capacity() <= kInside ? 0 : text.capacity() + kAllocation;
}

std::uint64_t heap_bytes(const std::map<std::string, std::uint64_t>& numbers) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : numbers) bytes += kMapNode + sizeof(name) + sizeof(value) + heap_bytes(name);
  return bytes;
}

std::uint64_t heap_bytes(const std::map<std::string, std::string>& texts) {
  std::uint64_t bytes = 0;
  for (const auto& [name, value] : texts) bytes += kMapNode + 2 * sizeof(name) + heap_bytes(name) + heap_bytes(value);
  return bytes;
}

std::uint64_t heap_bytes(const IncidentVictim& victim) {
  return heap_bytes(victim.comm) + heap_bytes(victim.exe) + heap_bytes(victim.cmdline) + heap_bytes(victim.cgroup_path);
}

std::uint64_t heap_bytes(const IncidentCapture& capture) {
  return heap_bytes(capture.file) + heap_bytes(capture.spool_file) + heap_bytes(capture.method) +
         heap_bytes(capture.trigger) + heap_bytes(capture.result) + heap_bytes(capture.reason) +
         heap_bytes(capture.detail);
}

std::uint64_t heap_bytes(const IncidentTrend::Point& point) {
  return heap_bytes(point.origin) + heap_bytes(point.file);
}
// Below, since they have lists; declared here for the lists that have them.
std::uint64_t heap_bytes(const TrendSite& site);
std::uint64_t heap_bytes(const Finding& finding);
std::uint64_t heap_bytes(const IncidentWatermark& mark) { return heap_bytes(mark.reason); }
std::uint64_t heap_bytes(const Incident::Point&) { return 0; }

template <typename T>
std::uint64_t heap_bytes(const std::vector<T>& list) {
  std::uint64_t bytes = list.capacity() * sizeof(T) + kAllocation;
  for (const T& entry : list) bytes += heap_bytes(entry);
  return bytes;
}

std::uint64_t heap_bytes(const TrendSite& site) {
  return heap_bytes(site.frames) + heap_bytes(site.component) + heap_bytes(site.figures.judgement);
}

std::uint64_t heap_bytes(const IncidentTrend& trend) { return heap_bytes(trend.sites) + heap_bytes(trend.points); }
std::uint64_t heap_bytes(const Finding& finding) { return heap_bytes(finding.why); }
std::uint64_t heap_bytes(const IncidentVerdict& verdict) { return heap_bytes(verdict.why) + heap_bytes(verdict.also); }

// What is left is what a table of kills would show.
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

std::uint64_t memory_bytes(const Incident& incident) {
  return sizeof(Incident) + heap_bytes(incident.cgroup_path) + heap_bytes(incident.limit_owner_cgroup_path) +
         heap_bytes(incident.oom_group_cgroup_path) + heap_bytes(incident.victims) + heap_bytes(incident.memory_stat) +
         heap_bytes(incident.watermarks) + heap_bytes(incident.series) + heap_bytes(incident.captures) +
         (incident.trend ? heap_bytes(*incident.trend) : 0) + (incident.verdict ? heap_bytes(*incident.verdict) : 0) +
         heap_bytes(incident.lost) + heap_bytes(incident.notes) + heap_bytes(incident.container.labels);
}

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
  const std::uint64_t bytes = memory_bytes(incident);
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
    waiting.bytes = memory_bytes(waiting.incident);
    waiting.is_slim = true;
    bytes_ += waiting.bytes;
    ++slimmed_;
    return true;
  }
  return false;
}

}  // namespace oomw
