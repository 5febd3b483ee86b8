// SPDX-License-Identifier: Apache-2.0
#include "base/stall_meter.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at;

TEST(StallMeter, the_turn_under_way_counts_before_it_ends) {
  StallMeter meter;
  meter.begin(at(seconds(100)));
  EXPECT_EQ(meter.current(at(seconds(107))), seconds(7));
  EXPECT_EQ(meter.longest(at(seconds(107))), seconds(7));
}

TEST(StallMeter, a_thread_that_waits_does_not_stall) {
  StallMeter meter;
  EXPECT_EQ(meter.current(at(seconds(100))), Nanoseconds(0));
  meter.begin(at(seconds(100)));
  meter.end(at(seconds(101)));
  EXPECT_EQ(meter.current(at(seconds(160))), Nanoseconds(0));
}

TEST(StallMeter, the_longest_turn_stays_for_five_minutes_and_then_goes) {
  StallMeter meter;
  meter.begin(at(seconds(1000)));
  meter.end(at(seconds(1009)));
  meter.begin(at(seconds(1010)));
  meter.end(at(seconds(1010) + milliseconds(3)));
  EXPECT_EQ(meter.longest(at(seconds(1011))), seconds(9));
  EXPECT_EQ(meter.longest(at(seconds(1009) + StallMeter::kWindow)), seconds(9));
  EXPECT_EQ(meter.longest(at(seconds(1009) + StallMeter::kWindow + StallMeter::kSlot)), Nanoseconds(0));
}

TEST(StallMeter, a_slot_that_is_used_again_forgets_its_old_turn) {
  StallMeter meter;
  meter.begin(at(seconds(1)));
  meter.end(at(seconds(20)));
  const Nanoseconds later = StallMeter::kSlot * static_cast<std::int64_t>(StallMeter::kSlots);
  meter.begin(at(seconds(20) + later));
  meter.end(at(seconds(20) + later + milliseconds(2)));
  EXPECT_EQ(meter.longest(at(seconds(21) + later)), milliseconds(2));
}

}  // namespace
}  // namespace oomw
