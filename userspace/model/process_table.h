// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/event.h"

namespace oomw {

struct ProcessState {
  ProcessKey key;
  CgroupId cgroup;
  std::string comm;
  std::string exe;  // "" = never read
  std::string cmdline;
  std::uint32_t uid = 0;
  std::optional<bool> is_init;
  std::optional<std::int32_t> oom_score_adj;
  GoConfig go;
  MonotonicTime seen_at;
  std::optional<MonotonicTime> exited_at;
  bool was_killed = false;  // by the OOM killer: its strings are evidence
};

// Processes by pid, each with the cgroup it was last seen in. Part of MemoryModel, same thread.
//   - one process per pid: another start time for a known pid replaces it (reuse);
//   - a report without start time (start_ticks 0) means the current process with that pid;
//   - at most kMax, and at most kMaxLiving living ones of one cgroup; what does not fit is counted in dropped();
//   - of the exited processes of one cgroup the newest kMaxExited stay, and the victims of the OOM killer; others lose
//     their strings kStringsAfterExit after the exit: the report of a kill may be later than that of the exit.
class ProcessTable {
 public:
  static constexpr std::size_t kMax = 65'536;
  static constexpr std::size_t kMaxLiving = kMax / 4;
  static constexpr std::size_t kMaxExited = 1'024;
  static constexpr Nanoseconds kStringsAfterExit = std::chrono::seconds(3);

  void on_exec(const ProcessExec& e);
  void on_exit(const ProcessExit& e);
  void on_seen(const ProcessSeen& e);
  void on_kill(ProcessKey victim);
  // Its processes are gone too: rmdir needs an empty cgroup. A process still listed there has moved out unseen, or its
  // exit event was lost; no entry is better than a wrong one.
  void on_cgroup_removed(CgroupId cgroup, MonotonicTime time);
  // Call about once a second; oldest_kept: of exited processes.
  void expire(MonotonicTime now, MonotonicTime oldest_kept);

  [[nodiscard]] const ProcessState* find(ProcessKey key) const;
  // Appends the processes of this very cgroup that live, or lived at `at`, by pid, until result holds `max`.
  void collect(CgroupId cgroup, std::size_t max, std::vector<const ProcessState*>& result,
               std::optional<MonotonicTime> at = std::nullopt) const;
  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Of those, the ones that a cgroup with kMaxLiving processes could not add, and which cgroup was the last such.
  [[nodiscard]] std::uint64_t over_share() const { return over_share_; }
  [[nodiscard]] CgroupId last_over_share() const { return last_over_share_; }

 private:
  struct Group {
    // Ordered, so that equal events give equal answers; a set, because 65 k processes of one cgroup
    // may exit at once and erasing from a vector would then be quadratic.
    std::set<std::int32_t> pids;
    std::deque<ProcessKey> exited;  // oldest first; some may be another's by now
    std::size_t living = 0;
  };
  ProcessState* state_for(ProcessKey key, CgroupId cgroup);  // nullptr when full
  void leave_group(const ProcessState& state);
  [[nodiscard]] ProcessState* exited_state(ProcessKey key);  // nullptr: gone, or the pid lives again
  void move_to(ProcessState& state, CgroupId cgroup);
  void mark_exited(ProcessState& state, MonotonicTime time);
  void erase(std::int32_t pid);

  std::unordered_map<std::int32_t, ProcessState> processes_;  // by pid
  std::unordered_map<CgroupId, Group> by_cgroup_;
  std::deque<std::pair<MonotonicTime, ProcessKey>> exited_;
  std::deque<std::pair<MonotonicTime, ProcessKey>> exited_with_strings_;
  std::uint64_t dropped_ = 0, over_share_ = 0;
  CgroupId last_over_share_;
};

}  // namespace oomw
