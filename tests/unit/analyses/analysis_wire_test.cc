// SPDX-License-Identifier: Apache-2.0
#include "analyses/analysis_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace oomw {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;

HeapAnalysed boundless() {
  HeapAnalysed analysed;
  const std::string text(5 * HeapAnalysed::kMaxText, '\n');
  analysed.detail = analysed.why_no_owner = text;
  analysed.rooted_ratio = 7;
  analysed.named_ratio = -1;
  analysed.holders.assign(100, {2, 1, 1, false, text, std::vector<std::string>(100, text)});
  analysed.goroutines.assign(100, {1, text, std::vector<std::string>(100, text), text, text});
  analysed.goroutine_list.assign(100, {1, 2, 3, std::vector<std::string>(100, text)});
  analysed.pool_table.assign(100, {1, 2, 3, std::vector<PoolTable::Type>(100, {1, text})});
  analysed.pools.assign(100, {});
  analysed.fillers.assign(100, {text, text, text, 1, 1, std::nan("")});
  analysed.parts.assign(100, {text, text, 1, text});
  analysed.notes.assign(100, text);
  analysed.jvm.assign(100, {});
  analysed.jvm[0].uptime_seconds = -1;
  analysed.jvm[0].collection_seconds = 1e300;
  return analysed;
}

TEST(AnalysisWire, lists_texts_and_shares_are_bounded) {
  HeapAnalysed sent = boundless();
  sent.goroutines.clear();  // then it fits a message
  sent.parts.clear();
  const HeapAnalysed analysed = decode_analysed(encode_analysed(sent).value()).value();
  EXPECT_THAT(analysed.holders, SizeIs(HeapAnalysed::kMaxHolders));
  EXPECT_THAT(analysed.holders[0].chain, SizeIs(HeapAnalysed::kMaxChain));
  EXPECT_THAT(analysed.holders[0].chain, Each(SizeIs(Le(HeapAnalysed::kMaxText * 4))));
  EXPECT_THAT(analysed.holders[0].chain[0], Not(HasSubstr("\n")));
  EXPECT_EQ(analysed.holders[0].share, 1);
  EXPECT_EQ(analysed.rooted_ratio, 1);
  EXPECT_EQ(analysed.named_ratio, 0);
  ASSERT_THAT(analysed.goroutine_list, SizeIs(1));
  EXPECT_THAT(analysed.goroutine_list[0].wait_reasons, SizeIs(GoroutineList::kMaxReasons));
  EXPECT_THAT(analysed.goroutine_list[0].wait_reasons, Each(SizeIs(Le(GoroutineList::kMaxReasonChars * 4))));
  ASSERT_THAT(analysed.pool_table, SizeIs(1));
  ASSERT_THAT(analysed.pool_table[0].types, SizeIs(PoolTable::kMaxTypes));
  EXPECT_THAT(analysed.pool_table[0].types[0].name, SizeIs(Le(PoolTable::kMaxNameChars * 4)));
  EXPECT_THAT(analysed.pools, SizeIs(0)) << "which no reading of a living process counts";
  EXPECT_EQ(analysed.fillers[0].share, 0);
  EXPECT_THAT(analysed.fillers, SizeIs(HeapAnalysed::kMaxFillers));
  EXPECT_THAT(analysed.jvm, testing::ElementsAre(JvmFigures{}));
}

TEST(AnalysisWire, what_is_too_long_loses_its_smallest_entries) {
  const auto text = encode_analysed(boundless());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_LE(text->size(), 60u << 10);
  const auto back = decode_analysed(*text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_GE(back->holders.size(), 1u);
  EXPECT_THAT(back->notes.back(),
              testing::MatchesRegex("[0-9]+ entries of lists found no room in the reader's answer"));
}

TEST(AnalysisWire, anything_else_is_refused) {
  for (const char* text : {"", "{}", "\xff", R"({"type":"heap_analysed","time_ns":1})"}) {
    EXPECT_FALSE(decode_analysed(text)) << text;
  }
  const std::string whole = encode_analysed({}).value();
  EXPECT_TRUE(decode_analysed(whole));
  EXPECT_FALSE(decode_analysed(whole + "1"));
  EXPECT_FALSE(decode_analysed(whole.substr(1)));
}

TEST(AnalysisWire, recording_of_a_result_gives_it_back) {
  HeapAnalysed analysed;
  analysed.time.ns = 77;
  analysed.fillers.push_back({"type", "dict", "`LOG`", 8, 2, 0.25, 3});
  analysed.holders.push_back({0.5, 7, 3, true, "exporter/otlp", {"global main.m"}});
  analysed.jvm.emplace_back().heap_used_bytes = 5;
  analysed.jvm[0].seconds_since_collection = 1.5;
  const auto back = decode_analysed(encode_analysed(analysed).value());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->time, analysed.time);
  EXPECT_EQ(back->fillers, analysed.fillers);
  EXPECT_EQ(back->holders, analysed.holders);
  EXPECT_EQ(back->jvm, analysed.jvm);
}

}  // namespace
}  // namespace oomw
