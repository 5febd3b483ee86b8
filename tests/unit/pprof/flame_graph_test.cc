// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/files.h"
#include "pprof/diff.h"
#include "pprof/estimate.h"
#include "pprof/flame_color.h"
#include "pprof/flame_legend.h"
#include "pprof/flame_text.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string svg_of(const Profile& profile, const FlameOptions& options = {}) {
  return flame_graph(profile, options).value().svg;
}

Profile grown() {
  Profile p = sample_profile();
  p.samples[0].values[1] = 400;
  p.samples[1].values[1] = 20;
  return p;
}

// OOMW_UPDATE_GOLDEN=1 writes it anew: inspect the picture then.
void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = fixture_path(name);
  if (std::getenv("OOMW_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, actual, 0644).has_value());
    return;
  }
  EXPECT_EQ(actual, file_text(path)) << "differs from " << path;
}

TEST(FlameGraph, a_profile_looks_as_it_did) {
  expect_golden("flame-profile.svg", svg_of(sample_profile(), FlameOptions{.source = "a.pb.gz"}));
}

TEST(FlameGraph, a_diff_looks_as_it_did) {
  expect_golden("flame-diff.svg", svg_of(diff(sample_profile(), grown()).value(),
                                         FlameOptions{.source = "b.pb.gz", .base_source = "a.pb.gz"}));
}

TEST(FlameGraph, the_header_names_program_pid_and_total) {
  Profile p = sample_profile();
  p.comments = {"oomwitness: method=at_kill trigger=oom_kill pid=17 comm=\"a \\\"b\" time=x"};
  EXPECT_THAT(svg_of(p), AllOf(HasSubstr("a &quot;b (pid 17): bytes in use, 150 B"),
                               HasSubstr("at_kill capture, oom_kill"), HasSubstr("2025-11-21 04:00:00 UTC")));
}

TEST(FlameGraph, without_our_comment_the_header_names_the_binary) {
  EXPECT_THAT(svg_of(sample_profile()), HasSubstr(">server: bytes in use, 150 B<"));
}

TEST(FlameGraph, hostile_names_add_no_markup_and_no_control_characters) {
  Profile p = sample_profile();
  p.functions[2].name = "a</title><script>alert(1)</script>\x1b\n\xE2\x80\xAE\xEF\xBF\xBF\x80]]>";
  p.mappings[0].filename = "/x/<img src='y'>";
  const std::string svg = svg_of(p, {.subject = "</style><script>a\"b</script>\x1b", .source = "\"><b>"});
  const std::string frames = svg.substr(0, svg.find("<script>//"));
  EXPECT_THAT(frames,
              AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<b>")), Not(HasSubstr("<img")), Not(HasSubstr("\x1b")),
                    Not(HasSubstr("\xE2\x80\xAE")), Not(HasSubstr("\xEF\xBF\xBF")),
                    HasSubstr("a&lt;/title&gt;&lt;script&gt;"), HasSubstr("aria-label=\"Flame graph: &lt;/style")));
}

TEST(FlameGraph, a_name_too_long_for_its_box_is_cut_there_and_whole_in_the_tooltip) {
  Profile p = sample_profile();
  p.functions[2].name = "example.org/some/module/package.(*Type)." + std::string(300, 'x');
  const std::string svg = svg_of(p, {.width_px = 400});
  EXPECT_THAT(svg,
              AllOf(HasSubstr("<title>" + p.functions[2].name), HasSubstr(">(*Type).xx"), HasSubstr("xx..</text>")));
}

TEST(FlameGraph, a_program_that_the_profile_does_not_name_is_not_in_the_header) {
  Profile p = sample_profile();
  p.comments.clear();
  p.mappings.clear();
  p.sample_types[1].type = "contents";
  EXPECT_THAT(svg_of(p, FlameOptions{.type = "contents"}),
              AllOf(HasSubstr(">bytes by type, "), Not(HasSubstr("unknown"))));
}

TEST(FlameGraph, an_estimate_is_said_to_be_one) {
  Profile p = sample_profile();
  EXPECT_THAT(svg_of(p), Not(HasSubstr("estimated")));
  p.comments = {std::string(kEstimateComment) + "1 %"};
  EXPECT_THAT(svg_of(p), HasSubstr(">server: bytes in use, estimated by a sample, 150 B<"));
}

