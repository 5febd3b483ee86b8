// SPDX-License-Identifier: Apache-2.0
#include "model/process_table.h"

#include <algorithm>

namespace oomw {

namespace {

bool is_same(ProcessKey a, ProcessKey b) {
  return a.pid == b.pid && (a.start_ticks == b.start_ticks || a.start_ticks == 0 || b.start_ticks == 0);
}

// A first reading has no arguments yet, and one of an exiting process has none any more: neither makes the known ones
// unknown. Another program does.
void take_program(ProcessState& state, const ProcessSeen& e) {
  const bool has_arguments = !e.cmdline.empty() || e.go.gogc_percent || e.go.memory_limit_bytes;
  const bool is_other = !e.exe.empty() && e.exe != state.exe;
  if (!e.exe.empty()) state.exe = e.exe;
  if (!has_arguments && !is_other) return;
  state.cmdline = e.cmdline;
  state.go = e.go;
}

}  // namespace

void ProcessTable::on_exec(const ProcessExec& e) {
  ProcessState* state = state_for(e.process);
  if (state == nullptr) return;
  move_to(*state, e.cgroup);
  if (state->seen_at > e.time) return;  // /proc was read after this exec and is more accurate
  state->comm = e.comm;
  state->exe.clear();  // another program now; the next ProcessSeen names it
  state->cmdline.clear();
  state->go = {};
  state->uid = e.uid;
  state->seen_at = e.time;
}

void ProcessTable::on_seen(const ProcessSeen& e) {
  ProcessState* state = state_for(e.process);
  if (state == nullptr || state->seen_at > e.time) return;
  move_to(*state, e.cgroup);
  state->comm = e.comm;
  state->uid = e.uid;
  state->oom_score_adj = e.oom_score_adj;
  take_program(*state, e);
  state->seen_at = e.time;
}

void ProcessTable::on_exit(const ProcessExit& e) {
  auto it = processes_.find(e.process.pid);
  if (it != processes_.end() && is_same(it->second.key, e.process)) mark_exited(it->second, e.time);
}

void ProcessTable::on_cgroup_removed(CgroupId cgroup, MonotonicTime time) {
  auto it = by_cgroup_.find(cgroup);
  if (it == by_cgroup_.end()) return;
  for (std::int32_t pid : it->second) mark_exited(processes_.at(pid), time);
}

void ProcessTable::mark_exited(ProcessState& state, MonotonicTime time) {
  if (state.exited_at) return;
  state.exited_at = time;
  exited_.emplace_back(time, state.key);
}

void ProcessTable::expire(MonotonicTime oldest_kept) {
  while (!exited_.empty() && exited_.front().first < oldest_kept) {
    const ProcessKey key = exited_.front().second;
    exited_.pop_front();
    auto it = processes_.find(key.pid);
    if (it != processes_.end() && it->second.exited_at && is_same(it->second.key, key)) erase(key.pid);
  }
}

const ProcessState* ProcessTable::find(ProcessKey key) const {
  auto it = processes_.find(key.pid);
  return it != processes_.end() && is_same(it->second.key, key) ? &it->second : nullptr;
}

void ProcessTable::collect(CgroupId cgroup, std::size_t max, std::vector<const ProcessState*>& result,
                           std::optional<MonotonicTime> at) const {
  auto it = by_cgroup_.find(cgroup);
  if (it == by_cgroup_.end()) return;
  for (std::int32_t pid : it->second) {
    if (result.size() >= max) return;
    const ProcessState& state = processes_.at(pid);
    if (!state.exited_at || (at && *state.exited_at > *at)) result.push_back(&state);
  }
}

ProcessState* ProcessTable::state_for(ProcessKey key) {
  if (auto it = processes_.find(key.pid); it != processes_.end()) {
    ProcessState& state = it->second;
    if (is_same(state.key, key)) {
      state.key.start_ticks = std::max(state.key.start_ticks, key.start_ticks);
      return &state;
    }
    erase(key.pid);
  }
  if (processes_.size() >= kMax) {
    ++dropped_;
    return nullptr;
  }
  ProcessState& state = processes_[key.pid];
  state.key = key;
  return &state;
}

void ProcessTable::move_to(ProcessState& state, CgroupId cgroup) {
  if (!cgroup || state.cgroup == cgroup) return;
  if (auto it = by_cgroup_.find(state.cgroup); it != by_cgroup_.end()) {
    it->second.erase(state.key.pid);
    if (it->second.empty()) by_cgroup_.erase(it);
  }
  state.cgroup = cgroup;
  by_cgroup_[cgroup].insert(state.key.pid);
}

void ProcessTable::erase(std::int32_t pid) {
  auto it = processes_.find(pid);
  if (auto group = by_cgroup_.find(it->second.cgroup); group != by_cgroup_.end()) {
    group->second.erase(pid);
    if (group->second.empty()) by_cgroup_.erase(group);
  }
  processes_.erase(it);
}

}  // namespace oomw
