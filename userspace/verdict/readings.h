// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "incident/incident.h"

namespace oomw {

// Bytes of something, and when: the time counts back from the kill.
struct Reading {
  double seconds = 0;  // before the kill
  double bytes = 0;
};
using Readings = std::vector<Reading>;  // oldest first

[[nodiscard]] double seconds_before_kill(const Incident& incident, WallTime time);
// On the straight line between the readings around it; the first or the last beyond them. Not of no readings.
[[nodiscard]] double value_at(const Readings& readings, double seconds);

// Bytes per second from the first of them until then: Theil's and Sen's of even steps, as readings are closer together
// where there is more to see.
[[nodiscard]] double median_pace(const Readings& readings, double until_seconds);

// The container's memory that cannot be reclaimed, up to the kill. Readings that tell usage alone are left out but at
// the end, where what was reclaimable is taken to be as last read; without any other there was nothing of it.
[[nodiscard]] Readings memory_readings(const Incident& incident);
// The start of the process that held most of the memory, before the kill; nullopt where no single one is known to.
[[nodiscard]] std::optional<double> start_of_holder(const Incident& incident);

}  // namespace oomw
