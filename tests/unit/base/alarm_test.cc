// SPDX-License-Identifier: Apache-2.0
#include "base/alarm.h"

#include <gtest/gtest.h>

#include <set>

#include "unit/base/loop_fixture.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;

class AlarmTest : public test::LoopFixture {
 protected:
  SystemClock clock;
};

TEST_F(AlarmTest, rings_once_however_often_it_was_set) {
  int rings = 0;
  Alarm alarm(*loop, clock, [&] { ++rings; });
  for (const int ms : {30, 20, 10, 25}) alarm.ring_by(clock.now() + milliseconds(ms));
  run_for(milliseconds(60));
  EXPECT_EQ(rings, 1);
}

TEST_F(AlarmTest, time_that_is_past_rings_at_once) {
  Alarm alarm(*loop, clock, [&] { loop->stop(); });
  alarm.ring_by(clock.now() - milliseconds(1));
  loop->run();
}

// As kills come in, each is first due soon and once more much later.
TEST_F(AlarmTest, each_due_time_costs_one_ring) {
  constexpr int kPieces = 50;
  std::multiset<MonotonicTime> due;
  int rings = 0;
  std::optional<Alarm> alarm;
  const auto take = [&] {
    ++rings;
    while (!due.empty() && *due.begin() <= clock.now()) due.erase(due.begin());
    if (due.empty()) return loop->stop();
    alarm->ring_by(*due.begin());
  };
  alarm.emplace(*loop, clock, take);
  for (int i = 0; i < kPieces; ++i) {
    for (const int ms : {100, 2}) {
      due.insert(clock.now() + milliseconds(ms));
      alarm->ring_by(*due.begin());
    }
    run_for(milliseconds(1));
  }
  loop->run();
  EXPECT_LE(rings, 2 * kPieces);
}

TEST_F(AlarmTest, one_that_is_gone_does_not_ring) {
  int rings = 0;
  {
    Alarm alarm(*loop, clock, [&] { ++rings; });
    alarm.ring_by(clock.now());
  }
  run_for(milliseconds(5));
  EXPECT_EQ(rings, 0);
}

}  // namespace
}  // namespace oomw