TEST(FlameGraph, the_title_is_the_subject_where_one_is_known) {
  const std::string svg = svg_of(sample_profile(), {.subject = "shop/cart, limit 128 MiB, incident 1"});
  EXPECT_THAT(svg,
              AllOf(HasSubstr("<text class=\"title\" x=\"10\" y=\"26\">shop/cart, limit 128 MiB, incident 1</text>"),
                    HasSubstr("<text class=\"note\" x=\"10\" y=\"46\">server: bytes in use, 150 B</text>")));
}

TEST(FlameGraph, what_a_function_holds_itself_is_shaded_at_its_right_end) {
  Profile p = sample_profile();
  p.samples.push_back({{2, 1}, {1, 50}, {}});  // serve's own, of 200 below it
  const std::string svg = svg_of(p);
  EXPECT_THAT(svg, HasSubstr("data-at=\"2,0,200,50\""));
  EXPECT_THAT(svg, HasSubstr("its own 50 B</title>"));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"894.6\" y=\"133\" width=\"294.9\" height=\"17\" class=\"own\"/>"));
  EXPECT_EQ(svg.find("class=\"own\""), svg.rfind("class=\"own\"")) << "leaves are not shaded: all of it is their own";
}

TEST(FlameGraph, every_fill_has_a_rule_for_dark_pages) {
  for (const std::string& svg : {svg_of(sample_profile()), svg_of(diff(sample_profile(), grown()).value())}) {
    const std::string rules = svg.substr(svg.rfind("<style>"));
    std::size_t fills = 0;
    for (std::size_t at = svg.find("class=\"c"); at != std::string::npos; at = svg.find("class=\"c", at + 1)) {
      if (svg.compare(at, 15, "class=\"control\"") == 0) continue;
      EXPECT_THAT(rules, HasSubstr("." + svg.substr(at + 7, 7) + " { fill: #"));
      ++fills;
    }
    EXPECT_GT(fills, 3u);
  }
}

TEST(FlameGraph, an_empty_profile_says_so) {
  Profile p = sample_profile();
  p.samples.clear();
  EXPECT_THAT(svg_of(p), HasSubstr("Nothing to draw"));
}

TEST(FlameGraph, a_diff_without_difference_says_so) {
  EXPECT_THAT(svg_of(diff(grown(), grown()).value()), HasSubstr("Nothing changed"));
}

TEST(FlameGraph, functions_of_one_tint_have_one_colour) {
  FlameOptions options;
  options.tint = [](const std::string& function) { return function == "main.main" ? "" : "receiver/otlp"; };
  const std::string svg = svg_of(sample_profile(), options);
  std::size_t count = 0;
  const std::string color = group_color("receiver/otlp");
  for (std::size_t at = svg.find(color); at != std::string::npos; at = svg.find(color, at + 1)) ++count;
  EXPECT_EQ(count, 4u) << "three frames and the legend";
}

TEST(FlameLegend, the_colours_of_what_takes_most_room_are_named) {
  FlameOptions options;
  options.tint = [](const std::string& function) { return function == "main.leak" ? "receiver/<otlp>" : ""; };
  const std::string svg = svg_of(sample_profile(), options);
  EXPECT_THAT(svg, HasSubstr("fill=\"" + package_color("main") + "\" stroke"));
  EXPECT_THAT(svg, HasSubstr("fill=\"" + group_color("receiver/<otlp>") + "\" stroke"));
  EXPECT_THAT(svg, HasSubstr(">receiver/&lt;otlp&gt;</text>"));
}

TEST(FlameLegend, a_narrow_picture_has_as_many_as_fit) {
  std::vector<LegendEntry> legend(kMaxLegend, {"#ffffff", std::string(60, 'x'), ""});
  const std::string svg = to_svg(legend, 10, 50, 500);
  std::size_t count = 0;
  for (std::size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1)) ++count;
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(to_svg(legend, 10, 50, 100), "");
}

TEST(FlameLegend, a_diff_has_the_scale_of_its_colours) {
  const std::string svg = svg_of(diff(sample_profile(), grown()).value());
  for (const char* step : {"all of it grew", "as much of both", "all of it shrank"}) EXPECT_THAT(svg, HasSubstr(step));
}

