// SPDX-License-Identifier: Apache-2.0
#include "correlate/unplaced_kills.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace oomw {

std::optional<OomKill> UnplacedKills::add(OomKill kill) {
  std::optional<OomKill> pushed_out;
  if (waiting_.size() >= kMax) {
    pushed_out = std::move(waiting_.front().kill);
    waiting_.pop_front();
  }
  waiting_.push_back({std::move(kill), false});
  return pushed_out;
}

bool UnplacedKills::is_together(const OomKill& kill, const UnobservedKills& counted) {
  const bool is_after = !counted.after || kill.time + kTogether >= *counted.after;
  return is_after && kill.time <= counted.until + kTogether;
}

UnplacedKills::Match UnplacedKills::take_for(const UnobservedKills& counted, bool is_alone) {
  Match match;
  std::vector<std::size_t> together;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (is_together(waiting_[i].kill, counted)) together.push_back(i);
  }
  if (together.empty()) return match;
  const bool is_certain =
      is_alone && together.size() == 1 && counted.kills == 1 && !waiting_[together.front()].is_one_of_many;
  if (is_certain) {
    match.kill = std::move(waiting_[together.front()].kill);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(together.front()));
    return match;
  }
  for (const std::size_t i : together) {
    waiting_[i].is_one_of_many = true;
    match.any_of.push_back(waiting_[i].kill);
  }
  const std::size_t spent = std::min<std::size_t>(together.size(), counted.kills);
  for (std::size_t i = spent; i > 0; --i) {
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(together[i - 1]));
  }
  return match;
}

std::vector<OomKill> UnplacedKills::take_older_than(MonotonicTime time) {
  std::vector<OomKill> taken;
  for (; !waiting_.empty() && waiting_.front().kill.time < time; waiting_.pop_front()) {
    taken.push_back(std::move(waiting_.front().kill));
  }
  return taken;
}

std::vector<OomKill> UnplacedKills::take_all() {
  return take_older_than(MonotonicTime{std::numeric_limits<std::int64_t>::max()});
}

}  // namespace oomw
