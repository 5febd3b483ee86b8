// SPDX-License-Identifier: Apache-2.0
#include "model/heard_kills.h"

#include <algorithm>
#include <iterator>

namespace oomw {
namespace {

constexpr Nanoseconds kSlack = std::chrono::seconds(2);
constexpr std::int64_t kSlackPerAge = 5'000;  // 200 ppm: what NTP corrects of a bad oscillator

Nanoseconds distance(MonotonicTime a, MonotonicTime b) { return a < b ? b - a : a - b; }

}  // namespace

Nanoseconds slack_of(MonotonicTime kill, MonotonicTime now) { return kSlack + distance(kill, now) / kSlackPerAge; }

KillStanding standing_of(std::int32_t pid, MonotonicTime time, const HeardUntil& heard, Nanoseconds slack) {
  for (const HeardKill& kill : heard.kills) {
    if (kill.pid != pid || distance(kill.time, time) > slack) continue;
    return kill.is_written ? KillStanding::kDone : KillStanding::kCounted;
  }
  return time < heard.until - slack ? KillStanding::kDone : KillStanding::kNew;
}

void HeardKills::add(const HeardKill& kill) {
  std::erase_if(kills_, [&](const HeardKill& known) {
    return known.pid == kill.pid && distance(known.time, kill.time) <= kSlack;
  });
  if (kills_.size() >= kMax) kills_.pop_front();
  kills_.push_back(kill);
}

void HeardKills::on_written(const std::set<std::int32_t>& pids, bool is_all, MonotonicTime from, MonotonicTime to) {
  for (HeardKill& kill : kills_) {
    if (kill.time < from || kill.time > to) continue;
    if (!is_all || pids.contains(kill.pid)) kill.is_written = true;
  }
}

std::vector<HeardKill> HeardKills::recent(MonotonicTime until) const {
  std::vector<HeardKill> kept;
  std::ranges::copy_if(kills_, std::back_inserter(kept),
                       [&](const HeardKill& kill) { return !kill.is_written || kill.time >= until - kKept; });
  return kept;
}

}  // namespace oomw
