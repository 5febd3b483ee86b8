// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/collector_component.h"
#include "events/event.h"

namespace oomw {

struct CollectorExporter {
  std::string id;
  std::uint64_t queue_size = 0;  // at the last reading, in the unit of the queue's sizer
  std::optional<std::uint64_t> queue_capacity;
  std::optional<std::int64_t> growth;  // since the first reading; nullopt: there was only one
};

// The part of an incident that only an OpenTelemetry Collector has: which component allocated the victim's
// memory (from its heap profile), and which exporter keeps it (from its own metrics).
struct IncidentCollector {
  std::optional<std::vector<CollectorComponent>> components;  // most bytes first; nullopt: no profile names any
  std::string components_file;                                // the capture they come from
  std::string components_since_file;                          // the profile their growth counts from; "" = not known
  std::optional<std::vector<CollectorExporter>> exporters;    // most growth first; nullopt: metrics not read
  std::optional<std::uint64_t> limiter_refused;               // nullopt: no memory_limiter is known
  std::optional<std::uint64_t> receiver_refused;
  std::optional<WallTime> read_at;  // the last reading of the metrics
  double lead_seconds = 0;          // from that reading to the kill
  std::size_t readings = 0;
  double span_seconds = 0;  // from the first reading to the last
};

// readings: of one process, before the kill, oldest first; nullopt if there are none.
[[nodiscard]] std::optional<IncidentCollector> collector_of(const std::vector<CollectorSampled>& readings,
                                                            MonotonicTime kill, std::int64_t wall_offset_ns);

// The components of a profile with their growth since an earlier one of the same process and series. One that the
// earlier profile does not have held nothing then.
[[nodiscard]] std::vector<CollectorComponent> grown_since(const std::vector<CollectorComponent>& earlier,
                                                          std::vector<CollectorComponent> later);

// The component that allocated most (see collector_components_of for helpers); nullptr: not known.
[[nodiscard]] const CollectorComponent* allocator_of(const IncidentCollector& collector);
// The exporter whose sending queue grew most or, with only one reading, is the longest. nullptr: no
// queue grew, or it holds no more than its consumers take at once, or nothing is known.
[[nodiscard]] const CollectorExporter* keeper_of(const IncidentCollector& collector);

}  // namespace oomw
