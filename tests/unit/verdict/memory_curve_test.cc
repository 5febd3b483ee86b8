// SPDX-License-Identifier: Apache-2.0
#include "verdict/memory_curve.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/builders.h"
#include "support/mib.h"

namespace oomw {
namespace {

using test::before_kill;
using test::kMiB;
using test::sample_incident;

constexpr double kWhole = 256;  // MiB, at the kill

// Read each half second; shape(part of the time) in MiB.
Incident with_curve(double seconds, const std::function<double(double)>& shape) {
  Incident incident = test::sample_incident();
  incident.usage_bytes = static_cast<std::uint64_t>(kWhole * kMiB);
  test::draw(incident, seconds, 0.5, [&](double t) { return shape(t / seconds); });
  return incident;
}

MemoryCurve curve_of(double seconds, const std::function<double(double)>& shape) {
  auto curve = MemoryCurve::of(with_curve(seconds, shape));
  EXPECT_TRUE(curve);
  return curve.value_or(MemoryCurve());
}

TEST(MemoryCurve, short_life_or_few_readings_have_no_shape) {
  const auto line = [](double t) { return kWhole * t; };
  EXPECT_TRUE(MemoryCurve::of(with_curve(11, line)));
  EXPECT_FALSE(MemoryCurve::of(with_curve(9, line)));
  Incident few = with_curve(60, line);
  few.series.resize(6);
  EXPECT_FALSE(MemoryCurve::of(few));
  few.series.clear();
  few.usage_bytes.reset();
  EXPECT_FALSE(MemoryCurve::of(few));
}

TEST(MemoryCurve, line_has_one_slope_and_stays_nowhere) {
  const MemoryCurve curve = curve_of(64, [](double t) { return kWhole * t; });
  EXPECT_NEAR(curve.slope_between(0, 0.5) / kMiB, 4, 0.1);
  EXPECT_NEAR(curve.slope_from(0.5) / kMiB, 4, 0.1);
  EXPECT_NEAR(curve.stay(0, 0.1 * kWhole * kMiB), 0.12, 0.03);
  EXPECT_NEAR(curve.at(0.5) / kMiB, kWhole / 2, 1);
}

TEST(MemoryCurve, step_stays_at_the_level_it_held_longest) {
  const MemoryCurve curve = curve_of(64, [](double t) { return t < 0.7 ? 100 : 250; });
  EXPECT_NEAR(curve.stay(0, kMiB), 0.7, 0.04);
  EXPECT_NEAR(curve.stay(0.5, kMiB * 10), 0.6, 0.05);
  EXPECT_EQ(curve.stay(0, kMiB * 256), 1);
}

TEST(MemoryCurve, floor_is_what_was_never_given_back) {
  const MemoryCurve curve = curve_of(64, [](double t) { return t < 0.25 ? 200 : t < 0.5 ? 50 : 120; });
  EXPECT_NEAR(curve.floor_from(0) / kMiB, 50, 1);
  EXPECT_NEAR(curve.floor_from(0.6) / kMiB, 120, 1);
}

TEST(MemoryCurve, time_before_the_kill_is_a_part_of_it) {
  const MemoryCurve curve = curve_of(40, [](double) { return 100; });
  EXPECT_NEAR(curve.part_at(40), 0, 0.01);
  EXPECT_NEAR(curve.part_at(10), 0.75, 0.01);
  EXPECT_EQ(curve.part_at(0), 1);
  EXPECT_EQ(curve.part_at(1000), 0);
  EXPECT_EQ(curve.part_at(-5), 1);
}

}  // namespace
}  // namespace oomw
