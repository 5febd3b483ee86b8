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
// Interpolated linearly between the neighbouring readings; beyond the ends, the first or the last. Needs one at least.
[[nodiscard]] double value_at(const Readings& readings, double seconds);

// Bytes per second from the first reading until then: the Theil-Sen slope over even steps, because readings come closer
// together when more happens.
[[nodiscard]] double median_pace(const Readings& readings, double until_seconds);

// The container's memory that cannot be reclaimed, up to the kill. Readings of usage alone are used only after the last
// full one, with its reclaimable bytes subtracted; if there is no full one, nothing counts as reclaimable.
[[nodiscard]] Readings memory_readings(const Incident& incident);
// When the process that held most of the memory started, in seconds before the kill; nullopt if no single one is known.
[[nodiscard]] std::optional<double> start_of_holder(const Incident& incident);

}  // namespace oomw
