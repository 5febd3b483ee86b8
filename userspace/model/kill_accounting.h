// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "events/event.h"

namespace oomw {

// Kills of one cgroup that the kernel counted but no source reported.
struct UnobservedKills {
  CgroupId cgroup;
  std::uint64_t kills = 0;  // 0 = none
  // They lie between two readings of the count. Without a first one they may be from a time when no daemon watched.
  std::optional<MonotonicTime> after;
  MonotonicTime until;
  // They are from before the first reading, when no daemon is known to have watched.
  std::optional<Unwatched> unwatched = std::nullopt;
};

// Compares the kills we saw with the kernel's own count of OOM kills per cgroup, so that no kill goes unaccounted:
// neither while events were lost nor while the daemon was down. Pure, core thread.
//   - `restored` holds what earlier runs of this boot accounted for. A cgroup that is in it had `kernel - restored`
//     kills while no daemon watched; all kills of a cgroup first seen after a restart were unseen; without any
//     restored state the first reading is the base line (kills before our first start are not ours to count);
//   - the kernel counts before the event reaches us, so a difference must outlive kGrace before it counts as
//     unobserved, and every event of that time must have been received: on a node that starves us, events wait in the
//     ring for seconds;
//   - the kernel counts some victims twice. The victim that a group kill (memory.oom.group) starts with is counted
//     again when the group's turn comes, if it still has its memory. So is a member whose leader exits meanwhile,
//     since the kernel's walk over the group meets its threads once more (6.12: 5 counts for 3 processes). That thread
//     is marked, too; the chosen victim is marked only once. A process that was already exiting is marked without
//     being counted. None of this is a loss, and none hides a later one: kGrace after the last kill the kernel's count
//     is the base again.
class KillAccounting {
 public:
  static constexpr Nanoseconds kGrace = std::chrono::milliseconds(500);
  static constexpr std::size_t kMaxCgroups = 20'000;
  static constexpr MonotonicTime kAllHeard{std::numeric_limits<std::int64_t>::max()};

  // nullopt: first run of this boot.
  explicit KillAccounting(std::optional<std::map<std::uint64_t, std::uint64_t>> restored);

  // A cgroup that is created while we watch starts at 0.
  void on_created(CgroupId cgroup, MonotonicTime time);
  void on_kill_seen(CgroupId victim_cgroup, MonotonicTime time);
  // The kernel may have counted a seen kill of this cgroup once more.
  void allow_second_count(CgroupId victim_cgroup);
  // Kills of this cgroup that no source reported and that are now certain; each is returned once.
  // heard_until: every event up to then has been applied.
  [[nodiscard]] UnobservedKills on_sample(const MemorySampled& sample, MonotonicTime heard_until = kAllHeard);
  // The same, when the cgroup is removed: no later sample will come.
  [[nodiscard]] UnobservedKills on_removed(CgroupId cgroup, MonotonicTime time);
  // The same for all cgroups, without a newer sample. O(cgroups whose count is ahead).
  [[nodiscard]] std::vector<UnobservedKills> take_overdue(MonotonicTime now, MonotonicTime heard_until = kAllHeard);

  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> accounted() const;
  // By how much the kernel's count is ahead; nullopt = it was not read.
  [[nodiscard]] std::optional<std::uint64_t> missing_in(CgroupId cgroup) const;
  [[nodiscard]] std::uint64_t missing() const;  // over all cgroups

 private:
  struct Account {
    bool has_base = false;  // `accounted` includes what the kernel counted before we started
    std::uint64_t accounted = 0;
    std::uint64_t kernel = 0;
    std::uint64_t second_counts = 0;  // by which the kernel may be ahead without an unseen kill
    MonotonicTime last_seen;
    std::optional<MonotonicTime> level_at;  // the kernel's count held nothing unseen at this time
    std::optional<MonotonicTime> behind_since;
    bool is_read = false;
    [[nodiscard]] std::uint64_t missing() const;
  };
  Account* account_for(CgroupId cgroup);
  void level(CgroupId cgroup, Account& account);
  UnobservedKills settle(CgroupId cgroup, Account& account);

  bool has_restored_;
  std::map<std::uint64_t, std::uint64_t> restored_;
  std::unordered_map<CgroupId, Account> accounts_;
  std::set<CgroupId> behind_;  // those with behind_since
};

}  // namespace oomw
