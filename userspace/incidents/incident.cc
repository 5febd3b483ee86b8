// SPDX-License-Identifier: Apache-2.0
#include "incidents/incident.h"

#include <algorithm>
#include <tuple>

namespace oomw {

namespace {

int rank_of_method(const std::string& method) {
  if (method == to_string(CaptureMethod::kAtKill)) return 2;
  return method == to_string(CaptureMethod::kLive) ? 1 : 0;
}

bool is_of_victim(const IncidentCapture& capture, const Incident& incident) {
  return std::any_of(incident.victims.begin(), incident.victims.end(),
                     [&](const IncidentVictim& victim) { return victim.process.pid == capture.pid; });
}

}  // namespace

const IncidentCapture* best_capture(const Incident& incident) {
  const auto merit = [&](const IncidentCapture& capture) {
    return std::tuple(is_of_victim(capture, incident), rank_of_method(capture.method), capture.time);
  };
  const IncidentCapture* best = nullptr;
  for (const IncidentCapture& capture : incident.captures) {
    if (capture.result != to_string(CaptureResult::kOk)) continue;
    if (best == nullptr || merit(capture) > merit(*best)) best = &capture;
  }
  return best;
}

std::optional<std::uint64_t> victims_anon_bytes(const Incident& incident) {
  std::optional<std::uint64_t> sum;
  for (const IncidentVictim& victim : incident.victims) {
    if (victim.rss) sum = sum.value_or(0) + victim.rss->anon_bytes;
  }
  return sum;
}

}  // namespace oomw
