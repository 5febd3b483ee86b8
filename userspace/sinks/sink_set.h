// SPDX-License-Identifier: Apache-2.0
// Which sinks a configuration asks for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kubernetes/api_target.h"
#include "sinks/delivery.h"
#include "sinks/memory_events.h"
#include "sinks/otlp_events.h"
#include "sinks/otlp_metrics.h"
#include "sinks/sink_status.h"
#include "sinks/sinks_config.h"

namespace oomw {

struct NamedDestination {
  std::string name;  // "otlp"
  std::unique_ptr<Destination> destination;
  std::optional<OutboxBudget> budget = {};  // none: the configured one
};

struct SinkContext {
  Environment environment;
  std::function<bool(std::string line)> print_line;
  std::function<std::string(const std::string& incident_id)> find_pod_uid;  // as the API knows it; "" = not known
  std::shared_ptr<std::atomic<bool>> stopping;
  const Clock* clock = nullptr;
  SinkHealth* health = nullptr;  // outlives what is made with it
};

struct SinkSet {
  std::vector<NamedDestination> sinks;
  std::vector<std::string> signals;   // that are sent without an outbox: nothing of them is kept on disk
  std::vector<std::string> problems;  // settings of sinks that are off because of them
};

inline constexpr std::string_view kEventsSink = "kubernetes_events";
inline constexpr const char* kMemoryEventsSignal = "otlp_events";
inline constexpr const char* kMetricsSignal = "otlp_metrics";

// Where object storage will have an incident's files, by its id; empty: there is none.
[[nodiscard]] std::function<std::string(const std::string& id)> artifacts_url_of(const SinksConfig& config);
[[nodiscard]] SinkSet make_sinks(const SinksConfig& config, const KubernetesConfig& kubernetes,
                                 const SinkContext& context);
// What memory events need; nullptr: there is no OTLP receiver, or they are switched off.
struct MemoryEventSink {
  static constexpr Nanoseconds kEach = std::chrono::seconds(5);  // containers are looked at
  explicit MemoryEventSink(Nanoseconds near_for) : events(near_for) {}
  MonotonicTime looked_at;
  MemoryEvents events;
  OtlpMapping mapping;
  std::unique_ptr<OtlpEvents> sender;
};
// A receiver whose settings are wrong is none here: make_sinks says so.
[[nodiscard]] std::unique_ptr<MemoryEventSink> make_memory_events(const SinksConfig& config,
                                                                  const SinkContext& context);
// Likewise; nullptr: nobody asks for metrics.
[[nodiscard]] std::unique_ptr<OtlpMetrics> make_otlp_metrics(const SinksConfig& config, const SinkContext& context,
                                                             OtlpMetrics::ReadProcess read_process);

}  // namespace oomw
