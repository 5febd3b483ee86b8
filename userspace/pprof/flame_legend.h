// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pprof/flame_graph.h"

namespace oomw::pprof {

// The meaning of a flame graph's colours: a box of each colour with its name, and the full name as
// tooltip.
struct LegendEntry {
  std::string color, name, tooltip;
};

// For a profile: the packages and groups that take most of the drawn width, at most kMaxLegend.
inline constexpr std::size_t kMaxLegend = 8;
[[nodiscard]] std::vector<LegendEntry> legend_of(const FlameTree& tree, const FlameOptions& options);
// For a diff: the scale from all grown to all shrunk.
[[nodiscard]] std::vector<LegendEntry> growth_scale();

// One line of SVG from `x` on, as many entries as fit into `room`; names are cut and escaped.
[[nodiscard]] std::string to_svg(const std::vector<LegendEntry>& legend, double x, double baseline, double room);

}  // namespace oomw::pprof
