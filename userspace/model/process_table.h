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
  std::optional<std::int32_t> oom_score_adj;
  GoConfig go;
  MonotonicTime seen_at;
  std::optional<MonotonicTime> exited_at;
};

// Processes by pid, each with the cgroup it was last seen in. Part of MemoryModel, same thread.
//   - one process per pid: another start time for a known pid replaces it (reuse);
//   - a report without start time (start_ticks 0) means the current process with that pid;
//   - at most kMax; what does not fit is counted in dropped().
class ProcessTable {
 public:
  static constexpr std::size_t kMax = 65'536;

  void on_exec(const ProcessExec& e);
  void on_exit(const ProcessExit& e);
  void on_seen(const ProcessSeen& e);
  // Its processes are gone too: rmdir needs an empty cgroup. A process still listed there has moved out unseen, or its
  // exit event was lost; no entry is better than a wrong one.
  void on_cgroup_removed(CgroupId cgroup, MonotonicTime time);
  void expire(MonotonicTime oldest_kept);

  [[nodiscard]] const ProcessState* find(ProcessKey key) const;
  // Appends the processes of this very cgroup that live, or lived at `at`, by pid, until result holds `max`.
  void collect(CgroupId cgroup, std::size_t max, std::vector<const ProcessState*>& result,
               std::optional<MonotonicTime> at = std::nullopt) const;
  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  ProcessState* state_for(ProcessKey key);  // nullptr when full
  void move_to(ProcessState& state, CgroupId cgroup);
  void mark_exited(ProcessState& state, MonotonicTime time);
  void erase(std::int32_t pid);

  std::unordered_map<std::int32_t, ProcessState> processes_;  // by pid
  // Ordered, so that equal events give equal answers; a set, because 65 k processes of one cgroup
  // may exit at once and erasing from a vector would then be quadratic.
  std::unordered_map<CgroupId, std::set<std::int32_t>> by_cgroup_;
  std::deque<std::pair<MonotonicTime, ProcessKey>> exited_;
  std::uint64_t dropped_ = 0;
};

}  // namespace oomw
