// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/frame_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw::go {
namespace {

using testing::ElementsAre;
using Stack = std::vector<std::uint64_t>;

// Answers as if the function of each address were "f" and the address, inlined into "outer" where that is wanted.
NamedFrames answer_to(const std::vector<WantedAddress>& wanted) {
  NamedFrames named;
  named.texts = {"", "a.go", "outer"};
  for (const auto& [pc, ends_stack] : wanted) {
    named.texts.push_back("f" + std::to_string(pc));
    named.frames.push_back({pc, static_cast<std::uint32_t>(named.texts.size() - 1), 1, 7, true});
    if (ends_stack) named.frames.push_back({pc, 2, 1, 9, true});
    named.counts.push_back(ends_stack ? 2 : 1);
  }
  return named;
}

std::vector<std::string> names_of(const FrameTable& table, const Stack& pcs, std::uint64_t load_bias = 0) {
  std::vector<std::string> names;
  for (const Frame& frame : table.stack(pcs, load_bias)) names.push_back(table.text(frame.function));
  return names;
}

TEST(FrameTable, asks_for_each_address_once_and_expands_the_end_of_a_stack) {
  FrameTable table;
  table.want(Stack{1, 2}, 0);
  table.want(Stack{1, 1, 2}, 0);
  ASSERT_EQ(table.wanted().size(), 2u);
  table.add(answer_to(table.wanted()));
  EXPECT_THAT(names_of(table, {1, 2}), ElementsAre("f1", "f2", "outer"));
  table.want(Stack{2, 1, 2}, 0);
  EXPECT_TRUE(table.wanted().empty()) << "all is known";
}

TEST(FrameTable, an_address_that_ends_a_later_stack_is_asked_for_again) {
  FrameTable table;
  table.want(Stack{1, 2}, 0);
  table.add(answer_to(table.wanted()));
  EXPECT_THAT(names_of(table, {1}), ElementsAre("f1")) << "its callers were not asked for";
  table.want(Stack{1}, 0);
  ASSERT_EQ(table.wanted().size(), 1u);
  EXPECT_TRUE(table.wanted()[0].ends_stack);
  table.add(answer_to(table.wanted()));
  EXPECT_THAT(names_of(table, {1}), ElementsAre("f1", "outer"));
}

TEST(FrameTable, frames_have_the_addresses_of_the_process) {
  FrameTable table;
  table.want(Stack{1001, 1002}, 1000);
  table.add(answer_to(table.wanted()));
  EXPECT_THAT(names_of(table, {1001, 1002}, 1000), ElementsAre("f1", "f2", "outer"));
  for (const Frame& frame : table.stack(Stack{1001}, 1000)) EXPECT_EQ(frame.pc, 1001u);
}

TEST(FrameTable, what_has_no_name_or_was_never_asked_for_is_an_unknown_frame) {
  FrameTable table;
  table.want(Stack{1, 2}, 0);
  NamedFrames named = answer_to(table.wanted());
  named.frames[0].is_known = false;
  table.add(named);
  EXPECT_EQ(table.unknown_frames(), 1u);
  EXPECT_THAT(names_of(table, {1, 3, 2}), ElementsAre("", "", "f2", "outer"));
  EXPECT_EQ(table.stack(Stack{3, 2}, 0).front().pc, 3u);
}

TEST(FrameTable, more_addresses_than_it_holds_are_unknown_and_counted) {
  FrameTable table;
  Stack pcs(NamedFrames::kMaxAddresses + 3);
  for (std::size_t i = 0; i < pcs.size(); ++i) pcs[i] = i + 1;
  table.want(pcs, 0);
  EXPECT_EQ(table.wanted().size(), NamedFrames::kMaxAddresses);
  EXPECT_EQ(table.unknown_frames(), 3u);
}

TEST(TextPool, gives_equal_texts_one_number_and_refuses_what_finds_no_room) {
  TextPool pool;
  EXPECT_EQ(pool.intern(""), 0u);
  const auto number = pool.intern("main.main");
  EXPECT_EQ(pool.intern("main.main"), number);
  EXPECT_EQ(pool.text(*number), "main.main");
  EXPECT_FALSE(pool.intern(std::string(TextPool::kMaxBytes, 'x')).has_value());
  EXPECT_THAT(pool.all(), ElementsAre("", "main.main"));
}

}  // namespace
}  // namespace oomw::go
