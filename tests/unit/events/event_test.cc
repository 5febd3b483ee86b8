// SPDX-License-Identifier: Apache-2.0
#include "events/event.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(TimeOf, is_the_time_of_whatever_is_inside) {
  EXPECT_EQ(time_of(EventsLost{{5}, "stage", 1}).ns, 5);
  EXPECT_EQ(time_of(CgroupRemoved{{6}, {7}}).ns, 6);
}

TEST(ToString, words_are_those_of_labels_and_incident_json) {
  EXPECT_EQ(to_string(WatermarkReason::kLevel), "level");
  EXPECT_EQ(to_string(WatermarkReason::kTimeToLimit), "time_to_limit");
}

}  // namespace
}  // namespace oomw
