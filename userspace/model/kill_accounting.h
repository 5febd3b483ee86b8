// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "events/event.h"

namespace oomw {

// Checks what we saw against the kernel's own count of OOM kills per cgroup, so that no kill goes
// unaccounted: neither while events were lost nor while the daemon was down. Pure, core thread.
//   - `restored` holds what earlier runs of this boot accounted for; a cgroup that is in it had
//     `kernel - restored` kills while nobody looked; a cgroup first seen after a restart had all
//     of its kills unseen; without any restored state the first reading is the base line (kills
//     before our first start are not ours to count);
//   - the kernel counts before the event reaches us, so a difference must outlive kGrace before
//     it counts as unobserved, and every event of that time must have been heard: on a node that
//     starves us, they lie in the ring for seconds;
//   - the two do not count the same: the victim that a group kill (memory.oom.group) starts with is
//     counted again by the kernel when the group's turn comes, if it still has its memory; and a
//     process that was dying already is marked without being counted. Neither is a loss, and
//     neither hides a later one: kGrace after the last kill the kernel's count is the base again.
class KillAccounting {
 public:
  static constexpr Nanoseconds kGrace = std::chrono::milliseconds(500);
  static constexpr std::size_t kMaxCgroups = 20'000;
  static constexpr MonotonicTime kAllHeard{std::numeric_limits<std::int64_t>::max()};

  // nullopt: first run of this boot.
  explicit KillAccounting(std::optional<std::map<std::uint64_t, std::uint64_t>> restored);

  // A cgroup that appeared while we watch starts at 0.
  void on_created(CgroupId cgroup);
  void on_kill_seen(CgroupId victim_cgroup, MonotonicTime time);
  // The kernel may have counted a seen kill of this cgroup once more.
  void allow_second_count(CgroupId victim_cgroup);
  // Kills of this cgroup that nobody saw and that are now certain; each is returned once.
  // heard_until: every event up to then has been applied.
  [[nodiscard]] std::uint64_t on_sample(const MemorySampled& sample, MonotonicTime heard_until = kAllHeard);
  // The same, when the cgroup goes: no later sample will come.
  [[nodiscard]] std::uint64_t on_removed(CgroupId cgroup);

  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> accounted() const;
  [[nodiscard]] std::uint64_t unobserved() const { return unobserved_; }

 private:
  struct Account {
    bool has_base = false;  // what the kernel counted before us is in `accounted`
    std::uint64_t accounted = 0;
    std::uint64_t kernel = 0;
    std::uint64_t second_counts = 0;  // that the kernel may be ahead without a kill unseen
    MonotonicTime last_seen;
    std::optional<MonotonicTime> behind_since;
    [[nodiscard]] std::uint64_t missing() const;
  };
  Account* account_for(CgroupId cgroup);
  std::uint64_t settle(Account& account);

  const bool has_restored_;
  std::map<std::uint64_t, std::uint64_t> restored_;
  std::unordered_map<CgroupId, Account> accounts_;
  std::uint64_t unobserved_ = 0;
};

}  // namespace oomw
