// SPDX-License-Identifier: Apache-2.0
#include "base/human_duration.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

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
