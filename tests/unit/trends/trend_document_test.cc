// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

TrendDocument document() {
  TrendDocument document;
  document.process = {4711, 90};
  document.readings.push_back({.time = WallTime{1'700'000'000'000'000'000},
                               .origin = "scheduled",
                               .is_baseline = true,
                               .gc_cycle = 7,
                               .live_bytes = 1,
                               .held_bytes = 2,
                               .buckets = 3,
                               .is_complete = true,
                               .file = "trend-01.pb.gz"});
  document.judged.whole.judgement = "not_growing";
  document.judged.sites.emplace_back().frames = {"main.work main.go:7"};
  return document;
}

TEST(TrendDocument, text_read_back_is_what_was_written) {
  const std::string text = to_json(document());
  const auto read = trend_document_from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(read->process, (ProcessKey{4711, 90}));
  EXPECT_EQ(read->readings.at(0).gc_cycle, 7u);
  EXPECT_EQ(read->judged.sites.at(0).frames.value(), std::vector<std::string>{"main.work main.go:7"});
}

TEST(TrendDocument, slope_that_is_not_known_is_null) {
  TrendDocument made = document();
  made.judged.whole.slope = std::numeric_limits<double>::infinity();
  const std::string text = to_json(made);
  EXPECT_THAT(text, testing::HasSubstr("\"slope_bytes_per_second\": null"));
  const auto read = trend_document_from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(*read), text) << "unknown stays unknown";
}

TEST(TrendDocument, member_of_a_wrong_type_is_named) {
  const auto read = trend_document_from_json(R"({"readings": [{"time": "yesterday"}], "judged": {}})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, testing::HasSubstr("readings[0].time"));
}

TEST(TrendDocument, newer_version_is_refused) {
  EXPECT_FALSE(trend_document_from_json(R"({"schema_version": 2, "readings": [], "judged": {}})"));
}

}  // namespace
}  // namespace oomw
