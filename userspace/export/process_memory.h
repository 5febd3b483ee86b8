// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "base/worker_pool.h"
#include "export/metrics_snapshot.h"
#include "model/memory_model.h"

namespace oomw {

struct ProcessMemoryBounds {
  std::size_t containers = 16;      // largest usage first
  std::size_t processes_each = 16;  // shown: largest resident memory first
  std::size_t read_each = 128;      // read, by pid
  std::size_t read = 512;           // of the node
};

// The processes of containers near their limit, not read yet.
struct NearProcesses {
  std::vector<std::vector<ProcessMemoryMetrics::Process>> by_container;
  std::uint64_t containers_left_out = 0, processes_left_out = 0;
};
// Fills in resident and virtual bytes; false: the process is gone.
using ReadProcessMemory = std::function<bool(ProcessMemoryMetrics::Process& process)>;

// Pure; O(cgroups).
[[nodiscard]] NearProcesses processes_near_limit(const MemoryModel& model, const ProcessMemoryBounds& bounds = {});
[[nodiscard]] ProcessMemoryMetrics read_processes(NearProcesses chosen, const ReadProcessMemory& read,
                                                  const ProcessMemoryBounds& bounds = {});

// The same for /metrics, every kEach. The core thread chooses, a thread of this reads: whoever reads /proc/PID/statm
// while the process ends may have to free its memory. Neither the core thread nor a scrape waits for that.
class ProcessGauges {
 public:
  static constexpr Nanoseconds kEach = std::chrono::seconds(5);

  explicit ProcessGauges(ReadProcessMemory read) : read_(std::move(read)) {}
  ProcessGauges(const ProcessGauges&) = delete;
  ProcessGauges& operator=(const ProcessGauges&) = delete;

  void tick(const MemoryModel& model, MonotonicTime now);  // core thread; returns at once
  // What was read last, without processes that the model knows to be gone.
  [[nodiscard]] ProcessMemoryMetrics newest(const MemoryModel& model) const;  // core thread

 private:
  const ReadProcessMemory read_;
  MonotonicTime next_;
  mutable std::mutex mutex_;  // of newest_
  ProcessMemoryMetrics newest_;
  WorkerPool thread_{"oomw-processes", 1, 1};  // last: it uses all of the above
};

}  // namespace oomw
