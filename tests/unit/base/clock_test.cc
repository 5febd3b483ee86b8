// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

TEST(Rfc3339, nanoseconds_are_kept) {
  EXPECT_EQ(to_rfc3339({1'795'230'245'123'456'789}), "2026-11-21T03:04:05.123456789Z");
}

TEST(Rfc3339, before_the_epoch_counts_backwards) { EXPECT_EQ(to_rfc3339({-1}), "1969-12-31T23:59:59.999999999Z"); }

TEST(Clock, wall_of_an_earlier_instant_is_as_much_earlier) {
  EXPECT_EQ(test::SetClock({1'000}, {5'000'000}).wall_of({400}).ns, 4'999'400);
}

TEST(RoundUp, a_multiple_stays_and_what_is_after_it_becomes_the_next) {
  EXPECT_EQ(round_up({20}, Nanoseconds(10)).ns, 20);
  EXPECT_EQ(round_up({21}, Nanoseconds(10)).ns, 30);
  EXPECT_EQ(round_up({29}, Nanoseconds(10)).ns, 30);
}

TEST(SystemClock, does_not_go_backwards) {
  const SystemClock clock;
  const MonotonicTime first = clock.now();
  EXPECT_GE(clock.now(), first);
}

TEST(HumanDuration, is_one_unit_rounded_down) {
  EXPECT_EQ(human_duration(std::chrono::milliseconds(900)), "0 s");
  EXPECT_EQ(human_duration(std::chrono::seconds(119)), "119 s");
  EXPECT_EQ(human_duration(std::chrono::seconds(120)), "2 min");
  EXPECT_EQ(human_duration(std::chrono::minutes(119)), "119 min");
  EXPECT_EQ(human_duration(std::chrono::hours(47)), "47 h");
  EXPECT_EQ(human_duration(std::chrono::hours(49)), "2 d");
  EXPECT_EQ(human_duration(-std::chrono::seconds(1)), "0 s");
}

}  // namespace
}  // namespace oomw
