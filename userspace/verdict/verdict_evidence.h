// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "incident/incident.h"
#include "verdict/memory_curve.h"
#include "verdict/readings.h"

namespace oomw {

// Whether the live heap rose, in Kendall's sense: over all pairs of readings, because sampling noise decides
// between consecutive readings that are close together.
struct LiveRise {
  double falling_pairs = 1;      // share
  bool is_chance_small = false;  // one in twenty at most
  double late_share = 0;         // of the gain: the part after half of the time from first to last
  double steady_share = 1;  // of the gain: what its median pace explains; little if it came at the start or the end
  double return_share = 0;  // return_share(): how far it came back
  double gained = 0;
};
[[nodiscard]] LiveRise live_rise(const Readings& live);

// The input of all judges, computed once.
struct Evidence {
  const Incident& incident;
  std::optional<MemoryCurve> curve;
  // The victim's live Go heap after each collection, oldest first: from its trend or, without one, from the
  // profiles that were taken of it.
  Readings live;
  LiveRise rise;  // of these

  explicit Evidence(const Incident& of);
  [[nodiscard]] double limit() const { return static_cast<double>(incident.limit_bytes.value_or(0)); }
};

// The median pace of the memory, after the first quarter of the run, explains a quarter of the limit. Needs a curve.
[[nodiscard]] bool grows_for_long(const Evidence& evidence);

// The detector had enough collections, and saw no growth in them. Only growth of the last moments may have escaped it.
[[nodiscard]] bool is_not_growing(const Evidence& evidence);
// The live heap grew at the start, or in steps: its median pace explains little of its gain. False with fewer than four
// readings.
[[nodiscard]] bool came_at_once(const Evidence& evidence);
// The last collection was a third of the time ago, or more, counted since the live heap was first known. False if it
// never was.
[[nodiscard]] bool is_long_uncollected(const Evidence& evidence);

// A Go heap was read. False does not prove that the program is not Go.
[[nodiscard]] bool is_go(const Incident& incident);

// When Go collects: at 1 + GOGC / 100 times the live heap, and in any case before its memory passes GOMEMLIMIT, if
// the live heap allows it. From the environment at the process's start; by default 100 and no limit.
struct GoPace {
  double heap_factor = 2;  // 0 = GOGC=off: never by itself
  std::optional<double> memory_limit_bytes;
  std::string said;  // "GOGC=50 in its environment"
};
[[nodiscard]] GoPace go_pace(const Incident& incident);
// Go never collects before the limit is reached, no matter how large it is.
[[nodiscard]] bool never_collects(const Evidence& evidence);
// The memory that a Go process reaches before it collects, with what it holds beside its heap: see
// suggested_limit.h. nullopt if its live heap is not known, or if it never collects.
[[nodiscard]] std::optional<double> go_need_bytes(const Evidence& evidence);

[[nodiscard]] inline double bytes_gained(std::uint64_t first, std::uint64_t last) {
  return last > first ? static_cast<double>(last - first) : 0;
}
[[nodiscard]] inline double live_gain(const TrendFigures& figures) {
  return bytes_gained(figures.first_live_bytes, figures.last_live_bytes);
}
[[nodiscard]] inline double held_gain(const TrendFigures& figures) {
  return bytes_gained(figures.first_held_bytes, figures.last_held_bytes);
}

// Bytes for people; a negative number as 0.
[[nodiscard]] std::string bytes_text(double bytes);
// "main.leak /a.go:1"; "" = none.
[[nodiscard]] std::string name_of_site(const TrendSite& site);

}  // namespace oomw
