// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "daemon/ledger_pace.h"

namespace oomw {
namespace {

constexpr MonotonicTime kStart{1'000'000'000'000};

TEST(LedgerPaceTest, a_kill_after_a_quiet_time_is_saved_at_once) {
  LedgerPace pace;
  EXPECT_EQ(pace.delay(kStart), LedgerPace::kShortest);
  EXPECT_EQ(pace.delay(kStart + std::chrono::seconds(5)), LedgerPace::kShortest);
}

TEST(LedgerPaceTest, a_storm_of_half_a_minute_is_saved_less_than_a_hundred_times) {
  LedgerPace pace;
  MonotonicTime now = kStart;
  int saves = 0;
  for (; now < kStart + std::chrono::seconds(30); ++saves) now = now + pace.delay(now);
  EXPECT_LT(saves, 100);
  EXPECT_EQ(pace.delay(now), LedgerPace::kLongest);
}

}  // namespace
}  // namespace oomw
