// SPDX-License-Identifier: Apache-2.0
// What the running daemon tells its web server, as JSON. Pure.
#pragma once

#include <string>

#include "export/metrics_snapshot.h"

namespace oomw {

// {containers[{namespace, pod, container, usage_bytes, limit_bytes, growth_bytes_per_second, seconds_to_limit,
// suspected_leak, near, growing{name, first_bytes, last_bytes, seconds}}]}: those with a limit, at most 500. First come
// those that would reach it within an hour, by the time they have left, then the others, fullest first. near: "time"
// (of the first), "leak" (suspected), "use" (half of the limit or more) or null. growing: null unless a leak by a known
// name is suspected.
[[nodiscard]] std::string now_json(const MetricsSnapshot& snapshot);

// {ready, features{NAME: {rung, lost}}, lost{}, kills{}, incidents{}, process{}, ...}: what works, what was lost.
[[nodiscard]] std::string health_json(const MetricsSnapshot& snapshot);

}  // namespace oomw
