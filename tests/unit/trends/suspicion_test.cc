// SPDX-License-Identifier: Apache-2.0
#include "trends/suspicion.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr double kLeast = 300;

TEST(Suspicion, growth_seen_once_raises_none) {
  Suspicion suspicion;
  suspicion.add(true, 1000, kLeast);
  EXPECT_FALSE(suspicion.is_raised());
}

TEST(Suspicion, growth_seen_for_a_third_of_the_time_raises_one) {
  Suspicion suspicion;
  suspicion.add(true, 1000, kLeast);
  suspicion.add(true, 1480, kLeast);
  EXPECT_FALSE(suspicion.is_raised());
  suspicion.add(true, 1520, kLeast);
  EXPECT_TRUE(suspicion.is_raised());
}

TEST(Suspicion, a_judgement_without_it_ends_it_at_once_and_begins_anew) {
  Suspicion suspicion;
  suspicion.add(true, 1000, kLeast);
  suspicion.add(true, 1600, kLeast);
  ASSERT_TRUE(suspicion.is_raised());
  suspicion.add(false, 1650, kLeast);
  EXPECT_FALSE(suspicion.is_raised());
  suspicion.add(true, 1700, kLeast);
  EXPECT_FALSE(suspicion.is_raised());
}

TEST(Suspicion, the_same_readings_judged_again_are_no_news) {
  Suspicion suspicion;
  for (int i = 0; i < 10; ++i) suspicion.add(true, 1000, kLeast);
  EXPECT_FALSE(suspicion.is_raised());
}

TEST(Suspicion, growth_of_a_short_time_raises_none) {
  Suspicion suspicion;
  suspicion.add(true, 100, kLeast);
  suspicion.add(true, 299, kLeast);
  EXPECT_FALSE(suspicion.is_raised());
  suspicion.add(true, 300, kLeast);
  EXPECT_TRUE(suspicion.is_raised());
}

}  // namespace
}  // namespace oomw
