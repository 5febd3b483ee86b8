// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/list_splitter.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "kubernetes/line_splitter.h"
#include "kubernetes/pod_decoder.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

using testing::ElementsAre;

struct Split {
  std::vector<std::string> items;
  std::string rest;
  bool failed = false;
};

Split split_in_pieces(const std::string& json, std::size_t piece) {
  Split result;
  ListSplitter splitter;
  for (std::size_t i = 0; i < json.size() && !result.failed; i += piece) {
    result.failed = !splitter
                         .feed(std::string_view(json).substr(i, piece),
                               [&](std::string_view item) { result.items.emplace_back(item); })
                         .has_value();
  }
  const auto rest = splitter.finish();
  result.failed = result.failed || !rest.has_value();
  if (rest.has_value()) result.rest = *rest;
  return result;
}

Split split_list(const std::string& json) { return split_in_pieces(json, 7); }

TEST(ListSplitter, items_are_cut_out_and_the_rest_stays) {
  const Split split = split_list(R"({"kind":"PodList","items":[ {"a":[1,{}]} , {"b":"]}\"{"}],"metadata":{"x":"y"}})");
  EXPECT_FALSE(split.failed);
  EXPECT_THAT(split.items, ElementsAre(R"({"a":[1,{}]})", R"({"b":"]}\"{"})"));
  EXPECT_EQ(split.rest, R"({"kind":"PodList","items":[],"metadata":{"x":"y"}})");
}

TEST(ListSplitter, a_page_as_the_server_sends_it_is_read_in_pieces_of_any_size) {
  const std::string page =
      read_file(test::source_tree() + "/tests/fixtures/kubernetes/list_page.json", 1u << 20).value();
  for (const std::size_t piece : {1u, 2u, 1000u, 1u << 20}) {
    const Split split = split_in_pieces(page, piece);
    ASSERT_EQ(split.items.size(), 2u) << piece;
    EXPECT_EQ(decode_pod(split.items[0])->name_space, "payments");
    EXPECT_EQ(decode_pod(split.items[1])->static_uid, "9f3d1f0a2b4c5d6e7f8091a2b3c4d5e6");
    EXPECT_EQ(decode_list_end(split.rest)->resource_version, "184470");
  }
}

TEST(ListSplitter, items_deeper_down_are_not_the_lists) {
  EXPECT_TRUE(split_list(R"({"metadata":{"items":[{"a":1}]},"kind":"items"})").items.empty());
}

TEST(ListSplitter, an_empty_list_and_a_null_one_have_no_items) {
  EXPECT_FALSE(split_list(R"({"items":[]})").failed);
  EXPECT_FALSE(split_list(R"({"items":null})").failed);
}

TEST(ListSplitter, a_list_that_breaks_off_is_an_error) {
  for (const char* json : {"", "{", R"({"items":[{"a":1})", R"({"a":"b)"}) EXPECT_TRUE(split_list(json).failed) << json;
}

TEST(ListSplitter, what_is_no_object_in_a_list_is_an_error) {
  for (const char* json : {R"({"items":[1]})", R"({"items":["a"]})", "}"}) EXPECT_TRUE(split_list(json).failed) << json;
}

TEST(ListSplitter, an_item_without_end_is_an_error) {
  ListSplitter splitter;
  const auto ignore = [](std::string_view) {};
  ASSERT_TRUE(splitter.feed(R"({"items":[{"a":")", ignore).has_value());
  const auto fed = splitter.feed(std::string(ListSplitter::kMaxItemBytes, 'x'), ignore);
  ASSERT_FALSE(fed.has_value());
  EXPECT_EQ(fed.error().code, ErrorCode::kLimit);
}

TEST(ListSplitter, a_head_without_end_is_an_error) {
  ListSplitter splitter;
  const auto fed = splitter.feed("{\"a\":\"" + std::string(ListSplitter::kMaxRestBytes, 'x'), [](std::string_view) {});
  ASSERT_FALSE(fed.has_value());
  EXPECT_EQ(fed.error().code, ErrorCode::kLimit);
}

std::vector<std::string> lines_of(const std::vector<std::string>& pieces) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (const std::string& piece : pieces) {
    EXPECT_TRUE(splitter
                    .feed(piece,
                          [&](std::string_view line) -> Result<> {
                            lines.emplace_back(line);
                            return {};
                          })
                    .has_value());
  }
  return lines;
}

TEST(LineSplitter, lines_are_put_together_from_pieces) {
  EXPECT_THAT(lines_of({"a", "b\nc\n\n", "d"}), ElementsAre("ab", "c"));
}

TEST(LineSplitter, a_line_without_end_is_an_error) {
  LineSplitter splitter;
  const auto fed =
      splitter.feed(std::string(LineSplitter::kMaxLineBytes + 1, 'x'), [](std::string_view) -> Result<> { return {}; });
  ASSERT_FALSE(fed.has_value());
  EXPECT_EQ(fed.error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace oomw
