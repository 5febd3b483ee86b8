// SPDX-License-Identifier: Apache-2.0
#include "incident/incident.h"

#include <algorithm>
#include <tuple>

namespace oomw {

bool is_plain_file_name(const std::string& name) {
  return name != "." && name != ".." && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

namespace {

// A walk or read that ended early shows less than a whole one from a moment before. A stale view is the
// last choice.
int rank_of_view(const IncidentCapture& capture) {
  if (shows_last_collection(capture)) return 0;
  return 1 + 2 * (capture.complete ? 1 : 0) + (capture.method == to_string(CaptureMethod::kAtKill) ? 1 : 0);
}

const IncidentVictim* victim_of(const IncidentCapture& capture, const Incident& incident) {
  const auto found = std::find_if(incident.victims.begin(), incident.victims.end(),
                                  [&](const IncidentVictim& victim) { return victim.process.pid == capture.pid; });
  return found == incident.victims.end() ? nullptr : &*found;
}

// The best capture among those that `is_wanted` accepts.
template <typename Wanted>
const IncidentCapture* best_of(const Incident& incident, Wanted is_wanted) {
  const auto merit = [&](const IncidentCapture& capture) {
    return std::tuple(victim_of(capture, incident) != nullptr, rank_of_view(capture), capture.time);
  };
  const IncidentCapture* best = nullptr;
  for (const IncidentCapture& capture : incident.captures) {
    if (capture.result != to_string(CaptureResult::kOk) || !is_wanted(capture)) continue;
    if (best == nullptr || merit(capture) > merit(*best)) best = &capture;
  }
  return best;
}

}  // namespace

bool shows_last_collection(const IncidentCapture& capture) { return capture.method == to_string(CaptureMethod::kHttp); }

bool is_of_go(const IncidentCapture& capture) {
  return capture.result == to_string(CaptureResult::kOk) && capture.of == to_string(RuntimeKind::kGo);
}

std::optional<std::uint64_t> stat_of(const Incident& incident, const std::string& name) {
  const auto found = incident.memory_stat.find(name);
  return found == incident.memory_stat.end() ? std::nullopt : std::optional(found->second);
}

const IncidentCapture* best_capture(const Incident& incident) {
  return best_of(incident, [](const IncidentCapture&) { return true; });
}

const IncidentCapture* best_capture_of(const Incident& incident, std::int32_t pid) {
  return best_of(incident, [pid](const IncidentCapture& capture) { return capture.pid == pid; });
}

const IncidentCapture* goroutines_at_kill(const Incident& incident) {
  if (incident.victims.empty()) return nullptr;
  const auto counted = std::ranges::find_if(incident.captures, [&](const IncidentCapture& capture) {
    return !capture.goroutines.empty() && capture.pid == incident.victims.front().process.pid;
  });
  return counted != incident.captures.end() ? &*counted : nullptr;
}

const PoolsAtKill* pools_at_kill(const Incident& incident) {
  if (incident.victims.empty()) return nullptr;
  const auto counted = std::ranges::find_if(incident.analyses, [&](const IncidentAnalysis& analysis) {
    return analysis.pools && analysis.pid == incident.victims.front().process.pid;
  });
  return counted != incident.analyses.end() ? &*counted->pools : nullptr;
}

const IncidentCapture* first_before(const Incident& incident, const IncidentCapture& later) {
  // An HTTP profile lags behind: compared with one of what is held now, all uncollected memory would look grown.
  const auto merit = [&](const IncidentCapture& capture) {
    return std::tuple(shows_last_collection(capture) != shows_last_collection(later), capture.time);
  };
  const IncidentCapture* first = nullptr;
  for (const IncidentCapture& capture : incident.captures) {
    const bool is_ok = capture.result == to_string(CaptureResult::kOk) && !capture.file.empty();
    if (!is_ok || capture.pid != later.pid || !(capture.time < later.time)) continue;
    if (first == nullptr || merit(capture) < merit(*first)) first = &capture;
  }
  return first;
}

std::optional<double> coverage_of(const Incident& incident, const IncidentCapture& capture) {
  const IncidentVictim* victim = victim_of(capture, incident);
  if (victim == nullptr || !victim->rss || victim->rss->anon_bytes == 0 || !capture.inuse_bytes) return std::nullopt;
  return static_cast<double>(*capture.inuse_bytes) / static_cast<double>(victim->rss->anon_bytes);
}

std::optional<double> coverage_of_victims(const Incident& incident) {
  const auto anon = victims_anon_bytes(incident);
  if (!anon || *anon == 0) return std::nullopt;
  std::optional<double> shown;
  for (const IncidentVictim& victim : incident.victims) {
    const IncidentCapture* best = best_capture_of(incident, victim.process.pid);
    if (best != nullptr && best->inuse_bytes) shown = shown.value_or(0) + static_cast<double>(*best->inuse_bytes);
  }
  if (!shown) return std::nullopt;
  return *shown / static_cast<double>(*anon);
}

std::optional<std::uint64_t> victims_anon_bytes(const Incident& incident) {
  std::optional<std::uint64_t> sum;
  for (const IncidentVictim& victim : incident.victims) {
    if (victim.rss) sum = sum.value_or(0) + victim.rss->anon_bytes;
  }
  return sum;
}

}  // namespace oomw
