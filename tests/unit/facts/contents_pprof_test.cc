// SPDX-License-Identifier: Apache-2.0
#include "facts/contents_pprof.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/memory_part.h"
#include "pprof/codec.h"
#include "pprof/estimate.h"
#include "pprof/group.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

HeapAnalysed python_heap(std::uint64_t dicts = 50) {
  HeapAnalysed found;
  found.of = RuntimeKind::kCpython;
  found.parts = {{"python objects: in use", "cpython", 70, "pools"},
                 {"malloc: in use", "native", 20, "chunks"},
                 {"python objects: free", "cpython", 6, "pools"},
                 {std::string(memory_part::kUnexplained), "", 4, ""}};
  found.fillers = {{"holder", "list of dict", "`LOG` in module `app`", 60, 5, 0.6},
                   {"type", "dict", "", dicts, 5, 0.5},
                   {"type", "str", "", 10, 3, 0.1}};
  return found;
}

// "root;...;leaf" -> value of one sample type, without zeros; as it is read back.
std::map<std::string, std::int64_t> stacks_of(const HeapAnalysed& found, const std::string& type) {
  const pprof::Profile profile = pprof::read(pprof::write(contents_profile(found, {7}))).value();
  const auto column = static_cast<std::size_t>(profile.type_index(type));
  std::map<std::string, std::int64_t> stacks;
  for (const pprof::Sample& sample : profile.samples) {
    if (sample.values.at(column) == 0) continue;
    std::string text;
    for (const std::uint64_t id : sample.location_ids) {
      const std::string& name = profile.functions.at(profile.locations.at(id - 1).lines[0].function_id - 1).name;
      text = text.empty() ? name : name + ";" + text;
    }
    stacks[text] += sample.values[column];
  }
  return stacks;
}

TEST(ContentsPprof, types_stand_in_the_parts_that_have_them_and_the_sum_is_the_memory) {
  EXPECT_THAT(stacks_of(python_heap(), "contents"),
              UnorderedElementsAre(Pair("Python objects, malloc;cpython;dict", 50),
                                   Pair("Python objects, malloc;cpython;str", 10),
                                   Pair("Python objects, malloc;cpython;(not listed: smaller types, free space)", 30),
                                   Pair("python objects: free", 6), Pair("unexplained", 4)));
  EXPECT_THAT(stacks_of(python_heap(), "objects"), UnorderedElementsAre(Pair("Python objects, malloc;cpython;dict", 5),
                                                                        Pair("Python objects, malloc;cpython;str", 3)));
}

TEST(ContentsPprof, a_sample_says_how_large_it_was) {
  HeapAnalysed found = python_heap();
  EXPECT_FALSE(pprof::is_estimate(contents_profile(found, {7})));
  found.sampled_ratio = 0.125;
  const pprof::Profile profile = pprof::read(pprof::write(contents_profile(found, {7}))).value();
  EXPECT_TRUE(pprof::is_estimate(profile));
  EXPECT_THAT(profile.comments, ::testing::Contains(::testing::HasSubstr("12.5 % of the objects' memory was read")));
}

TEST(ContentsPprof, holders_are_a_figure_of_their_own) {
  EXPECT_THAT(stacks_of(python_heap(), "held"),
              ElementsAre(Pair("Python objects, malloc;cpython;list of dict;held as `LOG` in module `app`", 60)));
  HeapAnalysed counted = python_heap();
  counted.fillers.push_back({"holder", "java.util.ArrayDeque", "`Outbox.PENDING`", 0, 5000, 0});
  EXPECT_EQ(contents_profile(counted, {7}).samples.size(), contents_profile(python_heap(), {7}).samples.size());
}

TEST(ContentsPprof, sizes_count_where_no_class_names_more) {
  HeapAnalysed found;
  found.of = RuntimeKind::kNative;
  found.parts = {{"malloc: in use", "native", 90, "chunks"}};
  found.fillers = {{"size", "blocks of 288 B", "", 80, 4, 0.8}, {"type", "shop::Cart", "", 20, 4, 0.2}};
  EXPECT_THAT(stacks_of(found, "contents"),
              UnorderedElementsAre(Pair("allocated blocks;native;blocks of 288 B", 80),
                                   Pair("allocated blocks;native;(not listed: smaller types, free space)", 10)));
}

// Of another allocator nothing shows which memory is its own; classes are found all the same.
TEST(ContentsPprof, objects_beyond_the_parts_that_have_them_come_out_of_the_others) {
  HeapAnalysed found;
  found.of = RuntimeKind::kNative;
  found.parts = {{std::string(memory_part::kUnexplained), "", 90, ""}, {"main stack", "native", 10, "[stack]"}};
  found.fillers = {{"type", "shop::Cart", "", 60, 4, 0.6}};
  EXPECT_THAT(stacks_of(found, "contents"), UnorderedElementsAre(Pair("allocated blocks;native;shop::Cart", 60),
                                                                 Pair("unexplained", 30), Pair("main stack", 10)));
  found.fillers = {{"type", "shop::Cart", "", 500, 4, 1}};
  EXPECT_THAT(stacks_of(found, "contents"), ElementsAre(Pair("allocated blocks;native;shop::Cart", 100)));
}

TEST(ContentsPprof, without_objects_parts_are_as_they_are) {
  HeapAnalysed found = python_heap();
  found.fillers.clear();
  EXPECT_THAT(stacks_of(found, "contents"),
              UnorderedElementsAre(Pair("python objects: in use", 70), Pair("malloc: in use", 20),
                                   Pair("python objects: free", 6), Pair("unexplained", 4)));
  EXPECT_THAT(stacks_of(HeapAnalysed{}, "contents"), IsEmpty());
}

TEST(ContentsPprof, two_readings_are_compared_by_type) {
  HeapAnalysed before = python_heap(20);
  before.parts[0].bytes -= 30;
  const auto growth =
      pprof::growth_by_function(contents_profile(before, {1}), contents_profile(python_heap(), {2}), "");
  ASSERT_TRUE(growth.has_value()) << growth.error().message;
  EXPECT_EQ(growth->type.type, "contents");
  ASSERT_FALSE(growth->rows.empty());
  EXPECT_EQ(growth->rows[0].name, "dict");
  EXPECT_EQ(growth->rows[0].growth(), 30);
}

TEST(ContentsPprof, names_are_hostile) {
  HeapAnalysed found = python_heap();
  found.fillers = {{"type", "a\nb\x1b[31m", "", 5, 1, 0.1}, {"type", "", "", 5, 1, 0.1}};
  for (const auto& [stack, bytes] : stacks_of(found, "contents")) {
    EXPECT_EQ(stack.find_first_of("\n\x1b"), std::string::npos) << stack;
  }
}

}  // namespace
}  // namespace oomw
