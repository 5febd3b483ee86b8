// SPDX-License-Identifier: Apache-2.0
#include "report/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "unit/incident/golden.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TimelineSvg, known_incident_looks_as_agreed) {
  test::expect_golden("timeline.svg", timeline_svg(test::sample_incident()));
}

TEST(TimelineSvg, hostile_names_are_text) {
  Incident incident = test::sample_incident();
  incident.container.pod_name = "</text><script>alert(1)</script>";
  incident.captures[0].trigger = "\"><script>";
  incident.captures[0].file = "\x1b[31m\u202e";
  const std::string svg = timeline_svg(incident);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, Not(HasSubstr("\u202e")));
}

TEST(TimelineSvg, figures_out_of_range_stay_in_the_picture) {
  Incident incident = test::sample_incident();
  incident.series[2].usage_bytes = UINT64_MAX;
  incident.captures[0].time = test::before_kill(-10'000);
  EXPECT_THAT(timeline_svg(incident), Not(HasSubstr("=\"-")));
}

TEST(TimelineSvg, levels_passed_together_do_not_write_over_each_other) {
  Incident incident = test::sample_incident();
  incident.watermarks.clear();
  for (const std::uint32_t level : {80, 85, 90, 95}) {
    incident.watermarks.push_back({test::before_kill(500), "level", level, 200'000'000, 0.5});
  }
  const std::string svg = timeline_svg(incident);
  std::size_t labels = 0;
  for (std::size_t at = svg.find(" %</text>"); at != std::string::npos; at = svg.find(" %</text>", at + 1)) ++labels;
  EXPECT_EQ(labels, 2u);
  for (const char* level : {"80", "85", "90", "95"}) {
    EXPECT_THAT(svg, HasSubstr(std::string("passed ") + level + " % of the limit"));
  }
}

// A reading each second from `first` to `last` seconds before the kill.
void add_readings(Incident& incident, std::int64_t first, std::int64_t last) {
  for (std::int64_t ago = first; ago >= last; --ago) {
    incident.series.push_back({test::before_kill(ago * 1'000), 100u << 20, std::nullopt});
  }
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(TimelineSvg, a_pause_without_readings_is_a_gap_and_each_reading_a_dot) {
  Incident incident = test::sample_incident();
  incident.series.clear();
  add_readings(incident, 60, 1);
  EXPECT_EQ(count(timeline_svg(incident), "class=\"line usage\"/>"), 2u) << "one, and one in the legend";
  incident.series.clear();
  add_readings(incident, 200, 160);
  add_readings(incident, 60, 1);
  const std::string svg = timeline_svg(incident);
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(count(svg, "class=\"sample\""), 41u + 60u + 1u) << "the kill's is one more";
}

TEST(TimelineSvg, its_ticks_are_round) {
  Incident incident = test::sample_incident();
  incident.series.clear();
  incident.limit_bytes = 300u << 20;
  add_readings(incident, 97, 1);
  const std::string svg = timeline_svg(incident);
  for (const char* tick : {">64.0 MiB<", ">256 MiB<", ">-15 s<", ">-90 s<"}) EXPECT_THAT(svg, HasSubstr(tick));
}

TEST(TimelineSvg, its_legend_has_what_is_there_alone) {
  Incident incident = test::sample_incident();
  incident.series.clear();
  incident.captures.clear();
  add_readings(incident, 60, 1);
  const std::string svg = timeline_svg(incident);
  for (const char* entry : {"profile at the kill", "profile by HTTP", "live profile", "not reclaimable"}) {
    EXPECT_THAT(svg, Not(HasSubstr(entry)));
  }
  EXPECT_THAT(timeline_svg(test::sample_incident()), HasSubstr("profile by HTTP"));
}

TEST(TimelineSvg, a_dark_page_gets_dark_colours) {
  EXPECT_THAT(timeline_svg(test::sample_incident()), HasSubstr("@media(prefers-color-scheme:dark)"));
}

TEST(TimelineSvg, nothing_to_draw_is_no_picture) {
  EXPECT_EQ(timeline_svg(test::bare_incident()), "");
  Incident incident = test::sample_incident();
  incident.series.resize(2);
  EXPECT_EQ(timeline_svg(incident), "");
}

}  // namespace
}  // namespace oomw
