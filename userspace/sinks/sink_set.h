// SPDX-License-Identifier: Apache-2.0
// Which sinks a configuration asks for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kubernetes/api_target.h"
#include "sinks/delivery.h"
#include "sinks/memory_events.h"
#include "sinks/otlp_events.h"
#include "sinks/otlp_metrics.h"
#include "sinks/sinks_config.h"

namespace oomw {

struct NamedDestination {
  std::string name;  // "otlp"
  std::unique_ptr<Destination> destination;
};

struct SinkContext {
  Environment environment;
  std::function<bool(std::string line)> print_line;
  std::shared_ptr<std::atomic<bool>> stopping;
  const Clock* clock = nullptr;
};

struct SinkSet {
  std::vector<NamedDestination> sinks;
  std::vector<std::string> problems;  // settings of sinks that are off because of them
};

[[nodiscard]] SinkSet make_sinks(const SinksConfig& config, const SinkContext& context);
// What memory events need; nullptr: there is no OTLP receiver, or they are switched off.
struct MemoryEventSink {
  static constexpr Nanoseconds kEach = std::chrono::seconds(5);  // containers are looked at
  MonotonicTime looked_at;
  MemoryEvents events;
  OtlpMapping mapping;
  std::unique_ptr<OtlpEvents> sender;
};
// A receiver whose settings are wrong is none here: make_sinks says so.
[[nodiscard]] std::unique_ptr<MemoryEventSink> make_memory_events(const SinksConfig& config,
                                                                  const SinkContext& context);
// nullptr: nobody asks for metrics.
[[nodiscard]] Result<std::unique_ptr<OtlpMetrics>> make_otlp_metrics(const SinksConfig& config,
                                                                     const SinkContext& context,
                                                                     OtlpMetrics::ReadProcess read_process);

}  // namespace oomw
