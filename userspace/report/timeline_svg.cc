// SPDX-License-Identifier: Apache-2.0
#include "report/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "pprof/flame_text.h"

namespace oomw {

namespace {

using pprof::to_xml;

constexpr double kWidth = 960, kHeight = 380;
constexpr double kLeft = 84, kRight = 940, kTop = 70, kBottom = 310;
constexpr double kHeadroom = 1.08;                 // of the axis above the limit
constexpr double kLeastTicks = 6, kMostTicks = 7;  // bytes: 3 to 6 lines
constexpr std::size_t kMostDots = 240;
// Colours by class, so that a dark page gets a dark picture. "line" and "dot" say how a mark is drawn, the rest what.
constexpr std::string_view kStyle =
    "text{font:12px 'DejaVu Sans',Verdana,sans-serif;fill:#1a202c}.title{font-size:16px;font-weight:bold}"
    ".minor{font-size:11px;fill:#4a5568}.bg{fill:#fff}.grid{stroke:#e2e8f0}.line{fill:none;stroke-width:2}"
    ".area{fill:#bee3f8;fill-opacity:.35}.usage{stroke:#2b6cb0}.sample{fill:#2b6cb0}"
    ".held{stroke:#b7791f;stroke-width:1.5;stroke-dasharray:5 3}.limit{stroke:#c53030;stroke-dasharray:8 4}"
    ".kill{stroke:#c53030}.level{stroke:#a0aec0;stroke-dasharray:1 3}.dot{stroke:#fff;stroke-width:1.5}"
    ".live{fill:#276749}.at_kill{fill:#c53030}.http{fill:none;stroke:#805ad5;stroke-width:2}"
    "@media(prefers-color-scheme:dark){text{fill:#e2e8f0}.minor{fill:#a0aec0}.bg{fill:#171923}.grid{stroke:#2d3748}"
    ".area{fill:#2c5282}.usage{stroke:#63b3ed}.sample{fill:#63b3ed}.held{stroke:#ecc94b}.limit,.kill{stroke:#fc8181}"
    ".dot{stroke:#171923}.live{fill:#68d391}.at_kill{fill:#fc8181}.http{stroke:#b794f4}}";

struct Reading {
  std::int64_t time_ns = 0;
  std::uint64_t usage = 0;
  std::optional<std::uint64_t> held;
};

// Up to the kill, whose usage is the last reading.
std::vector<Reading> readings_of(const Incident& incident) {
  std::vector<Reading> readings;
  for (const Incident::Point& point : incident.series) {
    if (point.time > incident.time) break;
    readings.push_back({point.time.ns, point.usage_bytes, point.nonreclaimable_bytes});
  }
  if (readings.size() < 3 || readings.front().time_ns >= incident.time.ns) return {};
  if (incident.usage_bytes) readings.push_back({incident.time.ns, *incident.usage_bytes, std::nullopt});
  return readings;
}

// The smallest of 1, 2 and 5 (or for bytes 1, 2, 4, ...) times a unit that is not below `least`.
double round_bytes(double least) { return std::exp2(std::ceil(std::log2(std::max(least, 1.0)))); }

double round_seconds(double least) {
  constexpr std::array<double, 22> kSteps = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,   1,     2,
                                             5,     10,    15,    30,   60,   120,  300, 600, 1'800, 3'600, 21'600};
  for (const double step : kSteps) {
    if (step >= least) return step;
  }
  return std::ceil(least / 86'400) * 86'400;
}

// Of a round number of seconds: "0.5 s", "90 s", "10 min", "2 h".
std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7'200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3'600);
}

// A pause longer than this is one in which nobody read: idle containers are read each 10 s, or as the configuration
// has it.
std::int64_t gap_of(const std::vector<Reading>& readings) {
  constexpr std::int64_t kIdleNs = 25'000'000'000;
  std::vector<std::int64_t> pauses;
  for (std::size_t i = 1; i < readings.size(); ++i) pauses.push_back(readings[i].time_ns - readings[i - 1].time_ns);
  const auto middle = pauses.begin() + static_cast<std::ptrdiff_t>(pauses.size() / 2);
  std::ranges::nth_element(pauses, middle);
  return std::max(kIdleNs, 3 * *middle);
}

class Painter {
 public:
  Painter(const Incident& incident, std::vector<Reading> readings)
      : incident_(incident), readings_(std::move(readings)), limit_(static_cast<double>(*incident.limit_bytes)) {}

