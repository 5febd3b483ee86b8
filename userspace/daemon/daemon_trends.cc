// SPDX-License-Identifier: Apache-2.0
// Gives the heap trends the data that they need.
#include "daemon/daemon_impl.h"

namespace oomw {

void Daemon::Impl::start_trends() {
  if (!config.trend.enabled) return;
  const auto on_judged = [this](const TrendJudged& judged) { queue.push(judged); };
  trends = std::make_unique<HeapTrends>(
      *loop, walk_captures->registry(), clock, capture_memory, config.trend,
      [this](ProcessKey process) { return memory_of(process); }, on_judged);
}

// One trend per incident: that of its first victim, which the kernel chose.
void Daemon::Impl::write_trends(const Incident& incident, const std::string& directory) {
  if (!trends || incident.victims.empty()) return;
  trends->write_evidence(incident.victims.front().process, directory);
}

std::optional<ContainerMemory> Daemon::Impl::memory_of(ProcessKey key) const {
  const ProcessState* process = pipeline->model().find_process(key);
  if (process == nullptr) return std::nullopt;
  const auto limit = pipeline->model().effective_limit(process->cgroup);
  if (!limit) return std::nullopt;
  return ContainerMemory{limit->nonreclaimable_bytes.value_or(limit->usage_bytes), limit->limit_bytes};
}

}  // namespace oomw
