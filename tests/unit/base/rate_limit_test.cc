// SPDX-License-Identifier: Apache-2.0
#include "base/rate_limit.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr MonotonicTime kBegin{1'000'000'000'000};
constexpr Nanoseconds kEvery = std::chrono::milliseconds(100);

int taken_of(RateLimit& limit, int asked, MonotonicTime now) {
  int taken = 0;
  for (int i = 0; i < asked; ++i) taken += limit.take(now) ? 1 : 0;
  return taken;
}

TEST(RateLimit, a_burst_is_cut_and_what_was_used_comes_back) {
  RateLimit limit(16, kEvery);
  EXPECT_EQ(taken_of(limit, 1'000, kBegin), 16);
  EXPECT_EQ(taken_of(limit, 5, kBegin + kEvery - Nanoseconds(1)), 0);
  EXPECT_EQ(taken_of(limit, 5, kBegin + kEvery), 1);
  EXPECT_EQ(taken_of(limit, 5, kBegin + 3 * kEvery), 2);
}

TEST(RateLimit, rest_saves_up_no_more_than_a_burst) {
  RateLimit limit(16, kEvery);
  EXPECT_EQ(taken_of(limit, 1, kBegin), 1);
  EXPECT_EQ(taken_of(limit, 1'000, kBegin + std::chrono::hours(24)), 16);
}

}  // namespace
}  // namespace oomw
