// SPDX-License-Identifier: Apache-2.0
#include "base/clock_steadiness.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const WallTime kStart{1'795'230'245'000'000'000};  // 2026-11-21T03:04:05Z

WallTime after(Nanoseconds time) { return {kStart.ns + time.count()}; }

ClockReading reading(Nanoseconds wall, Nanoseconds since_boot, const std::string& boot = "b-1") {
  return {after(wall), since_boot, boot};
}

TEST(ClockSteadinessTest, believed_while_both_clocks_advance_alike) {
  ClockSteadiness clock;
  EXPECT_TRUE(clock.observe(reading(seconds(0), hours(1)), std::nullopt));
  EXPECT_TRUE(clock.observe(reading(hours(1), hours(2)), std::nullopt));
  EXPECT_TRUE(clock.observe(reading(hours(1) + seconds(59), hours(2)), std::nullopt)) << "a step of NTP";
  EXPECT_TRUE(clock.observe(reading(hours(24 * 40), hours(24 * 40 + 1)), std::nullopt)) << "a long quiet time";
}

TEST(ClockSteadinessTest, a_jump_is_doubted_until_a_day_of_steadiness) {
  ClockSteadiness clock;
  (void)clock.observe(reading(seconds(0), hours(1)), std::nullopt);
  EXPECT_FALSE(clock.observe(reading(hours(24 * 40), hours(1)), std::nullopt));
  EXPECT_EQ(clock.new_jump(), Nanoseconds(hours(24 * 40)));
  EXPECT_FALSE(clock.observe(reading(hours(24 * 40 + 23), hours(24)), std::nullopt));
  EXPECT_FALSE(clock.new_jump().has_value()) << "reported once";
  EXPECT_TRUE(clock.observe(reading(hours(24 * 40 + 24), hours(25)), std::nullopt));
}

TEST(ClockSteadinessTest, the_way_back_is_a_jump_as_well) {
  ClockSteadiness clock;
  (void)clock.observe(reading(hours(24 * 40), hours(1)), std::nullopt);
  EXPECT_FALSE(clock.observe(reading(seconds(0), hours(1)), std::nullopt));
  EXPECT_TRUE(clock.new_jump().has_value());
}

TEST(ClockSteadinessTest, a_restart_of_the_daemon_changes_nothing) {
  ClockSteadiness before;
  (void)before.observe(reading(seconds(0), hours(1)), std::nullopt);
  ClockSteadiness jumped_while_down(before.state());
  EXPECT_FALSE(jumped_while_down.observe(reading(hours(24 * 40), hours(2)), std::nullopt));
  ClockSteadiness in_doubt(jumped_while_down.state());
  EXPECT_FALSE(in_doubt.observe(reading(hours(24 * 40 + 1), hours(3)), std::nullopt));
  ClockSteadiness steady(before.state());
  EXPECT_TRUE(steady.observe(reading(hours(24 * 10), hours(24 * 10 + 1)), std::nullopt))
      << "ten days down, both clocks agree";
}

TEST(ClockSteadinessTest, after_a_reboot_a_clock_that_is_far_from_the_last_one_is_doubted) {
  ClockSteadiness before;
  (void)before.observe(reading(seconds(0), hours(1)), std::nullopt);
  const auto after_reboot = [&](Nanoseconds wall) {
    return ClockSteadiness(before.state()).observe(reading(wall, seconds(30), "b-2"), std::nullopt);
  };
  EXPECT_TRUE(after_reboot(hours(1)));
  EXPECT_FALSE(after_reboot(hours(24 * 40)));
  EXPECT_FALSE(after_reboot(-hours(24 * 400))) << "the battery is empty; NTP will set it forward";
}

TEST(ClockSteadinessTest, a_reboot_does_not_end_a_doubt) {
  ClockSteadiness before;
  (void)before.observe(reading(seconds(0), hours(1)), std::nullopt);
  (void)before.observe(reading(hours(24 * 40), hours(1)), std::nullopt);
  ClockSteadiness rebooted(before.state());
  EXPECT_FALSE(rebooted.observe(reading(hours(24 * 40 + 1), seconds(30), "b-2"), std::nullopt));
  EXPECT_TRUE(rebooted.observe(reading(hours(24 * 41 + 1), hours(24) + seconds(30), "b-2"), std::nullopt));
}

TEST(ClockSteadinessTest, with_nothing_known_the_newest_file_decides) {
  const auto first = [](Nanoseconds newest) {
    return ClockSteadiness().observe(reading(seconds(0), hours(1)), after(newest));
  };
  EXPECT_TRUE(first(-hours(23)));
  EXPECT_FALSE(first(-hours(24 * 40)));
  EXPECT_FALSE(first(hours(1))) << "a file from the future";
}

}  // namespace
}  // namespace oomw
