// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_graph.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "pprof/diff.h"
#include "pprof/flame_color.h"
#include "pprof/flame_header.h"
#include "pprof/flame_legend.h"
#include "pprof/flame_script.h"
#include "pprof/flame_text.h"
#include "pprof/growth_text.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

constexpr double kMargin = 10;
constexpr double kRowHeight = 18;
constexpr double kTitleBaseline = 26, kFirstLineBaseline = 46, kLineHeight = 17;
constexpr double kLeastShade = 0.5;      // pixels
constexpr double kTitleCharWidth = 9.7;  // at 16 px

// Writes the picture of one tree.
class Painter {
 public:
  Painter(const Profile& profile, int column, const FlameOptions& options)
      : options_(options),
        tree_(profile, column, options.limits),
        header_(flame_header(profile, column, tree_, options)),
        unit_(profile.sample_types[static_cast<std::size_t>(column)].unit),
        reference_(reference_total(profile, column)),
        is_diff_(is_diff(profile, column)),
        width_(std::max(options.width_px, kMinFlameWidth)),
        legend_baseline_(kFirstLineBaseline + kLineHeight * static_cast<double>(header_.lines.size())),
        top_(legend_baseline_ + (tree_.frames().empty() ? 0 : kLineHeight)) {}

  FlamePicture run() {
    open();
    paint_header();
    if (tree_.frames().empty()) {
      text(kMargin, top_ + 14,
           is_diff_ || !options_.base_source.empty() ? "Nothing changed: every stack holds what it held."
                                                     : "Nothing to draw: no sample of this type has a value.");
    }
    out_ += "<g id=\"frames\">\n";
    for (const FlameFrame& frame : tree_.frames()) paint(frame);
    out_ += fmt::format("</g>\n<style>{}</style>\n<script>{}</script>\n</svg>\n", dark_style(), kFlameScript);
    return {std::move(out_), static_cast<unsigned>(width_), static_cast<unsigned>(height())};
  }

 private:
  [[nodiscard]] double height() const { return top_ + (tree_.max_depth() + 1) * kRowHeight + kMargin; }

