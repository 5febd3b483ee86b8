// SPDX-License-Identifier: Apache-2.0
#include "report/usage_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

constexpr std::size_t kColumns = 60;
constexpr int kRows = 8;
constexpr int kSteps = 8;  // of a character cell's height
constexpr int kMargin = 9;
constexpr std::array<std::string_view, kSteps + 1> kBlocks = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                              "\u2585", "\u2586", "\u2587", "\u2588"};

struct Span {
  std::int64_t first_ns = 0, last_ns = 0;
};

std::optional<Span> span_of(const Incident& incident) {
  std::size_t readings = 0;
  Span span;
  for (const Incident::Point& point : incident.series) {
    if (point.time > incident.time) break;
    if (readings++ == 0) span.first_ns = point.time.ns;
  }
  span.last_ns = incident.time.ns;
  return readings < 3 || span.last_ns <= span.first_ns ? std::nullopt : std::optional(span);
}

std::size_t column_of(std::int64_t time_ns, const Span& span) {
  const auto share = static_cast<double>(time_ns - span.first_ns) / static_cast<double>(span.last_ns - span.first_ns);
  return std::min(kColumns - 1, static_cast<std::size_t>(share * kColumns));
}

// The highest reading of each column; the last column is the kill's.
std::vector<std::uint64_t> heights_of(const Incident& incident, const Span& span) {
  std::vector<std::optional<std::uint64_t>> highest(kColumns);
  for (const Incident::Point& point : incident.series) {
    if (point.time > incident.time) break;
    auto& column = highest[column_of(point.time.ns, span)];
    column = std::max(column.value_or(0), point.usage_bytes);
  }
  if (incident.usage_bytes) highest.back() = std::max(highest.back().value_or(0), *incident.usage_bytes);
  std::vector<std::uint64_t> heights;
  for (const auto& column : highest) heights.push_back(column.value_or(heights.empty() ? 0 : heights.back()));
  return heights;
}

std::string row_of(const std::vector<std::uint64_t>& heights, std::uint64_t limit, int row_from_below) {
  std::string cells;
  for (const std::uint64_t height : heights) {
    const double share = static_cast<double>(height) / static_cast<double>(limit);
    const long steps = std::lround(share * kRows * kSteps) - static_cast<long>(row_from_below) * kSteps;
    cells += kBlocks[static_cast<std::size_t>(std::clamp<long>(steps, 0, kSteps))];
  }
  return cells;
}

std::string label_of(int row_from_below, std::uint64_t limit) {
  if (row_from_below == kRows - 1) return human_bytes(limit);
  return row_from_below == kRows / 2 - 1 ? human_bytes(limit / 2) : "";
}

}  // namespace

std::string usage_plot(const Incident& incident) {
  const auto span = span_of(incident);
  if (!span || !incident.limit_bytes || *incident.limit_bytes == 0) return "";
  const std::vector<std::uint64_t> heights = heights_of(incident, *span);
  std::string plot;
  for (int row = kRows - 1; row >= 0; --row) {
    std::string line = fmt::format("{:>{}} \u2502{}", label_of(row, *incident.limit_bytes), kMargin,
                                   row_of(heights, *incident.limit_bytes, row));
    line.erase(line.find_last_not_of(' ') + 1);
    plot += line + "\n";
  }
  const std::string start = fmt::format("-{:.3g} s", static_cast<double>(span->last_ns - span->first_ns) / 1e9);
  std::string axis;
  for (std::size_t i = 0; i < kColumns; ++i) axis += "\u2500";
  return plot + fmt::format("{:>{}} \u2514{}\n", "0", kMargin, axis) +
         fmt::format("{:{}}{}{:>{}}\n", "", kMargin + 2, start, "kill", kColumns - start.size());
}

}  // namespace oomw
