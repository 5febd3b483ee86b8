// SPDX-License-Identifier: Apache-2.0
#include "memory/looks_under_way.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using test::SetClock;

TEST(LooksUnderWayTest, file_whose_look_does_not_end_hangs_and_others_do_not) {
  SetClock clock;
  LooksUnderWay looks(clock);
  const LooksUnderWay::Look look = looks.begin("/app mnt:[1]");
  clock.time = clock.time + LooksUnderWay::kPatience;
  EXPECT_FALSE(looks.hangs("/app mnt:[1]"));
  clock.time = clock.time + std::chrono::milliseconds(1);
  EXPECT_TRUE(looks.hangs("/app mnt:[1]"));
  EXPECT_FALSE(looks.hangs("/app mnt:[2]"));
}

TEST(LooksUnderWayTest, look_that_came_back_hangs_no_more) {
  SetClock clock;
  LooksUnderWay looks(clock);
  {
    const LooksUnderWay::Look look = looks.begin("/app");
    clock.time = clock.time + std::chrono::hours(1);
    EXPECT_TRUE(looks.hangs("/app"));
  }
  EXPECT_FALSE(looks.hangs("/app"));
}

}  // namespace
}  // namespace oomw
