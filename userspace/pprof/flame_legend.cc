// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_legend.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "pprof/flame_color.h"
#include "pprof/flame_text.h"
#include "pprof/group.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

constexpr double kBox = 11, kGap = 5, kBetween = 16;
constexpr std::size_t kNameColumns = 28;

// The package or group that decides the colour in function_color().
std::string owner_of(const std::string& function, const std::string& tint) {
  if (!tint.empty()) return tint;
  const std::string_view package = package_of(function);
  return package.empty() ? "no package" : std::string(package);
}

// The end of a path is its most informative part: "pdata/internal" of "go.opentelemetry.io/collector/pdata/internal".
std::string brief(const std::string& path) {
  const std::size_t last = path.rfind('/');
  if (last == std::string::npos || last == 0) return path;
  const std::size_t before = path.rfind('/', last - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}

struct Owner {
  std::string color;
  std::int64_t drawn = 0;
};

}  // namespace

std::vector<LegendEntry> legend_of(const FlameTree& tree, const FlameOptions& options) {
  std::map<std::string, Owner> owners;
  for (const FlameFrame& frame : tree.frames()) {
    if (frame.kind != FlameFrame::Kind::kFunction) continue;
    const std::string& function = tree.name(frame);
    const std::string tint = options.tint ? options.tint(function) : "";
    const std::string color = function_color(function, tint);
    Owner& owner = owners[color == kRuntimeColor ? "Go runtime" : owner_of(function, tint)];
    owner.color = color;
    owner.drawn = saturating_add(owner.drawn, frame.size);
  }
  std::vector<std::pair<std::string, Owner>> sorted(owners.begin(), owners.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& entry) { return entry.second.drawn; });
  if (sorted.size() > kMaxLegend) sorted.resize(kMaxLegend);
  std::vector<LegendEntry> legend;
  for (const auto& [name, owner] : sorted) legend.push_back({owner.color, brief(name), name});
  return legend;
}

std::vector<LegendEntry> growth_scale() {
  return {{growth_color(1, 1), "all of it grew", "every stack through the frame grew"},
          {growth_color(1, 2), "most grew", "the stacks through the frame grew by more than others of them shrank"},
          {growth_color(0, 1), "as much of both", "growth and shrinkage cancel out"},
          {growth_color(-1, 2), "most shrank", "the stacks through the frame shrank by more than others of them grew"},
          {growth_color(-1, 1), "all of it shrank", "every stack through the frame shrank"}};
}

std::string to_svg(const std::vector<LegendEntry>& legend, double x, double baseline, double room) {
  std::string out;
  const double end = x + room;
  for (const LegendEntry& entry : legend) {
    const std::string name = fit(printable(entry.name, 256), kNameColumns);
    const double width = kBox + kGap + kCharWidth * static_cast<double>(name.size());
    if (x + width > end) break;
    out += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#777\" "
        "stroke-width=\"0.5\" class=\"{}\"/><text class=\"note\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        to_xml(entry.tooltip), x, baseline - kBox + 1.5, kBox, kBox, entry.color, color_class(entry.color),
        x + kBox + kGap, baseline, to_xml(name));
    x += width + kBetween;
  }
  return out;
}

}  // namespace oomw::pprof
