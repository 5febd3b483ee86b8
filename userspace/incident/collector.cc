// SPDX-License-Identifier: Apache-2.0
#include "incident/collector.h"

#include <algorithm>

namespace oomw {
namespace {

// What an exporter's consumers take at once keeps nothing: num_consumers of exporterhelper's sending queue is 10 unless
// configured.
constexpr std::uint64_t kConsumers = 10;

// Both are below 2^63: what reads metrics and profiles sees to it.
std::int64_t difference(std::uint64_t later, std::uint64_t earlier) {
  return static_cast<std::int64_t>(later) - static_cast<std::int64_t>(earlier);
}

std::optional<std::uint64_t> find(const std::map<std::string, std::uint64_t>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

CollectorExporter exporter_of(const std::string& id, const std::vector<CollectorSampled>& readings) {
  const CollectorSampled &first = readings.front(), &last = readings.back();
  CollectorExporter exporter{id, last.queue_sizes.at(id), find(last.queue_capacities, id), std::nullopt};
  const auto before = find(first.queue_sizes, id);
  if (readings.size() > 1 && before) exporter.growth = difference(exporter.queue_size, *before);
  return exporter;
}

std::vector<CollectorExporter> exporters_of(const std::vector<CollectorSampled>& readings) {
  std::vector<CollectorExporter> exporters;
  for (const auto& [id, size] : readings.back().queue_sizes) exporters.push_back(exporter_of(id, readings));
  std::stable_sort(exporters.begin(), exporters.end(), [](const auto& a, const auto& b) {
    return std::pair(a.growth.value_or(0), a.queue_size) > std::pair(b.growth.value_or(0), b.queue_size);
  });
  return exporters;
}

}  // namespace

std::optional<IncidentCollector> collector_of(const std::vector<CollectorSampled>& readings, MonotonicTime kill,
                                              std::int64_t wall_offset_ns) {
  if (readings.empty()) return std::nullopt;
  const CollectorSampled& last = readings.back();
  IncidentCollector collector;
  collector.exporters = exporters_of(readings);
  collector.limiter_refused = last.limiter_refused;
  for (const auto& [id, refused] : last.receiver_refused) {
    collector.receiver_refused = collector.receiver_refused.value_or(0) + refused;
  }
  collector.read_at = WallTime{last.time.ns + wall_offset_ns};
  collector.lead_seconds = to_seconds(kill - last.time);
  collector.readings = readings.size();
  collector.span_seconds = to_seconds(last.time - readings.front().time);
  return collector;
}

std::vector<CollectorComponent> grown_since(const std::vector<CollectorComponent>& earlier,
                                            std::vector<CollectorComponent> later) {
  for (CollectorComponent& component : later) {
    const auto is_same = [&](const CollectorComponent& other) {
      return other.kind == component.kind && other.id == component.id;
    };
    const auto before = std::ranges::find_if(earlier, is_same);
    component.growth_bytes = difference(component.held_bytes, before == earlier.end() ? 0 : before->held_bytes);
  }
  return later;
}

const CollectorComponent* allocator_of(const IncidentCollector& collector) {
  return collector.components && !collector.components->empty() ? &collector.components->front() : nullptr;
}

const CollectorExporter* keeper_of(const IncidentCollector& collector) {
  if (!collector.exporters || collector.exporters->empty()) return nullptr;
  const CollectorExporter& first = collector.exporters->front();
  const bool has_grown = first.growth.value_or(static_cast<std::int64_t>(first.queue_size)) > 0;
  return has_grown && first.queue_size > kConsumers ? &first : nullptr;
}

}  // namespace oomw