TEST(FlameGraph, an_unknown_type_is_refused) {
  EXPECT_FALSE(flame_graph(sample_profile(), {.type = "cpu"}).has_value());
}

TEST(FlameGraph, frames_of_a_real_collector_stay_in_the_picture) {
  const auto picture = flame_graph(fixture_profile(kCollectorKill), {}).value();
  EXPECT_EQ(picture.width_px, 1200u);
  std::size_t frames = 0;
  for (std::size_t at = picture.svg.find("<rect x="); at != std::string::npos;
       at = picture.svg.find("<rect x=", at + 1)) {
    double x = 0, y = 0, width = 0;
    ASSERT_EQ(std::sscanf(picture.svg.c_str() + at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\"", &x, &y, &width), 3);
    EXPECT_LE(x + width, 1190.6);
    EXPECT_LE(y + 17, picture.height_px);
    ++frames;
  }
  EXPECT_GT(frames, 50u);
}

double luminance(const std::string& color) {
  const auto channel = [&](std::size_t at) {
    const double value = std::stoi(color.substr(at, 2), nullptr, 16) / 255.0;
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

TEST(FlameColor, near_black_text_is_readable_on_every_fill) {
  const double text = luminance("#111111") + 0.05;
  for (int i = 0; i < 2000; ++i) {
    for (const auto& color : {package_color("package" + std::to_string(i)), group_color(std::to_string(i))}) {
      EXPECT_GE((luminance(color) + 0.05) / text, 7) << color;
    }
  }
  for (const std::int64_t net : {-100, -30, 0, 30, 100}) {
    EXPECT_GE((luminance(growth_color(net, 100)) + 0.05) / text, 7) << net;
  }
}

TEST(FlameColor, pale_text_is_readable_on_every_fill_of_a_dark_page) {
  const double text = luminance(kDarkText) + 0.05;
  std::vector<std::string> colors = {kPlainColor, kRuntimeColor};
  for (int i = 0; i < 2000; ++i) {
    colors.push_back(package_color("package" + std::to_string(i)));
    colors.push_back(group_color(std::to_string(i)));
  }
  for (const std::int64_t net : {-100, -30, 0, 30, 100}) colors.push_back(growth_color(net, 100));
  for (const std::string& color : colors) EXPECT_GE(text / (luminance(dark_color(color)) + 0.05), 4.5) << color;
}

TEST(FlameColor, a_dark_fill_keeps_its_hue) {
  const auto channel = [](const std::string& color, std::size_t at) {
    return std::stoi(color.substr(at, 2), nullptr, 16);
  };
  const std::string grew = dark_color(growth_color(1, 1)), shrank = dark_color(growth_color(-1, 1)),
                    grey = dark_color("#cfcfcf");
  EXPECT_GT(channel(grew, 1), 1.5 * channel(grew, 5));
  EXPECT_GT(channel(shrank, 5), 1.5 * channel(shrank, 1));
  EXPECT_EQ(channel(grey, 1), channel(grey, 5));
}

TEST(FlameColor, the_runtime_is_grey) {
  EXPECT_EQ(function_color("runtime.malg", ""), function_color("internal/runtime/maps.NewMap", ""));
  EXPECT_NE(function_color("runtime.malg", ""), function_color("runtimes.f", ""));
}

TEST(FlameText, text_is_cut_at_its_columns) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 5), "abc..");
  EXPECT_EQ(fit("abcdef", 2), "");
  EXPECT_EQ(fit("\xE6\xBC\xA2\xE6\xBC\xA2\xE6\xBC\xA2", 5), "\xE6\xBC\xA2..");  // two columns each
}

TEST(FlameText, the_short_name_has_no_path) {
  EXPECT_EQ(short_name("a.org/b/c.(*T[x/y.Z]).M"), "c.(*T[x/y.Z]).M");
  EXPECT_EQ(short_name("main.main"), "main.main");
  EXPECT_EQ(bare_name("a.org/b/c.(*T[x/y.Z]).M"), "(*T[x/y.Z]).M");
  EXPECT_EQ(bare_name("std::vector<int>::at(int)"), "vector<int>::at(int)");
  EXPECT_EQ(bare_name("[server]"), "[server]");
}

}  // namespace
}  // namespace oomw::pprof
