// SPDX-License-Identifier: Apache-2.0
#include "captures/memstats_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "captures/memstats_fetch.h"

namespace oomw {
namespace {

using ::testing::IsEmpty;

// The end of what a Go 1.27 program answered, without the pauses.
constexpr const char* kText = R"(heap profile: 1: 65536 [1: 65536] @ heap/1048576
1: 65536 [1: 65536] @ 0x6b3f05 0x6b3e9b
#	0x6b3f04	main.leakyCache+0x64	/src/main.go:91

# runtime.MemStats
# Alloc = 35112664
# TotalAlloc = 35190512
# Sys = 48121096
# Lookups = 0
# Mallocs = 3210
# Frees = 1204
# HeapAlloc = 35112664
# HeapSys = 44990464
# HeapIdle = 9076736
# HeapInuse = 35913728
# HeapReleased = 6144000
# HeapObjects = 2006
# Stack = 491520 / 524288
# MSpan = 93120 / 97920
# MCache = 2416 / 15704
# BuckHashSys = 1444241
# GCSys = 2031616
# OtherSys = 541175
# NextGC = 42115320
# LastGC = 1795230245123456789
# NumGC = 5
# DebugGC = false
)";

std::string with(const std::string& line, const std::string& other) {
  std::string text = kText;
  const std::size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), other);
}

TEST(MemStatsText, the_end_of_a_text_profile_gives_each_wanted_figure) {
  const MemStats stats = memstats_of(kText);
  EXPECT_EQ(stats, (MemStats{{"HeapAlloc", 35112664},
                             {"HeapInuse", 35913728},
                             {"HeapIdle", 9076736},
                             {"HeapReleased", 6144000},
                             {"StackInuse", 491520},
                             {"MSpanSys", 97920},
                             {"MCacheSys", 15704},
                             {"BuckHashSys", 1444241},
                             {"GCSys", 2031616},
                             {"OtherSys", 541175},
                             {"NextGC", 42115320}}));
}

TEST(MemStatsText, a_tail_that_begins_before_the_title_is_enough) {
  const std::string text = kText;
  EXPECT_EQ(memstats_of(text.substr(text.find("\n# runtime.MemStats"))), memstats_of(text));
  EXPECT_THAT(memstats_of(text.substr(text.find("# Alloc"))), IsEmpty());
}

TEST(MemStatsText, numbers_that_are_none_leave_nothing) {
  for (const char* bad : {"-1", "+1", "", " 7", "7 ", "0x10", "1e9", "99999999999999999999999", "18446744073709551615",
                          "9007199254740992"}) {
    EXPECT_THAT(memstats_of(with("OtherSys = 541175", std::string("OtherSys = ") + bad)), IsEmpty()) << bad;
  }
}

TEST(MemStatsText, a_missing_figure_leaves_nothing) {
  EXPECT_THAT(memstats_of(with("# HeapReleased = 6144000\n", "")), IsEmpty());
  EXPECT_THAT(memstats_of(with("93120 / 97920", "93120")), IsEmpty());
  EXPECT_THAT(memstats_of(""), IsEmpty());
  EXPECT_THAT(memstats_of("\n# runtime.MemStats\n"), IsEmpty());
}

TEST(MemStatsText, figures_that_contradict_each_other_leave_nothing) {
  EXPECT_THAT(memstats_of(with("HeapReleased = 6144000", "HeapReleased = 9076737")), IsEmpty());
  EXPECT_THAT(memstats_of(with("HeapAlloc = 35112664", "HeapAlloc = 35913729")), IsEmpty());
}

TEST(MemStatsText, a_name_counts_once_and_the_last_title_counts) {
  EXPECT_EQ(memstats_of(std::string(kText) + "# GCSys = 7\n").at("GCSys"), 2031616u);
  const std::string lie = with("GCSys = 2031616", "GCSys = 7");
  EXPECT_EQ(memstats_of(lie + kText).at("GCSys"), 2031616u);
}

TEST(MemStatsText, ten_megabytes_of_comments_are_passed_over) {
  std::string noise = "\n# runtime.MemStats\n";
  while (noise.size() < 10u << 20) noise += "# HeapAllot = 5 = / = 6\n";
  EXPECT_THAT(memstats_of(noise), IsEmpty());
  EXPECT_EQ(memstats_of(noise + kText).size(), 11u);
}

class MayAskMemStats : public ::testing::Test {
 protected:
  MayAskMemStats() {
    request_.usage_bytes = 92u << 20;
    request_.limit_bytes = 100u << 20;
  }
  CaptureRequest request_;
};

TEST_F(MayAskMemStats, few_stacks_and_room_to_the_limit_may) { EXPECT_TRUE(may_ask_memstats(request_, 500)); }

TEST_F(MayAskMemStats, many_stacks_may_not) { EXPECT_FALSE(may_ask_memstats(request_, 501)); }

TEST_F(MayAskMemStats, near_the_limit_or_where_it_is_not_known_may_not) {
  *request_.usage_bytes += 1;
  EXPECT_FALSE(may_ask_memstats(request_, 1));
  request_.usage_bytes = 101u << 20;
  EXPECT_FALSE(may_ask_memstats(request_, 1));
  request_.usage_bytes.reset();
  EXPECT_FALSE(may_ask_memstats(request_, 1));
}

}  // namespace
}  // namespace oomw