  void open() {
    out_ += fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" viewBox=\"0 0 {0} {1}\" role=\"group\" "
        "aria-label=\"Flame graph: {2}\">\n"
        "<style>{3}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g id=\"head\">\n",
        width_, height(), to_xml(header_.title), kFlameStyle);
  }

  void paint_header() {
    const double room = width_ - 2 * kMargin;
    out_ += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, kTitleBaseline,
                        to_xml(fit(printable(header_.title, 512), columns(room, kTitleCharWidth))));
    double baseline = kFirstLineBaseline;
    for (const std::string& line : header_.lines) {
      text(kMargin, baseline, fit(printable(line, 512), columns(room, kCharWidth)));
      baseline += kLineHeight;
    }
    out_ += "</g>\n";
    if (tree_.frames().empty()) return;
    const std::vector<LegendEntry> legend = is_diff_ ? growth_scale() : legend_of(tree_, options_);
    for (const LegendEntry& entry : legend) colors_.insert(entry.color);
    out_ += fmt::format("<g id=\"legend\">\n{}</g>\n", to_svg(legend, kMargin, legend_baseline_, room));
  }

  void text(double x, double y, const std::string& content) {
    out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n", x, y, to_xml(content));
  }

  static std::size_t columns(double room, double char_width) {
    return room < char_width ? 0 : static_cast<std::size_t>(room / char_width);
  }

  [[nodiscard]] double pixels(std::int64_t size) const {
    const double whole = static_cast<double>(tree_.frames().front().size);
    return static_cast<double>(size) / whole * (width_ - 2 * kMargin);
  }

  void paint(const FlameFrame& frame) {
    const double x = kMargin + pixels(frame.start);
    const double y = top_ + frame.depth * kRowHeight;
    // Leaves a hairline between neighbours, but never makes a frame disappear.
    const double width = std::max(0.5, pixels(frame.size) - 0.5);
    const std::string name = name_of(frame), color = color_of(frame);
    colors_.insert(color);
    out_ += fmt::format(
        "<g data-at=\"{},{},{},{}\"><title>{}\n{}</title><rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
        "height=\"{:.0f}\" fill=\"{}\" class=\"{}\"/>",
        frame.depth, frame.start, frame.size, frame.own, to_xml(name), to_xml(figures_of(frame)), x, y, width,
        kRowHeight - 1, color, color_class(color));
    shade_own(frame, x, y, width);
    const std::string label = label_of(frame, printable(name, 512), columns(width - 6, kCharWidth));
    if (!label.empty()) {
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x + 3, y + 13, to_xml(label));
    }
    out_ += "</g>\n";
  }

  // What the stacks that end in a frame hold: at its right end, where no callee is below it.
  void shade_own(const FlameFrame& frame, double x, double y, double width) {
    if (frame.own == 0 || frame.own == frame.size) return;
    const double own = static_cast<double>(frame.own) / static_cast<double>(frame.size) * width;
    if (own < kLeastShade) return;
    out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" class=\"own\"/>",
                        x + width - own, y, own, kRowHeight - 1);
  }

  // A rule for each fill. Bounded: a color has 360 hues and few shades, a diff two hues.
  [[nodiscard]] std::string dark_style() const {
    std::string style = "@media (prefers-color-scheme: dark) {\n";
    for (const std::string& color : colors_)
      style += fmt::format(".{} {{ fill: {}; }}\n", color_class(color), dark_color(color));
    return style + "}\n";
  }

  [[nodiscard]] std::string name_of(const FlameFrame& frame) const {
    switch (frame.kind) {
      case FlameFrame::Kind::kRoot:
        return "all";
      case FlameFrame::Kind::kMore:
        return fmt::format("({} more)", frame.folded);
      case FlameFrame::Kind::kDeeper:
        return "(deeper calls)";
      case FlameFrame::Kind::kFunction:
        break;
    }
    return tree_.name(frame);
  }

  [[nodiscard]] std::string color_of(const FlameFrame& frame) const {
    if (is_diff_) return growth_color(frame.net, frame.size);
    if (frame.kind != FlameFrame::Kind::kFunction) return kPlainColor;
    const std::string& name = tree_.name(frame);
    return function_color(name, options_.tint ? options_.tint(name) : "");
  }

  [[nodiscard]] std::string value_of(const FlameFrame& frame) const {
    return is_diff_ ? signed_amount(frame.net, unit_) : amount(frame.net, unit_);
  }

  [[nodiscard]] std::string figures_of(const FlameFrame& frame) const {
    std::string figures = value_of(frame);
    if (reference_ > 0) {
      const double share = 100 * static_cast<double>(magnitude(frame.net)) / static_cast<double>(reference_);
      figures += fmt::format(", {:.1f} % of {}", share, is_diff_ ? "the earlier total" : "the total");
    }
    if (is_diff_ && frame.size != magnitude(frame.net)) {
      const std::int64_t grown = (frame.size - magnitude(frame.net)) / 2 + std::max<std::int64_t>(frame.net, 0);
      figures += fmt::format(" ({} grown, {} shrunk)", amount(grown, unit_), amount(frame.size - grown, unit_));
    }
    if (frame.own > 0 && frame.own < frame.size) figures += fmt::format(", its own {}", amount(frame.own, unit_));
    return figures;
  }

  // The longest label that fits the box: the path is dropped first, then the value, then the package.
  [[nodiscard]] std::string label_of(const FlameFrame& frame, const std::string& name, std::size_t room) const {
    const std::string value = " " + value_of(frame);
    const std::string brief(short_name(name));
    for (const std::string& label : {name + value, brief + value, brief}) {
      if (fit(label, room) == label) return label;
    }
    return frame.kind == FlameFrame::Kind::kFunction ? fit(bare_name(name), room) : "";
  }

  const FlameOptions& options_;
  const FlameTree tree_;
  const FlameHeader header_;
  const std::string unit_;
  const std::int64_t reference_;
  const bool is_diff_;
  const double width_;
  const double legend_baseline_;
  const double top_;
  std::set<std::string> colors_;
  std::string out_;
};

}  // namespace

Result<FlamePicture> flame_graph(const Profile& profile, const FlameOptions& options) {
  const int column = chosen_type(profile, options.type);
  if (column < 0) return fail(ErrorCode::kInvalid, fmt::format("no sample type '{}'", printable(options.type, 64)));
  return Painter(profile, column, options).run();
}

}  // namespace oomw::pprof
