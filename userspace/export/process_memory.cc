// SPDX-License-Identifier: Apache-2.0
#include "export/process_memory.h"

#include <algorithm>
#include <utility>

#include "model/container_view.h"
#include "model/kill_ledger.h"

namespace oomw {
namespace {

using Process = ProcessMemoryMetrics::Process;

constexpr std::size_t kMostCounted = 4'096;  // processes of a container

void add_processes(const CgroupState& container, const MemoryModel& model, std::size_t max, NearProcesses& chosen) {
  const std::vector<const ProcessState*> all = model.processes_under(container.id, kMostCounted);
  const std::size_t kept = std::min(all.size(), max);
  const KillLabels labels = labels_of(container.id, LimitScope::kUnknown, model);
  std::vector<Process>& processes = chosen.by_container.emplace_back();
  for (std::size_t i = 0; i < kept; ++i) {
    processes.push_back({labels.k8s_namespace, labels.pod, labels.container, all[i]->comm, all[i]->key, 0, 0});
  }
  chosen.processes_left_out += all.size() - kept;
}

}  // namespace

NearProcesses processes_near_limit(const MemoryModel& model, const ProcessMemoryBounds& bounds) {
  NearProcesses chosen;
  std::size_t room = bounds.read;
  for (const CgroupState* container : read_containers(model)) {
    if (!is_near_limit(*container, model)) continue;
    if (chosen.by_container.size() >= bounds.containers) {
      ++chosen.containers_left_out;
      continue;
    }
    add_processes(*container, model, std::min(room, bounds.read_each), chosen);
    room -= chosen.by_container.back().size();
  }
  return chosen;
}

ProcessMemoryMetrics read_processes(NearProcesses chosen, const ReadProcessMemory& read,
                                    const ProcessMemoryBounds& bounds) {
  ProcessMemoryMetrics metrics;
  metrics.containers_left_out = chosen.containers_left_out;
  metrics.processes_left_out = chosen.processes_left_out;
  for (std::vector<Process>& processes : chosen.by_container) {
    std::erase_if(processes, [&](Process& process) { return !read(process); });
    std::stable_sort(processes.begin(), processes.end(),
                     [](const Process& a, const Process& b) { return a.resident_bytes > b.resident_bytes; });
    const std::size_t kept = std::min(processes.size(), bounds.processes_each);
    metrics.processes_left_out += processes.size() - kept;
    std::move(processes.begin(), processes.begin() + static_cast<std::ptrdiff_t>(kept),
              std::back_inserter(metrics.processes));
  }
  return metrics;
}

// While a reading takes longer than kEach, one choice waits and later ones are dropped.
void ProcessGauges::tick(const MemoryModel& model, MonotonicTime now) {
  if (now < next_) return;
  next_ = now + kEach;
  (void)thread_.post([this, chosen = processes_near_limit(model)] {
    ProcessMemoryMetrics metrics = read_processes(chosen, read_);
    const std::lock_guard lock(mutex_);
    newest_ = std::move(metrics);
  });
}

ProcessMemoryMetrics ProcessGauges::newest(const MemoryModel& model) const {
  ProcessMemoryMetrics metrics;
  {
    const std::lock_guard lock(mutex_);
    metrics = newest_;
  }
  std::erase_if(metrics.processes, [&](const Process& process) {
    const ProcessState* state = model.find_process(process.key);
    return state == nullptr || state->exited_at;
  });
  return metrics;
}

}  // namespace oomw
