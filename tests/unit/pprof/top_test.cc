// SPDX-License-Identifier: Apache-2.0
#include "pprof/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "unit/pprof/go_pprof.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::HasSubstr;
class TopAgainstGo : public ::testing::TestWithParam<const char*> {};

TEST_P(TopAgainstGo, every_function_has_the_figures_of_go_tool_pprof) {
  if (!has_go()) GTEST_SKIP() << "no go command here to compare with";
  const auto go = go_top(GetParam(), "'" + fixture_path() + "'");
  ASSERT_EQ(go.status, 0);
  const Figures expected = parse_go_top(go.output);
  ASSERT_GT(expected.size(), 5u) << go.output;
  EXPECT_EQ(figures_of(top(*read(fixture()), GetParam())), expected);
}

INSTANTIATE_TEST_SUITE_P(Types, TopAgainstGo,
                         ::testing::Values("inuse_space", "inuse_objects", "alloc_space", "alloc_objects"),
                         [](const auto& param) { return std::string(param.param); });

TEST(Top, the_default_type_is_the_last_one) {
  const Top result = top(*read(fixture()));
  EXPECT_EQ(result.type.type, "inuse_space");
  EXPECT_EQ(result.total, 42'321'476);
  ASSERT_FALSE(result.rows.empty());
  EXPECT_EQ(result.rows[0].function, "main.leakyCache");
  EXPECT_EQ(result.rows[0].flat, 41'272'644);
}

TEST(Top, a_profile_may_name_its_default_type) {
  Profile profile = sample_profile();
  profile.default_sample_type = "inuse_objects";
  EXPECT_EQ(top(profile).type.type, "inuse_objects");
}

TEST(Top, flat_goes_to_the_innermost_inlined_line) {
  const Figures expected = {
      {"main.leak", {100, 100}}, {"main.parse", {50, 50}}, {"main.serve", {0, 150}}, {"main.main", {0, 150}}};
  EXPECT_EQ(figures_of(top(sample_profile())), expected);
}

TEST(Top, rows_are_sorted_by_flat_then_cum_then_name) {
  const Top result = top(sample_profile());
  std::vector<std::string> names;
  for (const auto& row : result.rows) names.push_back(row.function);
  EXPECT_THAT(names, ::testing::ElementsAre("main.leak", "main.parse", "main.main", "main.serve"));
}

TEST(Top, a_recursive_function_counts_once_per_sample) {
  Profile profile = sample_profile();
  profile.samples = {{{3, 2, 2, 2, 1}, {1, 10}, {}}};
  EXPECT_EQ(figures_of(top(profile))["main.serve"], (std::pair<std::int64_t, std::int64_t>(0, 10)));
}

TEST(Top, an_unnamed_frame_shows_its_binary) {
  Profile profile = sample_profile();
  profile.locations[2].lines.clear();
  EXPECT_TRUE(figures_of(top(profile)).contains("[server]"));
}

TEST(Top, an_unknown_type_gives_no_rows) { EXPECT_TRUE(top(sample_profile(), "cpu").rows.empty()); }

TEST(Top, sums_saturate) {
  Profile profile = sample_profile();
  const std::int64_t max = std::numeric_limits<std::int64_t>::max();
  profile.samples = {{{3}, {1, max}, {}}, {{3}, {1, max}, {}}};
  EXPECT_EQ(top(profile).total, max);
  EXPECT_EQ(top(profile).rows[0].flat, max);
  EXPECT_EQ(profile.total(1), max);
}

TEST(Top, endless_stacks_are_left_out_in_time_and_counted) {
  Profile profile = sample_profile();
  profile.locations[0].lines.resize(100'000, {1, 1});
  profile.samples.assign(40'000, {{1}, {1, 1}, {}});
  const Top result = top(profile);
  EXPECT_EQ(result.total, 40'000);
  EXPECT_GT(result.left_out, 0u);
  EXPECT_EQ(result.rows.at(0).flat + static_cast<std::int64_t>(result.left_out), 40'000);
  EXPECT_THAT(to_text(result, 1), HasSubstr("stacks are not counted"));
}

TEST(TopText, shows_as_many_rows_as_asked_in_units_of_1024) {
  Profile profile = sample_profile();
  profile.samples[0].values[1] = 3 << 20;
  const std::string text = to_text(top(profile), 1);
  EXPECT_THAT(text, HasSubstr("3.00 MiB"));
  EXPECT_THAT(text, HasSubstr("main.leak"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("main.parse")));
}

TEST(TopText, a_hostile_function_name_stays_on_its_line) {
  Profile profile = sample_profile();
  profile.functions[2].name = "evil\n\x1b[2Jname";
  EXPECT_THAT(to_text(top(profile), 10), ::testing::AllOf(::testing::Not(HasSubstr("\x1b")), HasSubstr("evil\\x0a")));
}

}  // namespace
}  // namespace oomw::pprof
