// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "events/event.h"
#include "model/heard_kills.h"
#include "store/stored_victims.h"
#include "system/kmsg_backlog.h"

namespace oomw {

// The reference for the kernel log's stamps.
struct PastWindow {
  HeardUntil heard;              // what earlier runs of this boot counted
  MonotonicTime watching_since;  // this run's programs are in place since then
  MonotonicTime measured_at;     // when log_ahead was measured and the log was read
  Nanoseconds log_ahead{};       // ahead of CLOCK_MONOTONIC: measure_log_clock()
};

// A kill in the log that is not handled yet, or only in part.
struct PastKill {
  MonotonicTime time;
  MonotonicTime decision;  // the same for every victim of one decision
  LoggedKill logged;
  std::string home;         // the victim's cgroup; "" = the log does not name it
  bool is_further = false;  // a further victim of a group kill, after the chosen one
  bool is_counted = false;
  const StoredVictim* stored = nullptr;  // its incident is on disk
};

// Kills of the backlog that no earlier run has handled and that this run did not see happen, oldest first. The chosen
// victim of a group is there twice, as the kernel logs and counts it. Pure.
[[nodiscard]] std::vector<PastKill> past_kills_of(const KmsgBacklog& backlog, const PastWindow& window);

// The events made of these kills.
struct PastEvents {
  std::vector<Event> places;    // cgroups that are gone, as their paths name them; applied before the kills
  std::vector<PastKill> kills;  // kills[i] is the event events[i]
  std::vector<OomKill> events;
  std::vector<OomKill> unplaced;   // neither the rate-limited log nor an incident names the cgroup; not counted yet
  std::vector<Event> places_gone;  // applied after the kills
};

// Turns kills into events: the log has paths, the model has ids. Pure except for the functions it is given.
//   - a path whose cgroup lives, and whose kill count is ahead by this kill, is that cgroup; the newest kills are the
//     living one's, older ones were in a cgroup of the same name;
//   - a kill whose stored incident has no name was counted, unless the living cgroup's count is still ahead by it;
//   - of a kill whose incident is on disk, the incident knows the cgroup where the rate-limited log does not;
//   - a cgroup that is gone gets an id of its own (kGone is set), and so do its parents that are gone too.
class PastEventMaker {
 public:
  static constexpr std::uint64_t kGone = 1ULL << 63;

  using IdOf = std::function<CgroupId(const std::string& path)>;            // none: no such cgroup
  using MissingIn = std::function<std::optional<std::uint64_t>(CgroupId)>;  // see KillAccounting
  PastEventMaker(const PastWindow& window, IdOf id_of, MissingIn missing_in, MonotonicTime now);

  [[nodiscard]] PastEvents make(std::vector<PastKill> kills);

 private:
  void place_victims(std::vector<PastKill>& kills);
  void place_victim(PastKill& kill, CgroupId& home);
  [[nodiscard]] bool take_missing(CgroupId cgroup);
  [[nodiscard]] OomKill event_of(const PastKill& kill, CgroupId home);
  void set_owner(const PastKill& kill, OomKill& event);
  [[nodiscard]] CgroupId place_of(const std::string& path);
  [[nodiscard]] CgroupId gone_place_of(const std::string& path, MonotonicTime time);

  const PastWindow& window_;
  const IdOf id_of_;
  const MissingIn missing_in_;
  const MonotonicTime now_;
  std::vector<CgroupId> homes_;  // of kills[i]
  std::map<CgroupId, std::optional<std::uint64_t>> missing_;
  std::set<std::string> made_;
  PastEvents result_;
};

}  // namespace oomw
