// SPDX-License-Identifier: Apache-2.0
#include "daemon/past_reading.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "store/incident_reader.h"
#include "system/log_clock.h"

namespace oomw {
namespace {

Nanoseconds log_ahead_now(const Clock& clock) {
  const Result<Nanoseconds> ahead = measure_log_clock(clock);
  if (ahead.has_value()) return *ahead;
  log::warn("the kernel log's clock is taken to be CLOCK_MONOTONIC: {}", ahead.error().message);
  return {};
}

void read_log(const PastRequest& request, const Clock& clock, PastReading& reading) {
  const Result<KmsgBacklog> backlog = read_kmsg_backlog(request.kmsg_path, clock);
  if (!backlog.has_value()) {
    reading.problem = backlog.error().message;
    return;
  }
  reading.lost = backlog->lost;
  reading.kills = past_kills_of(*backlog, reading.window);
  const MonotonicTime reach = MonotonicTime{} + (backlog->reach.value_or(Nanoseconds{}) - reading.window.log_ahead);
  if (reach > request.heard.until + slack_of(request.heard.until, reading.window.measured_at)) {
    reading.problem = fmt::format("it reaches back {:.0f} s only", to_seconds(reading.window.measured_at - reach));
  }
}

void sort_out_held(PastRequest& request, PastReading& reading) {
  const Nanoseconds slack = slack_of({}, {});
  for (OomKill& kill : request.held) {
    const KillStanding standing = standing_of(kill.victim.pid, kill.time, request.heard, slack);
    if (standing == KillStanding::kDone) continue;
    reading.is_held_counted.push_back(standing == KillStanding::kCounted);
    reading.held.push_back(std::move(kill));
  }
}

std::vector<IncidentSummary> newest_incidents(const std::string& data_dir) {
  IncidentFilter filter;
  filter.limit = PastReading::kMaxIncidents;
  return IncidentReader(data_dir).summaries(filter).value_or(std::vector<IncidentSummary>{});
}

}  // namespace

PastReading read_past(PastRequest request, const Clock& clock) {
  PastReading reading;
  reading.window = {request.heard, request.watching_since, clock.now(), log_ahead_now(clock)};
  read_log(request, clock, reading);
  sort_out_held(request, reading);
  std::vector<WallTime> times;
  for (const PastKill& kill : reading.kills) times.push_back(clock.wall_of(kill.time));
  for (const OomKill& kill : reading.held) times.push_back(clock.wall_of(kill.time));
  reading.stored = stored_victims_near(request.data_dir, std::move(times));
  reading.incidents = newest_incidents(request.data_dir);
  return reading;
}

}  // namespace oomw
