// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/endpoint_cache.h"
#include "memory/target_process.h"

namespace oomw {

struct CollectorConfig {
  std::vector<std::uint16_t> ports = {8888};  // where a Collector tells of itself; empty = never asked
  std::string path = "/metrics";
  Nanoseconds timeout = std::chrono::seconds(1);
  std::uint64_t max_body_bytes = 2u << 20;
  std::string proc_root = "/proc";
};

// A heap profile names who allocated, not who keeps it. In an OpenTelemetry Collector that is mostly
// an exporter's sending queue, and the Collector's own metrics say which: so whenever a heap profile
// is asked for over HTTP, and when a target is prepared for it, its metrics are read as well.
//   - only a listener that the target itself holds is asked, from inside its network namespace; GET
//     only, deadline, size cap; text that is no Collector's leads to nothing;
//   - the profile comes first: the metrics are read by another task of the same workers, and never
//     hold up its result. A reading that finds no place in a queue, or no room in memory before its
//     deadline, is counted in dropped();
//   - what it costs is bounded by the decisions to capture and prepare, which have budgets.
// Thread-safe; `deliver` is called on a worker.
class CollectorWatch final : public CaptureBackend {
 public:
  using Deliver = std::function<bool(CollectorSampled)>;  // false: no place for it
  // All of it outlives this; the workers are drained first. memory: what an answer takes is leased from;
  // null: nobody else wants any.
  CollectorWatch(CaptureBackend& heap, WorkerPool& workers, CollectorConfig config, const Clock& clock, Deliver deliver,
                 MemoryBudget* memory = nullptr);
  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void read_later(const CaptureRequest& request);
  void read(const std::vector<CaptureTarget>& targets);
  [[nodiscard]] std::optional<CollectorSampled> read_target(const CaptureTarget& target, MonotonicTime deadline);
  [[nodiscard]] std::optional<CollectorSampled> ask(const TargetProcess& process, const PprofEndpoint& endpoint,
                                                    MonotonicTime deadline);

  CaptureBackend& heap_;
  WorkerPool& workers_;
  const CollectorConfig config_;
  const Clock& clock_;
  Deliver deliver_;
  MemoryBudget* const memory_;
  EndpointCache cache_;
  std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace oomw
