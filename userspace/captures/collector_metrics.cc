// SPDX-License-Identifier: Apache-2.0
#include "captures/collector_metrics.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "captures/metrics_text.h"

namespace oomw {
namespace {

constexpr std::string_view kCollectorPrefix = "otelcol_";
constexpr double kMostAmount = 1e18;  // below 2^63, and sums of 64 stay below 2^64

using ById = std::map<std::string, std::uint64_t>;

std::optional<std::uint64_t> amount_of(const MetricSample& sample) {
  if (!(sample.value >= 0 && sample.value <= kMostAmount)) return std::nullopt;  // NaN as well
  return static_cast<std::uint64_t>(sample.value);
}

void add(std::optional<std::uint64_t>& sum, std::uint64_t amount) {
  sum = std::min(sum.value_or(0) + amount, static_cast<std::uint64_t>(kMostAmount));
}

void add(ById& sums, const MetricSample& sample, std::string_view label, std::uint64_t amount) {
  const std::string* id = sample.label(label);
  if (id == nullptr || id->empty() || id->size() > kMaxCollectorIdBytes) return;
  const std::string name = printable(*id, kMaxCollectorIdBytes);
  if (!sums.contains(name) && sums.size() == kMaxCollectorIds) return;
  std::uint64_t& sum = sums[name];
  sum = std::min(sum + amount, static_cast<std::uint64_t>(kMostAmount));
}

// Older versions count all processors alike, by label; newer ones have names for the limiter alone.
bool is_of_limiter(const MetricSample& sample) {
  if (sample.name.starts_with("otelcol_processor_memory_limiter_")) return true;
  const std::string* processor = sample.label("processor");
  return processor != nullptr && (*processor == "memory_limiter" || processor->starts_with("memory_limiter/"));
}

void take_limiter(const MetricSample& sample, std::uint64_t amount, CollectorSampled& figures) {
  std::string_view what = sample.name;
  for (const std::string_view prefix : {"otelcol_processor_memory_limiter_", "otelcol_processor_"}) {
    if (!what.starts_with(prefix)) continue;
    what.remove_prefix(prefix.size());
    break;
  }
  if (what.starts_with("accepted_")) add(figures.limiter_accepted, amount);
  if (what.starts_with("refused_")) add(figures.limiter_refused, amount);
}

void take(const MetricSample& sample, CollectorSampled& figures) {
  const auto amount = amount_of(sample);
  if (!amount) return;
  if (sample.name.starts_with("otelcol_exporter_queue_size")) add(figures.queue_sizes, sample, "exporter", *amount);
  if (sample.name.starts_with("otelcol_exporter_queue_capacity")) {
    add(figures.queue_capacities, sample, "exporter", *amount);
  }
  if (sample.name.starts_with("otelcol_receiver_refused_")) add(figures.receiver_refused, sample, "receiver", *amount);
  if (sample.name.starts_with("otelcol_processor_") && is_of_limiter(sample)) take_limiter(sample, *amount, figures);
}

}  // namespace

std::optional<CollectorSampled> collector_figures_of(std::string_view metrics) {
  CollectorSampled figures;
  bool is_collector = false;
  for_each_metric(metrics, [&](const MetricSample& sample) {
    if (!sample.name.starts_with(kCollectorPrefix)) return;
    is_collector = true;
    take(sample, figures);
  });
  // A limiter that has not refused anything has not created that counter yet.
  if (figures.limiter_accepted && !figures.limiter_refused) figures.limiter_refused = 0;
  return is_collector ? std::optional(std::move(figures)) : std::nullopt;
}

std::optional<double> collector_cpu_seconds(std::string_view metrics) {
  std::optional<double> seconds;
  std::size_t count = 0;
  for_each_metric(metrics, [&](const MetricSample& sample) {
    if (!sample.name.starts_with("otelcol_process_cpu_seconds")) return;
    ++count;
    seconds = sample.value;
  });
  return count == 1 ? seconds : std::nullopt;
}

}  // namespace oomw
