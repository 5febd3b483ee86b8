// SPDX-License-Identifier: Apache-2.0
#include "report/timeline_svg.h"

#include <algorithm>
#include <array>
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
constexpr double kHeadroom = 1.08;  // of the axis above the limit
constexpr int kGridLines = 4;
constexpr std::string_view kUsage = "#2b6cb0", kHeld = "#b7791f", kLimit = "#c53030", kCapture = "#276749",
                           kHttp = "#805ad5";
constexpr std::string_view kStyle =
    "text{font:12px 'DejaVu Sans',Verdana,sans-serif;fill:#1a202c}.title{font-size:16px;font-weight:bold}"
    ".minor{font-size:11px;fill:#4a5568}";

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

class Painter {
 public:
  Painter(const Incident& incident, std::vector<Reading> readings)
      : incident_(incident), readings_(std::move(readings)), limit_(static_cast<double>(*incident.limit_bytes)) {}

  std::string run() {
    out_ = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
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
    for (int i = 0; i <= kGridLines; ++i) {
      const double bytes = limit_ * i / kGridLines;
      line(kLeft, y_of(bytes), kRight, y_of(bytes), "stroke=\"#e2e8f0\"");
      text(kLeft - 8, y_of(bytes) + 4, human_bytes(static_cast<std::uint64_t>(bytes)),
           " class=\"minor\" text-anchor=\"end\"");
    }
    const double span = ago_seconds(readings_.front().time_ns);
    for (const double share : {0.0, 0.25, 0.5, 0.75}) {
      text(kLeft + share * (kRight - kLeft), kBottom + 18, fmt::format("-{:.3g} s", span * (1 - share)),
           share == 0 ? " class=\"minor\"" : " class=\"minor\" text-anchor=\"middle\"");
    }
    text(kRight, kBottom + 18, "kill", " class=\"minor\" text-anchor=\"end\"");
  }

  void usage() {
    std::string points;
    for (const Reading& reading : readings_) {
      points += fmt::format("{:.1f},{:.1f} ", x_of(reading.time_ns), y_of(reading.usage));
    }
    points.pop_back();
    out_ += fmt::format("<polygon points=\"{:.1f},{:.1f} {} {:.1f},{:.1f}\" fill=\"#bee3f8\" fill-opacity=\"0.35\"/>\n",
                        kLeft, kBottom, points, x_of(readings_.back().time_ns), kBottom);
    out_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", points, kUsage);
  }

  void held() {
    std::string points;
    for (const Reading& reading : readings_) {
      if (reading.held) points += fmt::format("{:.1f},{:.1f} ", x_of(reading.time_ns), y_of(*reading.held));
    }
    if (points.empty()) return;
    points.pop_back();
    out_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"/>\n", points,
        kHeld);
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
      line(x, y_of(mark.usage_bytes), x, kTop + 12, "stroke=\"#a0aec0\" stroke-dasharray=\"1 3\"");
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

  void limit() {
    line(kLeft, y_of(limit_), kRight, y_of(limit_),
         fmt::format("stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"8 4\"", kLimit));
  }

  void kill() { line(kRight, kTop, kRight, kBottom, fmt::format("stroke=\"{}\" stroke-width=\"2\"", kLimit)); }

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
    if (method == "http") return fmt::format("r=\"8\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"", kHttp);
    return fmt::format("r=\"5\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"1.5\"",
                       method == "at_kill" ? kLimit : kCapture);
  }

  void legend() {
    constexpr double kBaseline = 358;
    double x = kLeft;
    const auto entry = [&](const std::string& mark, const std::string& label) {
      out_ += mark;
      text(x + 24, kBaseline, label, " class=\"minor\"");
      x += 40 + 6.2 * static_cast<double>(label.size());
    };
    const auto stroke = [&](std::string_view color, std::string_view dashes) {
      return fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"354\" x2=\"{1:.1f}\" y2=\"354\" stroke=\"{2}\" stroke-width=\"2\"{3}/>\n", x,
          x + 18, color, dashes);
    };
    const auto dot = [&](std::string_view method) {
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"354\" {}/>\n", x + 9, shape_of(method));
    };
    entry(stroke(kUsage, ""), "usage");
    entry(stroke(kHeld, " stroke-dasharray=\"5 3\""), "of it not reclaimable");
    entry(stroke(kLimit, " stroke-dasharray=\"8 4\""), "limit");
    entry(dot("live"), "live profile");
    entry(dot("http"), "profile by HTTP");
    entry(dot("at_kill"), "profile at the kill");
  }

  const Incident& incident_;
  const std::vector<Reading> readings_;
  const double limit_;
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
