// SPDX-License-Identifier: Apache-2.0
#include "correlate/other_processes.h"

#include <algorithm>
#include <string>

namespace oomw {
namespace {

// Other processes whose oom_score_adj is read, to show how likely the kernel was to choose them.
constexpr std::size_t kMostOthers = 256;
constexpr std::size_t kMaxCommand = 256;  // bytes

// What a process had when its cgroup was read after the kill; 0: it was not.
std::uint64_t resident_bytes(const ProcessState& process, const MemoryModel& model, MonotonicTime kill) {
  const CgroupState* cgroup = model.find_cgroup(process.cgroup);
  if (cgroup == nullptr || cgroup->resident_at < kill) return 0;
  const auto found = cgroup->resident_bytes.find(std::to_string(process.key.pid));
  return found != cgroup->resident_bytes.end() ? found->second : 0;
}

}  // namespace

// A process without a score was never read: a fork that exited at once. A process that started after the kill is a
// restart.
std::optional<OtherProcesses> other_processes(const KillEvidence& evidence, const std::vector<IncidentVictim>& victims,
                                              const MemoryModel& model) {
  const auto is_victim = [&](const ProcessState& process) {
    return std::ranges::any_of(victims, [&](const IncidentVictim& v) { return v.process.pid == process.key.pid; });
  };
  OtherProcesses found;
  for (const ProcessState* process : model.processes_under(evidence.container, kMostOthers, evidence.first)) {
    const MonotonicTime start{static_cast<std::int64_t>(process->key.start_ticks * kNanosecondsPerTick)};
    if (!process->oom_score_adj || start > evidence.first || is_victim(*process)) continue;
    const std::int32_t score = *process->oom_score_adj;
    found.lowest_oom_score_adj = found.count == 0 ? score : std::min(found.lowest_oom_score_adj, score);
    ++found.count;
    const std::uint64_t resident = resident_bytes(*process, model, evidence.first);
    if (resident <= (found.largest ? found.largest->resident_bytes : 0)) continue;
    found.largest = {process->key.pid, process->comm, process->cmdline.substr(0, kMaxCommand), resident};
  }
  return found.count > 0 ? std::optional(found) : std::nullopt;
}

}  // namespace oomw
