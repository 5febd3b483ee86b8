// SPDX-License-Identifier: Apache-2.0
#include "web/health_routes.h"

#include <string>
#include <utility>

namespace oomw {
namespace {

constexpr Nanoseconds kMaxSilence = std::chrono::seconds(10);

std::string whole_seconds(Nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s\n";
}

HttpResponse health(const SnapshotSource& snapshot, MonotonicTime now, const CoreWatch& core) {
  const auto current = snapshot();
  if (!current || current->core_tick == MonotonicTime{}) return text_response(kHttpUnavailable, "starting\n");
  const Nanoseconds stall = core.stalls != nullptr ? core.stalls->current(now) : Nanoseconds(0);
  if (stall > core.max_stall) return text_response(kHttpUnavailable, "core thread stalled for " + whole_seconds(stall));
  const Nanoseconds silence = now - current->core_tick;
  if (silence > kMaxSilence) return text_response(kHttpUnavailable, "core loop silent for " + whole_seconds(silence));
  return text_response(kHttpOk, "ok\n");
}

}  // namespace

Route health_route(SnapshotSource snapshot, const Clock& clock, CoreWatch core) {
  const auto handler = [snapshot = std::move(snapshot), &clock, core](const HttpRequest&) {
    return health(snapshot, clock.now(), core);
  };
  return {"GET", "/healthz", handler, true};
}

Route readiness_route(SnapshotSource snapshot) {
  const auto handler = [snapshot = std::move(snapshot)](const HttpRequest&) {
    const auto current = snapshot();
    if (current && current->ready) return text_response(kHttpOk, "ok\n");
    return text_response(kHttpUnavailable, "starting: events do not flow yet\n");
  };
  return {"GET", "/readyz", handler, true};
}

}  // namespace oomw