  std::string run() {
    out_ = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n"
        "<rect width=\"100%\" height=\"100%\" class=\"bg\"/>\n",
        kWidth, kHeight, kStyle);
    heading();
    grid();
    usage();
    held();
    levels();
    limit();
    kill();
    captures();
    legend();
    return out_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(std::int64_t time_ns) const {
    const double span = static_cast<double>(incident_.time.ns - readings_.front().time_ns);
    const double share = static_cast<double>(time_ns - readings_.front().time_ns) / span;
    return kLeft + std::clamp(share, 0.0, 1.0) * (kRight - kLeft);
  }
  [[nodiscard]] double y_of(double bytes) const {
    return kBottom - std::clamp(bytes / (limit_ * kHeadroom), 0.0, 1.0) * (kBottom - kTop);
  }
  [[nodiscard]] double y_of(std::uint64_t bytes) const { return y_of(static_cast<double>(bytes)); }
  [[nodiscard]] double ago_seconds(std::int64_t time_ns) const {
    return static_cast<double>(incident_.time.ns - time_ns) / 1e9;
  }

  void text(double x, double y, const std::string& content, std::string_view attributes = "") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes, to_xml(content));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view attributes) {
    out_ +=
        fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, attributes);
  }

  void heading() {
    const ContainerIdentity& who = incident_.container;
    const std::string name = !who.pod_name.empty() ? who.pod_namespace + "/" + who.pod_name + " " + who.name
                             : !who.name.empty()   ? who.name
                                                   : incident_.cgroup_path;
    const std::string shown = name.empty() ? incident_.id : pprof::fit(printable(name, 200), 70);
    text(14, 26, shown + ": memory up to the OOM kill", " class=\"title\"");
    text(14, 46,
         fmt::format("{} | limit {} | incident {}",
                     to_rfc3339(incident_.time).substr(0, 10) + " " + to_rfc3339(incident_.time).substr(11, 8) + " UTC",
                     human_bytes(*incident_.limit_bytes), printable(incident_.id, 64)),
         " class=\"minor\"");
  }

  void grid() {
    const double step = round_bytes(limit_ / kLeastTicks);
    for (double bytes = 0; bytes <= limit_ * kHeadroom; bytes += step) {
      line(kLeft, y_of(bytes), kRight, y_of(bytes), "class=\"grid\"");
      text(kLeft - 8, y_of(bytes) + 4, human_bytes(static_cast<std::uint64_t>(bytes)),
           " class=\"minor\" text-anchor=\"end\"");
    }
    const double span = ago_seconds(readings_.front().time_ns);
    const double seconds = round_seconds(span / kMostTicks);
    // The outermost label would lie on the bytes' and the one next to the kill on the kill's.
    for (double ago = seconds; ago < span * 0.97; ago += seconds) {
      const double x = kRight - ago / span * (kRight - kLeft);
      line(x, kBottom, x, kBottom + 4, "class=\"grid\"");
      text(x, kBottom + 18, "-" + duration_text(ago), " class=\"minor\" text-anchor=\"middle\"");
    }
    text(kRight, kBottom + 18, "kill", " class=\"minor\" text-anchor=\"end\"");
  }

  // Points of one line, without those between which nothing was read for long.
  template <typename Y>
  void curve(std::string_view name, const Y& y_at, bool has_area) {
    std::vector<std::pair<double, double>> points;
    std::int64_t last_ns = 0;
    const auto draw = [&] {
      std::string text;
      for (const auto& [x, y] : points) text += fmt::format("{:.1f},{:.1f} ", x, y);
      if (!text.empty()) text.pop_back();
      if (has_area && points.size() > 1) {
        out_ += fmt::format("<polygon points=\"{:.1f},{:.1f} {} {:.1f},{:.1f}\" class=\"area\"/>\n",
                            points.front().first, kBottom, text, points.back().first, kBottom);
      }
      if (points.size() > 1) out_ += fmt::format("<polyline points=\"{}\" class=\"line {}\"/>\n", text, name);
      points.clear();
    };
    for (const Reading& reading : readings_) {
      const std::optional<std::uint64_t> bytes = y_at(reading);
      if (!bytes) continue;
      if (!points.empty() && reading.time_ns - last_ns > gap_ns_) draw();
      points.emplace_back(x_of(reading.time_ns), y_of(*bytes));
      last_ns = reading.time_ns;
    }
    draw();
  }

  void usage() {
    curve(
        "usage", [](const Reading& reading) { return std::optional(reading.usage); }, true);
    if (readings_.size() > kMostDots) return;  // they would be one thick line
    for (const Reading& reading : readings_) {
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.8\" class=\"sample\"/>\n", x_of(reading.time_ns),
                          y_of(reading.usage));
    }
  }

  void held() {
    curve(
        "held", [](const Reading& reading) { return reading.held; }, false);
  }

  // The labels use two rows, because 90 and 95 % are often only a few pixels apart. If neither row has room,
  // the line and its tooltip have to do.
  void levels() {
    std::array<double, 2> row_ends = {0, 0};
    for (const IncidentWatermark& mark : incident_.watermarks) {
      if (mark.time > incident_.time || mark.time.ns < readings_.front().time_ns) continue;
      const bool is_level = mark.reason == to_string(WatermarkReason::kLevel);
      const double x = x_of(mark.time.ns);
      out_ += fmt::format("<g><title>{:.3f} s before the kill: {} {} % of the limit at {}</title>\n", mark.lead_seconds,
                          is_level ? "passed" : "bound for the limit, above", mark.level_percent,
                          human_bytes(mark.usage_bytes));
      line(x, y_of(mark.usage_bytes), x, kTop + 12, "class=\"level\"");
      if (is_level) level_text(x, mark.level_percent, row_ends);
      out_ += "</g>\n";
    }
  }

  void level_text(double x, std::uint32_t percent, std::array<double, 2>& row_ends) {
    constexpr double kHalf = 15, kRow = 11;
    const auto row = std::ranges::find_if(row_ends, [x](double end) { return end < x - kHalf; });
    if (row == row_ends.end()) return;
    *row = x + kHalf;
    text(x, kTop - 2 + kRow * static_cast<double>(row - row_ends.begin()), fmt::format("{} %", percent),
         " class=\"minor\" text-anchor=\"middle\"");
  }

  void limit() { line(kLeft, y_of(limit_), kRight, y_of(limit_), "class=\"line limit\""); }

  void kill() { line(kRight, kTop, kRight, kBottom, "class=\"line kill\""); }

  // The curve's value at that time: the capture's own usage if known, else the reading before it.
  [[nodiscard]] std::uint64_t usage_at(const IncidentCapture& capture) const {
    if (capture.usage_bytes) return *capture.usage_bytes;
    std::uint64_t usage = 0;
    for (const Reading& reading : readings_) {
      if (reading.time_ns <= capture.time.ns) usage = reading.usage;
    }
    return usage;
  }

  void captures() {
    for (const IncidentCapture& capture : incident_.captures) {
      if (capture.result != "ok" || capture.time.ns < readings_.front().time_ns) continue;
      const std::string inuse = capture.inuse_bytes ? human_bytes(*capture.inuse_bytes) + " in use" : "";
      const double ago = ago_seconds(capture.time.ns);
      const std::string title = fmt::format("{} ({}): {}; {:.3f} s {} the kill; {}", capture.method, capture.trigger,
                                            inuse, ago < 0 ? -ago : ago, ago < 0 ? "after" : "before", capture.file);
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" {}><title>{}</title></circle>\n", x_of(capture.time.ns),
                          y_of(usage_at(capture)), shape_of(capture.method), to_xml(title));
    }
  }

  // HTTP gets a ring, because a live read is usually at the same moment.
  static std::string shape_of(std::string_view method) {
    if (method == "http") return "r=\"8\" class=\"http\"";
    return fmt::format("r=\"5\" class=\"dot {}\"", method == "at_kill" ? "at_kill" : "live");
  }

  [[nodiscard]] bool has_capture(std::string_view method) const {
    return std::ranges::any_of(incident_.captures, [&](const IncidentCapture& capture) {
      return capture.result == "ok" && capture.method == method && capture.time.ns >= readings_.front().time_ns;
    });
  }

  // Of what is in the picture alone.
  void legend() {
    constexpr double kBaseline = 358;
    double x = kLeft;
    const auto entry = [&](const std::string& mark, const std::string& label) {
      out_ += mark;
      text(x + 24, kBaseline, label, " class=\"minor\"");
      x += 40 + 6.2 * static_cast<double>(label.size());
    };
    const auto stroke = [&](std::string_view name) {
      return fmt::format("<line x1=\"{:.1f}\" y1=\"354\" x2=\"{:.1f}\" y2=\"354\" class=\"line {}\"/>\n", x, x + 18,
                         name);
    };
    const auto dot = [&](std::string_view method) {
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"354\" {}/>\n", x + 9, shape_of(method));
    };
    entry(stroke("usage"), "usage");
    const bool has_held =
        std::ranges::any_of(readings_, [](const Reading& reading) { return reading.held.has_value(); });
    if (has_held) entry(stroke("held"), "of it not reclaimable");
    entry(stroke("limit"), "limit");
    if (has_capture("live")) entry(dot("live"), "live profile");
    if (has_capture("http")) entry(dot("http"), "profile by HTTP");
    if (has_capture("at_kill")) entry(dot("at_kill"), "profile at the kill");
  }

  const Incident& incident_;
  const std::vector<Reading> readings_;
  const double limit_;
  const std::int64_t gap_ns_ = gap_of(readings_);
  std::string out_;
};

}  // namespace

bool has_timeline(const Incident& incident) {
  return incident.limit_bytes.value_or(0) != 0 && !readings_of(incident).empty();
}

std::string timeline_svg(const Incident& incident) {
  return has_timeline(incident) ? Painter(incident, readings_of(incident)).run() : "";
}

}  // namespace oomw
