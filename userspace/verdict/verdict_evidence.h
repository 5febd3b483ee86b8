// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "incident/incident.h"
#include "verdict/memory_curve.h"
#include "verdict/readings.h"

namespace oomw {

// Whether the live heap rose, in Kendall's sense: of all pairs of readings, not of consecutive ones, which
// noise of sampling decides where they are close together.
struct LiveRise {
  double falling_pairs = 1;      // share
  bool is_chance_small = false;  // one in twenty at most
  double late_share = 0;         // of the gain, after half of the time from first to last
  double steady_share = 1;  // of the gain, that its median pace explains: little where it came at the start or the end
  double return_share = 0;  // return_share(): how far it came back
  double gained = 0;
};
[[nodiscard]] LiveRise live_rise(const Readings& live);

// What the judges look at, made once.
struct Evidence {
  const Incident& incident;
  std::optional<MemoryCurve> curve;
  // The victim's Go heap after a collection, each later than the one before. Of its trend; without one, of the
  // profiles that were taken of it.
  Readings live;
  LiveRise rise;  // of these

  explicit Evidence(const Incident& of);
  [[nodiscard]] double limit() const { return static_cast<double>(incident.limit_bytes.value_or(0)); }
};

// The median pace of the memory, after the first quarter of the run, explains a quarter of the limit. Not without a
// curve.
[[nodiscard]] bool grows_for_long(const Evidence& evidence);

// The live heap grew at the start, or in steps: its median pace explains little of what it gained. Not said of fewer
// than four readings.
[[nodiscard]] bool came_at_once(const Evidence& evidence);
// The last collection was a third of the time ago, or more, in which the live heap was known. Not where it never was.
[[nodiscard]] bool is_long_uncollected(const Evidence& evidence);

// As far as was seen: a heap of Go's was read.
[[nodiscard]] bool is_go(const Incident& incident);

// When Go collects: at 1 + GOGC / 100 times what was live, and in any case before its memory passes GOMEMLIMIT, if
// what is live lets it. As the environment told it when it began; 100 and no limit where that says nothing.
struct GoPace {
  double heap_factor = 2;  // 0 = GOGC=off: never by itself
  std::optional<double> memory_limit_bytes;
  std::string said;  // "GOGC=50 in its environment"
};
[[nodiscard]] GoPace go_pace(const Incident& incident);
// It never collects before the limit is reached, however large that is.
[[nodiscard]] bool never_collects(const Evidence& evidence);
// What a Go process needs before it collects, beside what its limit leaves: see suggested_limit.h. nullopt
// where its live heap is not known, or it never collects.
[[nodiscard]] std::optional<double> go_need_bytes(const Evidence& evidence);

// Bytes as people read them; negative ones as none.
[[nodiscard]] std::string bytes_text(double bytes);
// "main.leak /a.go:1"; "" = none.
[[nodiscard]] std::string name_of_site(const TrendSite& site);

}  // namespace oomw
