// SPDX-License-Identifier: Apache-2.0
#include "memory/inspections_under_way.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using test::SetClock;

TEST(InspectionsUnderWayTest, file_whose_inspection_does_not_end_hangs_and_others_do_not) {
  SetClock clock;
  InspectionsUnderWay inspections(clock);
  const InspectionsUnderWay::Inspection inspection = inspections.begin("/app mnt:[1]");
  clock.advance(InspectionsUnderWay::kPatience);
  EXPECT_FALSE(inspections.hangs("/app mnt:[1]"));
  clock.advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(inspections.hangs("/app mnt:[1]"));
  EXPECT_FALSE(inspections.hangs("/app mnt:[2]"));
}

TEST(InspectionsUnderWayTest, inspection_that_ended_hangs_no_more) {
  SetClock clock;
  InspectionsUnderWay inspections(clock);
  {
    const InspectionsUnderWay::Inspection inspection = inspections.begin("/app");
    clock.advance(std::chrono::hours(1));
    EXPECT_TRUE(inspections.hangs("/app"));
  }
  EXPECT_FALSE(inspections.hangs("/app"));
}

}  // namespace
}  // namespace oomw
