// SPDX-License-Identifier: Apache-2.0
#include "pprof/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "base/files.h"
#include "pprof/group.h"
#include "unit/base/temporary_directory.h"
#include "unit/pprof/go_pprof.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Figures growth_figures(const Growth& growth) {
  Figures out;
  for (const auto& row : growth.rows) out[row.name] = {row.growth(), row.cum_growth()};
  return out;
}

// before, after, sample type.
class DiffAgainstGo : public ::testing::TestWithParam<std::tuple<std::pair<const char*, const char*>, const char*>> {
 protected:
  void SetUp() override {
    if (!has_go()) GTEST_SKIP() << "no go command here to compare with";
    before = std::get<0>(GetParam()).first;
    after = std::get<0>(GetParam()).second;
    type = std::get<1>(GetParam());
    const auto go = go_top(type, "-diff_base='" + fixture_path(before) + "' '" + fixture_path(after) + "'");
    ASSERT_EQ(go.status, 0);
    expected = parse_go_top(go.output);
    expected_total = parse_go_total(go.output);
    ASSERT_GT(expected_total, 0) << go.output;
    ASSERT_EQ(expected.empty(), before == after) << go.output;
  }

  std::string before, after, type;
  Figures expected;
  std::int64_t expected_total = 0;
};

TEST_P(DiffAgainstGo, top_of_the_diff_has_the_figures_of_diff_base) {
  const Top result = top(diff(fixture_profile(before), fixture_profile(after)).value(), type);
  EXPECT_EQ(figures_of(result), expected);
  EXPECT_EQ(result.total, expected_total);
}

TEST_P(DiffAgainstGo, growth_by_function_has_the_figures_of_diff_base) {
  const auto growth = growth_by_function(fixture_profile(before), fixture_profile(after), type);
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth_figures(*growth), expected);
  EXPECT_EQ(growth->reference, expected_total);
}

TEST_P(DiffAgainstGo, the_diff_written_out_is_the_same_diff_to_go) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "diff.pb.gz";
  const Profile joined = diff(fixture_profile(before), fixture_profile(after)).value();
  ASSERT_TRUE(write_file_atomic(path, write(joined)).has_value());
  const auto go = go_top(type, "'" + path + "'");
  ASSERT_EQ(go.status, 0);
  EXPECT_EQ(parse_go_top(go.output), expected);
  EXPECT_EQ(parse_go_total(go.output), expected_total);
}

std::string name_of_case(const ::testing::TestParamInfo<DiffAgainstGo::ParamType>& info) {
  const auto& [files, type] = info.param;
  std::string name = std::string(files.first) + "_to_" + files.second + "_" + type;
  std::erase_if(name, [](char c) { return c == '.' || c == '-'; });
  return name;
}

// One program over time, backwards, against itself, and two that share no function but the
// runtime's, of different periods.
INSTANTIATE_TEST_SUITE_P(Profiles, DiffAgainstGo,
                         ::testing::Combine(::testing::Values(std::pair(kCollectorEarly, kCollectorKill),
                                                              std::pair(kCollectorKill, kCollectorEarly),
                                                              std::pair(kCollectorKill, kCollectorKill),
                                                              std::pair("leaky-go.pb.gz", kCollectorKill)),
                                            ::testing::Values("inuse_space", "inuse_objects", "alloc_space")),
                         name_of_case);

TEST(Diff, equal_stacks_meet_and_what_did_not_change_is_zero_in_sum) {
  const Profile both = diff(sample_profile(), sample_profile()).value();
  EXPECT_THAT(top(both).rows, IsEmpty());
  EXPECT_EQ(both.total(1), 0);
  EXPECT_EQ(reference_total(both, 1), 150);
}

TEST(Diff, a_program_at_other_addresses_is_the_same_program) {
  Profile moved = sample_profile();
  for (auto& mapping : moved.mappings) mapping.memory_start += 0x7000, mapping.memory_limit += 0x7000;
  for (auto& location : moved.locations) location.address += 0x7000;
  EXPECT_EQ(diff(sample_profile(), moved)->locations.size(), sample_profile().locations.size());
}

TEST(Diff, ids_of_the_two_profiles_do_not_matter) {
  Profile renumbered = sample_profile();
  for (auto& function : renumbered.functions) function.id += 100;
  for (auto& location : renumbered.locations) {
    location.id += 200;
    for (auto& line : location.lines) line.function_id += 100;
  }
  for (auto& sample : renumbered.samples) {
    for (auto& id : sample.location_ids) id += 200;
  }
  EXPECT_THAT(top(diff(sample_profile(), renumbered).value()).rows, IsEmpty());
}

TEST(Diff, the_result_is_a_valid_profile) {
  const auto again = read(write(diff(fixture_profile(kCollectorEarly), fixture_profile(kCollectorKill)).value()));
  ASSERT_TRUE(again.has_value()) << again.error().message;
}

TEST(Diff, comments_of_both_are_kept_once) {
  Profile after = sample_profile();
  after.comments = {"second", "first"};
  EXPECT_THAT(diff(sample_profile(), after)->comments, ::testing::ElementsAre("second", "first"));
}

TEST(Diff, other_sample_types_are_refused_with_both_named) {
  Profile after = sample_profile();
  after.sample_types = {{"samples", "count"}, {"cpu", "bytes"}};
  const auto result = diff(sample_profile(), after);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, ::testing::AllOf(HasSubstr("inuse_space/bytes"), HasSubstr("cpu/bytes")));
}

// As a trend's profiles, which have no allocations.
Profile without_objects() {
  Profile profile = sample_profile();
  profile.sample_types.erase(profile.sample_types.begin());
  for (Sample& sample : profile.samples) sample.values.erase(sample.values.begin());
  profile.samples[0].values[0] = 30;
  return profile;
}

TEST(Diff, sample_types_of_one_side_only_are_left_out) {
  for (const bool is_before : {true, false}) {
    const Profile one = is_before ? without_objects() : sample_profile();
    const Profile other = is_before ? sample_profile() : without_objects();
    const auto result = diff(one, other);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->sample_types, (std::vector<ValueType>{{"inuse_space", "bytes"}}));
    EXPECT_EQ(result->total(0), is_before ? 70 : -70);
    const auto growth = growth_by_function(one, other, "inuse_space");
    ASSERT_TRUE(growth.has_value());
    EXPECT_EQ(growth->rows.at(0).growth(), is_before ? 70 : -70);
  }
}

TEST(Diff, another_period_type_is_refused_with_both_named) {
  Profile after = sample_profile();
  after.period_type = {"cpu", "nanoseconds"};
  const auto result = diff(sample_profile(), after);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, ::testing::AllOf(HasSubstr("space/bytes"), HasSubstr("cpu/nanoseconds")));
}

TEST(Diff, the_smallest_number_saturates_when_it_is_negated) {
  Profile before = sample_profile();
  before.samples[0].values[1] = std::numeric_limits<std::int64_t>::min();
  const Profile both = diff(before, sample_profile()).value();
  EXPECT_EQ(reference_total(both, 1), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace oomw::pprof
