// SPDX-License-Identifier: Apache-2.0
// Gives the heap trends the data that they need.
#include "daemon/daemon_impl.h"

namespace oomw {

void Daemon::Impl::start_trends() {
  if (!config.trend.enabled) return;
  const auto on_judged = [this](const TrendJudged& judged) { queue.push(judged); };
  // The spool names everything like a profile; the incident has the real name.
  const auto keep = [this](ProcessKey process, const std::string& name, std::string bytes) {
    const char* kind = name == kTrendFile ? "trend-json" : "trend";
    return spool->put(static_cast<std::uint64_t>(process.pid), kind, std::move(bytes));
  };
  trends = std::make_unique<HeapTrends>(
      *loop, walk_captures->registry(), clock, profile_memory, config.trend,
      [this](ProcessKey process) { return memory_of(process); }, on_judged, keep);
}

std::optional<ContainerMemory> Daemon::Impl::memory_of(ProcessKey key) const {
  const ProcessState* process = pipeline->model().find_process(key);
  if (process == nullptr) return std::nullopt;
  const auto limit = pipeline->model().effective_limit(process->cgroup);
  if (!limit) return std::nullopt;
  return ContainerMemory{limit->nonreclaimable_bytes.value_or(limit->usage_bytes), limit->limit_bytes};
}

}  // namespace oomw
