// SPDX-License-Identifier: Apache-2.0
#include "facts/growth_pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/heap_sites.h"
#include "facts/operation_profile.h"
#include "pprof/codec.h"
#include "pprof/regroup.h"
#include "pprof/top.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

GrowthProfile profile() {
  GrowthProfile growth;
  growth.time = {9'000};
  growth.started = {1'000};
  growth.process = {7, 6};
  growth.slot_bytes = 262'144;
  growth.grown_bytes = 100;
  GrowthFrame malloc{"malloc", "", "libc.so.6", 0, false, true};
  GrowthFrame generate{"generate", "app.py", "", 41, true, false};
  GrowthFrame view{"view", "app.py", "", 60, true, false};
  growth.stacks = {{60, true, {malloc, generate, view}}, {40, false, {malloc, view}}};
  growth.notes = {"a note"};
  return growth;
}

TEST(GrowthPprof, a_profile_comes_back_with_its_stacks_and_what_it_shows) {
  const auto text = pprof::write(to_pprof(profile(), {5}));
  const auto read = pprof::read(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_THAT(read->sample_types, ::testing::ElementsAre(pprof::ValueType{"growth", "bytes"}));
  ASSERT_THAT(read->samples, SizeIs(2));
  EXPECT_THAT(read->samples[0].location_ids, SizeIs(2));  // what called malloc, and its caller
  EXPECT_EQ(read->total(0), 100);
  EXPECT_THAT(read->functions, SizeIs(2));
  EXPECT_EQ(read->time_nanos, 5);
  ASSERT_THAT(read->comments, SizeIs(3));
  EXPECT_THAT(read->comments.front(), HasSubstr("growth by first touch"));
}

TEST(GrowthPprof, a_stack_of_nothing_but_allocators_stays_whole) {
  GrowthProfile growth = profile();
  growth.stacks.front().frames.resize(1);
  EXPECT_THAT(to_pprof(growth, {5}).samples.front().location_ids, SizeIs(1));
}

TEST(GrowthPprof, a_stack_has_its_operation_as_a_label) {
  GrowthProfile growth = profile();
  growth.stacks[0].frames.push_back({"Flask.dispatch_request", "app.py", "", 9, true, false, true});
  const pprof::Profile file = to_pprof(growth, {5});
  ASSERT_THAT(file.samples[0].labels, SizeIs(2));
  EXPECT_EQ(file.samples[0].labels[1].text, "endpoint view");
  EXPECT_THAT(file.samples[1].labels, SizeIs(1));
  const pprof::Top top = pprof::top(summed_by_operation(file));
  ASSERT_THAT(top.rows, SizeIs(2));
  EXPECT_EQ(top.rows[0].function, "endpoint view");
  EXPECT_EQ(top.rows[0].flat, 60);
  EXPECT_EQ(top.rows[1].function, "(no operation)");
}

TEST(GrowthPprof, patterns_of_the_configuration_name_operations) {
  const auto patterns = OperationPatterns::make({"job app.py view"});
  ASSERT_TRUE(patterns.has_value());
  const pprof::Profile file = to_pprof(profile(), {5}, *patterns);
  ASSERT_THAT(file.samples[0].labels, SizeIs(2));
  EXPECT_EQ(file.samples[0].labels[1].text, "job generate");
}

// Of any language: what is whose code was known when it was written.
TEST(GrowthPprof, the_programs_own_code_comes_back_most_bytes_first) {
  GrowthProfile growth = profile();
  growth.stacks.push_back({70, true, {growth.stacks[0].frames.front()}});
  growth.stacks.push_back({50, true, growth.stacks[1].frames});
  const auto read = pprof::read(pprof::write(to_pprof(growth, {5})));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const HeapSites found = grown_sites_of(*read);
  ASSERT_THAT(found.sites, SizeIs(2));
  EXPECT_EQ(found.sites[0].code, "view (app.py:60)");
  EXPECT_EQ(found.sites[0].bytes, 90u);
  EXPECT_DOUBLE_EQ(found.sites[0].share, 90.0 / 220);
  EXPECT_EQ(found.sites[1].code, "generate (app.py:41)");
  pprof::Profile other = *read;
  other.sample_types = {{"inuse_space", "bytes"}};
  EXPECT_THAT(grown_sites_of(other).sites, SizeIs(0));
}

// By the rules for Go it would be "job main".
TEST(GrowthPprof, a_native_stack_has_no_operation) {
  GrowthProfile growth = profile();
  growth.stacks = {{60, true, {{"put", "", "shop", 0, false, false}, {"main", "", "shop", 0, false, false}}}};
  const pprof::Top top = pprof::top(summed_by_operation(to_pprof(growth, {5})));
  ASSERT_THAT(top.rows, SizeIs(1));
  EXPECT_EQ(top.rows[0].function, "(no operation)");
}

TEST(GrowthPprof, its_modules_are_mapped_files_and_source_files) {
  GrowthProfile growth = profile();
  const GrowthFrame put{"put", "", "libshop.so", 0, false, false};
  growth.stacks[0].frames.insert(growth.stacks[0].frames.begin() + 1, put);
  const pprof::Top top = pprof::top(pprof::regrouped_by_module(to_pprof(growth, {5})));
  ASSERT_THAT(top.rows, SizeIs(2));
  EXPECT_EQ(top.rows[0].function, "libshop.so");
  EXPECT_EQ(top.rows[0].flat, 60);
  EXPECT_EQ(top.rows[1].function, "app.py");
  EXPECT_EQ(top.rows[1].cum, 100);
}

TEST(GrowthPprof, code_without_a_name_has_its_address_in_its_build) {
  GrowthProfile growth = profile();
  const GrowthFrame unnamed{"libx.so!fn_1ab0", "", "libx.so", 0, false, false};
  const GrowthFrame of_another{"liby.so!fn_30", "", "liby.so", 0, false, false};
  const GrowthFrame named{"start", "", "libc.so.6", 0, false, false};
  growth.stacks = {{60, true, {named, unnamed, of_another}}};
  growth.builds = {{"libc.so.6", "c0de"}, {"libx.so", "ab12"}};
  const pprof::Profile file = to_pprof(growth, {5});
  ASSERT_THAT(file.mappings, SizeIs(3));
  EXPECT_EQ(file.mappings[0].build_id, "c0de");
  EXPECT_TRUE(file.mappings[0].has_functions);
  EXPECT_EQ(file.mappings[1].build_id, "ab12");
  EXPECT_FALSE(file.mappings[1].has_functions);  // a viewer that has the symbols may look for them
  EXPECT_EQ(file.mappings[2].build_id, "");
  EXPECT_TRUE(file.mappings[2].has_functions);
  ASSERT_THAT(file.locations, SizeIs(3));
  EXPECT_EQ(file.locations[0].address, 0u);
  EXPECT_EQ(file.locations[1].address, 0x1ab0u);
  EXPECT_EQ(file.locations[1].mapping_id, 2u);
}

TEST(GrowthPprof, figures_and_lists_beyond_the_bounds_are_cut) {
  GrowthProfile many = profile();
  many.stacks.assign(1000, {UINT64_MAX, true, std::vector<GrowthFrame>(1000, {"f\x1b", "", "", UINT64_MAX})});
  const pprof::Profile file = to_pprof(many, {5});
  ASSERT_THAT(file.samples, SizeIs(GrowthProfile::kMaxStacks));
  EXPECT_THAT(file.samples.front().location_ids, SizeIs(GrowthProfile::kMaxFrames));
  EXPECT_EQ(file.samples.front().values.front(), INT64_MAX);
  EXPECT_EQ(file.functions.front().name.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace oomw
