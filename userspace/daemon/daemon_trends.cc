// SPDX-License-Identifier: Apache-2.0
// How the trends of heaps come by what they need to know.
#include "daemon/daemon_impl.h"
#include "model/pod_wishes.h"

namespace oomw {

void Daemon::Impl::start_trends() {
  if (!config.trend.enabled) return;
  const auto on_judged = [this](const TrendJudged& judged) {
    handle(judged);
    settle();
  };
  trends = std::make_unique<HeapTrends>(
      *loop, go_heaps->processes(), clock, capture_memory, config.trend,
      [this](ProcessKey process) { return memory_of(process); }, on_judged);
}

void Daemon::Impl::start_http_trends() {
  if (!trends || !config.trend.http) return;
  http_trends =
      std::make_unique<HttpTrends>(*loop, go_heaps->processes(), clock, capture_memory, *http, *http_workers, *trends,
                                   HttpTrends::Config{config.trend.http_interval, config.http.timeout},
                                   [this](ProcessKey process) { return http_target_of(process); });
}

// One trend an incident: of its first victim, the one that the kernel chose.
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

// Whom a capture, too, would ask at this moment.
std::optional<CaptureTarget> Daemon::Impl::http_target_of(ProcessKey key) const {
  const MemoryModel& model = pipeline->model();
  const ProcessState* process = model.find_process(key);
  if (process == nullptr) return std::nullopt;
  if (!why_left_alone(process->cgroup, model, config.kubernetes.capture_opt_in).empty()) return std::nullopt;
  const auto limit = model.effective_limit(process->cgroup);
  const bool is_tight = limit && headroom_bytes({limit->usage_bytes, limit->limit_bytes, limit->nonreclaimable_bytes}) <
                                     config.triggers.min_headroom_bytes;
  if (is_tight) return std::nullopt;
  return CaptureTarget{process->key, process->cgroup, process->comm, process->exe,
                       wished_pprof_port(process->cgroup, model)};
}

}  // namespace oomw
