// SPDX-License-Identifier: Apache-2.0
#include "pprof/growth_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/estimate.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Group no_group(const std::string&) { return {}; }

Profile grown_later() {
  Profile p = sample_profile();
  p.samples[0].values[1] = 3 << 20;
  p.samples[1].values[1] = 20;
  p.time_nanos += 2'500'000'000;
  return p;
}

std::string table(const GrowthView& view) {
  return to_text(growth_by_function(sample_profile(), grown_later(), "").value(), view);
}

TEST(GrowthText, an_estimate_is_not_compared_as_if_it_was_counted) {
  const Profile counted = sample_profile();
  Profile estimated = sample_profile();
  EXPECT_THAT(heading_text({"a", counted}, {"b", counted}), Not(HasSubstr("estimate")));
  estimated.comments = {std::string(kEstimateComment) + "1 %"};
  EXPECT_THAT(
      heading_text({"a", estimated}, {"b", counted}),
      AllOf(HasSubstr("Z, estimated by a sample\n"), HasSubstr("A difference may be the error of an estimate")));
  EXPECT_THAT(heading_text({"a", counted}, {"b", estimated}), HasSubstr("estimated by a sample\nA difference"));
}

TEST(GrowthText, amounts_have_a_sign_and_a_unit) {
  EXPECT_EQ(signed_amount(3 << 20, "bytes"), "+3.00 MiB");
  EXPECT_EQ(signed_amount(-30, "bytes"), "-30 B");
  EXPECT_EQ(signed_amount(812, "count"), "+812");
  EXPECT_EQ(signed_amount(0, "bytes"), "0 B");
}

TEST(GrowthText, the_summary_has_both_totals) {
  EXPECT_EQ(summary_line(growth_by_function(grown_later(), sample_profile(), "").value()),
            "inuse_space: 3.00 MiB -> 150 B (-3.00 MiB, -100.0 %)\n");
}

TEST(GrowthText, as_many_rows_as_asked_and_the_rest_is_counted) {
  const std::string text = table({"function", 1, true});
  EXPECT_THAT(text, AllOf(HasSubstr("main.leak\n"), HasSubstr("(3 more)"), Not(HasSubstr("main.parse"))));
}

TEST(GrowthText, a_stack_shows_its_callers_below) {
  const std::string text = to_text(growth_by_stack(sample_profile(), grown_later(), "").value(), {"stack", 20, false});
  EXPECT_THAT(text, ::testing::ContainsRegex("  main.leak\n +main.serve\n +main.main\n"));
}

TEST(GrowthText, equal_profiles_are_said_to_be) {
  EXPECT_EQ(to_text(growth_by_function(grown_later(), grown_later(), "").value(), {"function", 20, true}),
            "no function grew or shrank\n");
}

TEST(GrowthText, a_hostile_name_stays_on_its_line) {
  Profile after = grown_later();
  after.functions[2].name = "evil\n\x1b[2Jname";
  const std::string text = to_text(growth_by_function(sample_profile(), after, "").value(), {"function", 20, true});
  EXPECT_THAT(text, AllOf(HasSubstr("evil\\x0a"), Not(HasSubstr("\x1b"))));
}

TEST(GrowthDiffFile, tells_which_profiles_when_and_all_groupings) {
  const Profile before = sample_profile();
  const Profile after = grown_later();
  const std::string text = growth_text({"a.pb.gz", before}, {"b.pb.gz", after}, "inuse_space", no_group).value();
  EXPECT_THAT(text,
              StartsWith("from a.pb.gz, 2025-11-21T04:00:00Z\n  to b.pb.gz, 2025-11-21T04:00:02Z, 2.5 s later\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("By function"), HasSubstr("By package"), HasSubstr("By stack"),
                          Not(HasSubstr("component"))));
}

TEST(GrowthDiffFile, components_are_there_where_any_is_known) {
  const Profile before = sample_profile();
  const Profile after = grown_later();
  const auto group = [](const std::string&) { return Group{"receiver/otlp", false}; };
  EXPECT_THAT(growth_text({"a", before}, {"b", after}, "", group).value(), HasSubstr("receiver/otlp"));
}

}  // namespace
}  // namespace oomw::pprof
