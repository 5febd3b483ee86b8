// SPDX-License-Identifier: Apache-2.0
#include "report/collector_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/queue_text.h"
#include "pprof/growth_text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxCollectorRows = 8;

std::string component_name(const CollectorComponent& component) {
  return fmt::format("{} {}", to_markdown(component.kind), to_markdown(component.id));
}

std::string allocated_text(const IncidentCollector& collector) {
  const CollectorComponent* allocator = allocator_of(collector);
  if (allocator == nullptr) return "Which component allocated the memory is not known.";
  return fmt::format("**Allocated by {}**: {} ({:.0f} % of the profile) were allocated below it.",
                     component_name(*allocator), human_bytes(allocator->held_bytes), allocator->ratio * 100);
}

std::string kept_text(const IncidentCollector& collector, std::optional<std::uint64_t> limit_bytes) {
  if (!collector.exporters) return "Who keeps it is not known: the Collector's metrics were not read.";
  const CollectorExporter* keeper = keeper_of(collector);
  if (keeper == nullptr) return "No exporter's sending queue grew before the kill, so none of them keeps it.";
  const auto amount = [&](auto of) { return queue_amount(*keeper, static_cast<std::int64_t>(of), limit_bytes); };
  std::string text = fmt::format("**Kept by exporter {}**: its sending queue ", to_markdown(keeper->id));
  if (keeper->growth) {
    text += fmt::format("grew by {} in the {:.1f} s up to its last reading, to {}", amount(*keeper->growth),
                        collector.span_seconds, amount(keeper->queue_size));
  } else {
    text += fmt::format("held {} at the one reading", amount(keeper->queue_size));
  }
  if (keeper->queue_capacity) text += " of " + amount(*keeper->queue_capacity);
  return text + ", and what waits there to be sent is what the profile shows as held.";
}

std::string limiter_text(const IncidentCollector& collector) {
  if (!collector.read_at) return "";
  if (!collector.limiter_refused) return " Its metrics know of no memory_limiter.";
  if (*collector.limiter_refused == 0) {
    return " Its memory_limiter refused nothing: its own limit lies above what the container may use.";
  }
  return fmt::format(" Its memory_limiter had refused {} items, which was not enough.", *collector.limiter_refused);
}

// Components without a known growth keep their order, most bytes first.
std::vector<CollectorComponent> most_grown_first(std::vector<CollectorComponent> components) {
  std::ranges::stable_sort(components, std::ranges::greater(),
                           [](const CollectorComponent& component) { return component.growth_bytes.value_or(0); });
  return components;
}

std::string components_table(const IncidentCollector& collector) {
  if (!collector.components) return "";
  const std::string& since = collector.components_since_file;
  std::string text = fmt::format(
      "| component (in {}) | allocated, still held | of the profile | {} |\n|---|---:|---:|---:|\n",
      to_markdown(collector.components_file), since.empty() ? "grown" : "grown since " + to_markdown(since));
  std::size_t rows = 0;
  for (const CollectorComponent& component : most_grown_first(*collector.components)) {
    if (rows++ == kMaxCollectorRows) break;
    text += fmt::format("| {} | {} | {:.1f} % | {} |\n", component_name(component), human_bytes(component.held_bytes),
                        component.ratio * 100,
                        component.growth_bytes ? pprof::signed_amount(*component.growth_bytes, "bytes") : "unknown");
  }
  return text + "\n";
}

std::string exporters_table(const IncidentCollector& collector, std::optional<std::uint64_t> limit_bytes) {
  if (!collector.exporters || collector.exporters->empty()) return "";
  std::string text =
      fmt::format("| exporter ({:.1f} s before the kill) | queue | capacity | grown by |\n|---|---|---|---|\n",
                  collector.lead_seconds);
  std::size_t rows = 0;
  for (const CollectorExporter& exporter : *collector.exporters) {
    if (rows++ == kMaxCollectorRows) break;
    const auto amount = [&](auto of) {
      return of ? queue_amount(exporter, static_cast<std::int64_t>(*of), limit_bytes) : "unknown";
    };
    text += fmt::format("| {} | {} | {} | {} |\n", to_markdown(exporter.id), amount(std::optional(exporter.queue_size)),
                        amount(exporter.queue_capacity), amount(exporter.growth));
  }
  return text + "\n";
}

}  // namespace

std::string collector_section(const IncidentCollector& collector, std::optional<std::uint64_t> limit_bytes) {
  return fmt::format("## Collector\n\n{} {}{}\n\n", allocated_text(collector), kept_text(collector, limit_bytes),
                     limiter_text(collector)) +
         components_table(collector) + exporters_table(collector, limit_bytes);
}

}  // namespace oomw
