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
  ProcessState* state = state_for(e.process, e.cgroup);
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
  ProcessState* state = state_for(e.process, e.cgroup);
  if (state == nullptr || state->seen_at > e.time) return;
  move_to(*state, e.cgroup);
  state->comm = e.comm;
  state->uid = e.uid;
  state->is_init = e.is_init;
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
  const std::set<std::int32_t> pids = it->second.pids;  // marking may erase some
  for (const std::int32_t pid : pids) {
    if (const auto process = processes_.find(pid); process != processes_.end()) mark_exited(process->second, time);
  }
}

void ProcessTable::on_kill(ProcessKey victim) {
  const auto it = processes_.find(victim.pid);
  if (it != processes_.end() && is_same(it->second.key, victim)) it->second.was_killed = true;
}

void ProcessTable::mark_exited(ProcessState& state, MonotonicTime time) {
  if (state.exited_at) return;
  state.exited_at = time;
  const ProcessKey key = state.key;
  exited_.emplace_back(time, key);
  if (!state.was_killed) exited_with_strings_.emplace_back(time, key);
  const auto group = by_cgroup_.find(state.cgroup);
  if (group == by_cgroup_.end()) return;
  --group->second.living;
  std::deque<ProcessKey>& exited = group->second.exited;
  exited.push_back(key);
  if (exited.size() <= kMaxExited) return;
  const ProcessKey oldest = exited.front();
  exited.pop_front();
  if (const ProcessState* forgotten = exited_state(oldest); forgotten != nullptr && !forgotten->was_killed) {
    erase(oldest.pid);
  }
}

ProcessState* ProcessTable::exited_state(ProcessKey key) {
  const auto it = processes_.find(key.pid);
  return it != processes_.end() && it->second.exited_at && is_same(it->second.key, key) ? &it->second : nullptr;
}

void ProcessTable::expire(MonotonicTime now, MonotonicTime oldest_kept) {
  while (!exited_with_strings_.empty() && now - exited_with_strings_.front().first >= kStringsAfterExit) {
    ProcessState* state = exited_state(exited_with_strings_.front().second);
    exited_with_strings_.pop_front();
    if (state == nullptr || state->was_killed) continue;
    std::string().swap(state->exe);  // clear() would keep the memory
    std::string().swap(state->cmdline);
  }
  while (!exited_.empty() && exited_.front().first < oldest_kept) {
    const ProcessKey key = exited_.front().second;
    exited_.pop_front();
    if (exited_state(key) != nullptr) erase(key.pid);
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
  for (std::int32_t pid : it->second.pids) {
    if (result.size() >= max) return;
    const ProcessState& state = processes_.at(pid);
    if (!state.exited_at || (at && *state.exited_at > *at)) result.push_back(&state);
  }
}

ProcessState* ProcessTable::state_for(ProcessKey key, CgroupId cgroup) {
  if (auto it = processes_.find(key.pid); it != processes_.end()) {
    ProcessState& state = it->second;
    if (is_same(state.key, key)) {
      state.key.start_ticks = std::max(state.key.start_ticks, key.start_ticks);
      return &state;
    }
    erase(key.pid);
  }
  const auto group = by_cgroup_.find(cgroup);
  const bool is_over_share = cgroup && group != by_cgroup_.end() && group->second.living >= kMaxLiving;
  if (is_over_share) {
    ++over_share_;
    last_over_share_ = cgroup;
  }
  if (is_over_share || processes_.size() >= kMax) {
    ++dropped_;
    return nullptr;
  }
  ProcessState& state = processes_[key.pid];
  state.key = key;
  return &state;
}

void ProcessTable::leave_group(const ProcessState& state) {
  const auto it = by_cgroup_.find(state.cgroup);
  if (it == by_cgroup_.end() || it->second.pids.erase(state.key.pid) == 0) return;
  if (!state.exited_at) --it->second.living;
  if (it->second.pids.empty()) by_cgroup_.erase(it);
}

void ProcessTable::move_to(ProcessState& state, CgroupId cgroup) {
  if (!cgroup || state.cgroup == cgroup) return;
  leave_group(state);
  state.cgroup = cgroup;
  Group& group = by_cgroup_[cgroup];
  group.pids.insert(state.key.pid);
  if (!state.exited_at) ++group.living;
}

void ProcessTable::erase(std::int32_t pid) {
  const auto it = processes_.find(pid);
  leave_group(it->second);
  processes_.erase(it);
}

}  // namespace oomw
