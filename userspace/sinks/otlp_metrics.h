// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/worker_pool.h"
#include "sinks/container_usage.h"
#include "sinks/delivery.h"
#include "sinks/otlp_metric.h"

namespace oomw {

struct OtlpMetricsStats {
  std::map<DeliveryReason, std::uint64_t> requests;  // by how they ended; kNone = accepted
  // What was not sent: beyond the bounds of a report, or whole reports because the one before was still on its way.
  std::uint64_t containers_left_out = 0, processes_left_out = 0, reports_left_out = 0;
};

// Containers' memory to an OTLP/HTTP receiver, from a thread of its own. Nothing is kept for later and nothing is tried
// again: the next report is newer. A report goes in requests of some kMaxRequest bytes, and ends with the first that
// fails.
class OtlpMetrics {
 public:
  static constexpr std::size_t kMaxRequest = 1u << 20;
  // One request; blocks for its timeout at most. Called on the thread.
  using Post = std::function<Delivery(const std::string& body)>;
  // Resident and virtual bytes; nullopt: it is gone. Called on the thread.
  using ReadProcess = std::function<std::optional<ProcessUsage>(const ContainerUsage::Process& process)>;

  // clock outlives this. `stopping`: what post looks at while it waits; set when this ends.
  OtlpMetrics(bool is_json, Post post, OtlpMapping mapping, ReadProcess read_process,
              std::shared_ptr<std::atomic<bool>> stopping, const Clock& clock,
              Nanoseconds interval = std::chrono::seconds(60));
  ~OtlpMetrics();
  OtlpMetrics(const OtlpMetrics&) = delete;
  OtlpMetrics& operator=(const OtlpMetrics&) = delete;

  [[nodiscard]] Nanoseconds interval() const { return interval_; }  // at which whoever offers does so
  void offer(MemoryReport report);                                  // returns at once
  [[nodiscard]] OtlpMetricsStats stats() const;                     // any thread

 private:
  void send_newest();
  [[nodiscard]] bool post(std::string body);
  [[nodiscard]] std::string encoded(const ContainerUsage& reading) const;

  const bool is_json_;
  const Post post_;
  const OtlpMapping mapping_;
  const ReadProcess read_process_;
  const std::shared_ptr<std::atomic<bool>> stopping_;
  const WallTime start_;
  const Nanoseconds interval_;

  mutable std::mutex mutex_;  // of the next ones
  std::optional<MemoryReport> waiting_;
  OtlpMetricsStats stats_;

  WorkerPool thread_{"oomw-metrics", 1, 1};  // last: it uses all of the above
};

}  // namespace oomw
