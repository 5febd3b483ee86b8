// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cost_share.h"
#include "base/memory_budget.h"
#include "base/worker_pool.h"
#include "captures/capture.h"
#include "captures/endpoint_cache.h"
#include "captures/http_fetch.h"
#include "process/target_process.h"

namespace oomw {

struct CollectorConfig {
  std::vector<std::uint16_t> ports = {8888};  // where any program may serve a Collector's metrics; empty = never asked
  std::string path = "/metrics";
  Nanoseconds timeout = std::chrono::seconds(1);
  std::uint64_t max_body_bytes = 2u << 20;
  std::string proc_root = "/proc";
};

// A heap profile names the code that allocated memory, not the component that keeps it. In an OpenTelemetry Collector
// that is mostly an exporter's sending queue, and the Collector's own metrics name it. So they are read as well
// whenever a heap profile is requested over HTTP or a target is prepared for it.
//   - Only a listener that the target itself holds is asked, from inside its network namespace; GET only, deadline,
//     size cap; text that is not a Collector's is ignored.
//   - On other ports than config.ports, only a process whose program is a Collector is asked. What it answers there
//     counts if it reports the CPU time that the kernel counts for this process: a Collector may also export what
//     others report of themselves. Each listener is asked in vain once, or kMaxSlowAsks times if it is slow: some
//     receivers take any line of text for data.
//   - The profile comes first: another task of the same workers reads the metrics and never delays its result. A
//     reading without a place in a queue, or without memory before its deadline, is counted in dropped().
//   - Its cost is bounded by the decisions to capture and prepare, which have budgets. Beside a capture, one reading of
//   a
//     container is under way at a time, and one that takes more than kSecondsOfOne a minute rests (base/cost_share.h):
//     the workers are everybody's. What is left out for it is counted too.
// Thread-safe; `deliver` is called on a worker.
class CollectorWatch final : public CaptureBackend {
 public:
  using Deliver = std::function<bool(CollectorSampled)>;  // false: no place for it
  static constexpr Nanoseconds kSecondsOfOne = std::chrono::seconds(3);
  static constexpr std::size_t kMaxAccounts = 1'024;
  static constexpr int kMaxSlowAsks = 2;
  static constexpr std::size_t kMaxListeners = 32;      // asked of a process on other ports
  using IsCollector = std::function<bool(ProcessKey)>;  // by its program; any thread
  // Everything passed by reference outlives this; the workers are drained first. memory: the budget that an answer's
  // memory is leased from; null: nothing else needs any. is_collector: empty: no program is known to be one.
  CollectorWatch(CaptureBackend& heap, WorkerPool& workers, CollectorConfig config, const Clock& clock, Deliver deliver,
                 MemoryBudget* memory = nullptr, IsCollector is_collector = {});
  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void read_later(const CaptureRequest& request);
  [[nodiscard]] bool begin_reading(const ShareOwner& owner);
  void end_reading(const ShareOwner& owner, Nanoseconds cost);
  void read(const std::vector<CaptureTarget>& targets);
  [[nodiscard]] std::optional<CollectorSampled> read_target(const CaptureTarget& target, MonotonicTime deadline);
  [[nodiscard]] std::vector<PprofEndpoint> endpoints_of(const TargetProcess& process);
  [[nodiscard]] bool is_configured(const PprofEndpoint& endpoint) const;
  [[nodiscard]] bool may_ask(const TargetProcess& process, const PprofEndpoint& endpoint);
  void note_in_vain(const TargetProcess& process, const PprofEndpoint& endpoint, FetchStatus status);
  [[nodiscard]] std::optional<CollectorSampled> ask(const TargetProcess& process, const PprofEndpoint& endpoint,
                                                    MonotonicTime deadline);

  CaptureBackend& heap_;
  WorkerPool& workers_;
  const CollectorConfig config_;
  const Clock& clock_;
  Deliver deliver_;
  MemoryBudget* const memory_;
  const IsCollector is_collector_;
  EndpointCache cache_;
  std::atomic<std::uint64_t> dropped_ = 0;
  struct Account {
    CostShare cost;
    bool is_reading = false;
  };
  std::mutex mutex_;
  std::map<ShareOwner, Account> accounts_;
  std::map<ProcessKey, std::map<std::uint64_t, int>> in_vain_;  // how often, by the listener's inode
};

}  // namespace oomw
