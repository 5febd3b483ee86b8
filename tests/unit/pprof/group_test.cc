// SPDX-License-Identifier: Apache-2.0
#include "pprof/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/pprof/sample_profile.h"

namespace oomw::pprof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// main.leak holds 400 more, main.parse 20 less.
Profile grown_by_400() {
  Profile p = sample_profile();
  p.samples[0].values[1] = 500;
  p.samples[1].values[1] = 30;
  return p;
}

std::vector<std::string> names_of(const Growth& growth) {
  std::vector<std::string> names;
  for (const auto& row : growth.rows) names.push_back(row.name);
  return names;
}

TEST(GrowthByFunction, rows_tell_before_and_after_and_are_sorted_by_growth) {
  const Growth growth = growth_by_function(sample_profile(), grown_by_400(), "inuse_space").value();
  EXPECT_EQ(growth.before, 150);
  EXPECT_EQ(growth.after, 530);
  EXPECT_THAT(names_of(growth), ElementsAre("main.leak", "main.parse", "main.main", "main.serve"));
  EXPECT_EQ(growth.rows[0].before, 100);
  EXPECT_EQ(growth.rows[0].after, 500);
  EXPECT_EQ(growth.rows[1].growth(), -20);
  EXPECT_EQ(growth.rows[2].growth(), 0);
  EXPECT_EQ(growth.rows[2].cum_growth(), 380);
}

TEST(GrowthByFunction, a_function_that_is_new_grew_from_nothing) {
  Profile before = sample_profile();
  before.samples.clear();
  const Growth growth = growth_by_function(before, sample_profile(), "").value();
  EXPECT_EQ(growth.rows[0].before, 0);
  EXPECT_EQ(growth.rows[0].growth(), 100);
  EXPECT_EQ(growth.reference, 150);
}

TEST(GrowthByStack, a_row_has_its_functions_leaf_first) {
  const Growth growth = growth_by_stack(sample_profile(), grown_by_400(), "").value();
  ASSERT_EQ(growth.rows.size(), 2u);
  EXPECT_THAT(growth.rows[0].stack, ElementsAre("main.leak", "main.serve", "main.main"));
  EXPECT_EQ(growth.rows[0].growth(), 400);
}

TEST(GrowthByPackage, functions_of_a_package_are_one_row_and_each_stack_counts_once) {
  const Growth growth = growth_by_package(sample_profile(), grown_by_400(), "").value();
  ASSERT_EQ(growth.rows.size(), 1u);
  EXPECT_EQ(growth.rows[0].name, "main");
  EXPECT_EQ(growth.rows[0].growth(), 380);
  EXPECT_EQ(growth.rows[0].cum_growth(), 380);
}

Group by_letter(const std::string& function) {
  if (function == "main.serve") return {"server", false};
  if (function == "main.leak" || function == "main.parse") return {"helpers", true};
  return {};
}

TEST(GrowthByClassifier, a_helper_counts_only_where_the_stack_has_nothing_better) {
  EXPECT_THAT(names_of(growth_by(sample_profile(), grown_by_400(), "", by_letter).value()), ElementsAre("server"));
  Profile before = sample_profile();
  Profile after = grown_by_400();
  before.samples[0].location_ids = after.samples[0].location_ids = {3, 1};  // leak <- main
  EXPECT_THAT(names_of(growth_by(before, after, "", by_letter).value()), ElementsAre("helpers", "server"));
}

TEST(GrowthByClassifier, what_has_no_group_is_in_the_nameless_row) {
  const Growth growth =
      growth_by(sample_profile(), grown_by_400(), "", [](const std::string&) { return Group{}; }).value();
  EXPECT_THAT(names_of(growth), ElementsAre(""));
  EXPECT_EQ(growth.rows[0].growth(), 380);
}

TEST(Growth, equal_profiles_have_no_rows) {
  EXPECT_THAT(growth_by_function(sample_profile(), sample_profile(), "").value().rows, IsEmpty());
}

TEST(Growth, an_unknown_type_is_refused) {
  EXPECT_FALSE(growth_by_function(sample_profile(), sample_profile(), "cpu").has_value());
}

TEST(Growth, a_file_that_claims_endless_stacks_is_refused_in_time) {
  Profile p = sample_profile();
  p.locations[0].lines.resize(4096, {1, 1});
  p.samples.assign(40'000, {{1}, {1, 1}, {}});
  const auto growth = growth_by_function(p, p, "");
  ASSERT_FALSE(growth.has_value());
  EXPECT_EQ(growth.error().code, ErrorCode::kLimit);
}

TEST(Growth, a_recursive_stack_counts_once) {
  Profile after = sample_profile();
  after.samples = {{{3, 2, 2, 2, 1}, {1, 100}, {}}};
  Profile before = after;
  before.samples[0].values[1] = 60;
  const Growth growth = growth_by_function(before, after, "").value();
  ASSERT_FALSE(growth.rows.empty());
  for (const auto& row : growth.rows) EXPECT_EQ(row.cum_growth(), 40);
}

TEST(PackageOf, names_of_go_and_of_cpp) {
  EXPECT_EQ(package_of("net/http.(*conn).serve"), "net/http");
  EXPECT_EQ(package_of("main.main.func1"), "main");
  EXPECT_EQ(package_of("a.b/c/d.Map[go.shape.string,x/y.T].Get"), "a.b/c/d");
  EXPECT_EQ(package_of("gopkg.in/yaml%2ev3.Unmarshal"), "gopkg.in/yaml%2ev3");
  EXPECT_EQ(package_of("std::vector<a::b>::push_back(int)"), "std");
  EXPECT_EQ(package_of("[server]"), "");
  EXPECT_EQ(package_of(""), "");
}

}  // namespace
}  // namespace oomw::pprof
