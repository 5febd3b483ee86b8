// SPDX-License-Identifier: Apache-2.0
#include "trends/leak_detector.h"

#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "unit/trends/heap_story.h"

namespace oomw {
namespace {

using test::at_second;
using test::HeapStory;
using test::kMiB;

constexpr double kMib = static_cast<double>(kMiB);
constexpr std::uint64_t kLimit = 4096 * kMiB;

// One reading each 10 s, a collection before each; `step` says what happened until then.
class Process {
 public:
  explicit Process(std::uint32_t seed = 1) : story(seed) {}

  void run(int readings, const std::function<void(int)>& step) {
    for (int i = 0; i < readings; ++i, ++taken_) {
      step(taken_);
      story.collect();
      read();
    }
  }
  void read() {
    trend.add(story.read(), {at_second(20 + seconds_), ReadingOrigin::kScheduled, false});
    seconds_ += 10;
  }
  [[nodiscard]] LeakReport report() const { return find_leaks(trend, kLimit); }

  HeapStory story;
  HeapTrend trend;

 private:
  int taken_ = 0;
  double seconds_ = 0;
};

TEST(LeakDetector, a_leak_alone_is_found_with_its_slope) {
  Process process;
  process.run(10, [&](int) { process.story.add(1, 8 * kMib); });
  const LeakReport report = process.report();
  ASSERT_EQ(report.suspects.size(), 1u);
  const SiteTrend& leak = report.suspects[0];
  EXPECT_TRUE(test::is_site(process.trend, leak.site, 1));
  EXPECT_GE(leak.growth_share, 0.8);
  EXPECT_LE(leak.slope_low, 0.8 * kMib);
  EXPECT_GE(leak.slope_high, 0.8 * kMib);
  EXPECT_NEAR(leak.gained_bytes, 72 * kMib, 3 * leak.noise_bytes);
  EXPECT_EQ(report.whole.judgement, LeakJudgement::kLeak);
}

TEST(LeakDetector, two_readings_are_too_few_and_it_says_so) {
  Process process;
  process.run(2, [&](int) { process.story.add(1, 64 * kMib); });
  const LeakReport report = process.report();
  EXPECT_TRUE(report.suspects.empty() && report.likely.empty());
  EXPECT_EQ(report.whole.judgement, LeakJudgement::kTooFewReadings);
  EXPECT_DOUBLE_EQ(report.whole.chance, 1.0 / 2);
  EXPECT_EQ(report.readings, 2u);
}

TEST(LeakDetector, three_or_four_readings_that_rise_are_likely_with_the_chance_said) {
  for (const auto& [readings, chance] : {std::pair{3, 1.0 / 6}, {4, 1.0 / 24}}) {
    Process process;
    process.run(readings, [&](int) { process.story.add(1, 64 * kMib); });
    const LeakReport report = process.report();
    EXPECT_TRUE(report.suspects.empty()) << readings;
    ASSERT_EQ(report.likely.size(), 1u) << readings;
    EXPECT_EQ(report.likely[0].judgement, LeakJudgement::kLikelyLeak);
    EXPECT_DOUBLE_EQ(report.likely[0].chance, chance);
    EXPECT_EQ(report.whole.judgement, LeakJudgement::kLikelyLeak);
    EXPECT_DOUBLE_EQ(report.whole.chance, chance);
  }
}

TEST(LeakDetector, four_readings_of_which_one_falls_are_not_even_likely) {
  Process process;
  process.run(4, [&](int i) {
    process.story.hold(1, std::array{100, 200, 150, 300}[static_cast<unsigned>(i)] * kMib);
  });
  const LeakReport report = process.report();
  EXPECT_TRUE(report.likely.empty());
  EXPECT_EQ(report.whole.judgement, LeakJudgement::kTooFewReadings);
}

TEST(LeakDetector, a_rise_within_the_noise_of_sampling_is_not_likely) {
  Process process;
  process.run(4, [&](int i) { process.story.hold(1, (100 + i) * kMib); });
  EXPECT_TRUE(process.report().likely.empty());
  EXPECT_NE(process.report().whole.judgement, LeakJudgement::kLikelyLeak);
}

// 5 readings rise by chance once in 120 times, which among 30 sites is one time in four.
TEST(LeakDetector, too_few_readings_for_so_many_sites_leave_the_leak_likely) {
  Process process;
  std::uniform_real_distribution<double> load(0.5, 1.5);
  process.run(5, [&](int) {
    process.story.add(100, 64 * kMib);
    for (std::uint32_t site = 0; site < 30; ++site) process.story.hold(site, 60 * kMib * load(process.story.random()));
  });
  const LeakReport report = process.report();
  EXPECT_TRUE(report.is_undecided);
  EXPECT_TRUE(report.suspects.empty());
  ASSERT_FALSE(report.likely.empty());
  EXPECT_TRUE(test::is_site(process.trend, report.likely[0].site, 100));
  EXPECT_DOUBLE_EQ(report.likely[0].chance, 1.0 / 120);
}

TEST(LeakDetector, a_suspect_leaves_nothing_merely_likely) {
  Process process;
  process.run(12, [&](int) { process.story.add(1, 64 * kMib); });
  EXPECT_EQ(process.report().suspects.size(), 1u);
  EXPECT_TRUE(process.report().likely.empty());
}

// What likely_chance promises: a busy heap that does not grow is called by its fourth reading once in 24 times,
// and less, because the rise must be material, too.
TEST(LeakDetector, a_healthy_heap_is_likely_leaking_no_more_often_than_the_chance_says) {
  constexpr int kRuns = 2000;
  int called = 0;
  for (std::uint32_t seed = 1; seed <= kRuns; ++seed) {
    Process process(seed);
    std::uniform_real_distribution<double> load(0.5, 1.5);
    process.run(4, [&](int) { process.story.hold(1, 400 * kMib * load(process.story.random()), 64 << 10); });
    called += process.report().whole.judgement == LeakJudgement::kLikelyLeak;
  }
  std::printf("healthy at four readings: %d of %d called likely\n", called, kRuns);
  EXPECT_GT(called, 0);
  EXPECT_LE(called, kRuns / 24 * 13 / 10);
}

TEST(LeakDetector, readings_without_a_collection_between_them_are_one) {
  Process process;
  process.run(4, [&](int) { process.story.add(1, 64 * kMib); });
  for (int i = 0; i < 8; ++i) process.read();
  EXPECT_EQ(process.report().readings, 4u);
  EXPECT_TRUE(process.report().suspects.empty());
}

TEST(LeakDetector, a_heap_that_a_lazy_collector_lets_fill_is_no_leak) {
  Process process;
  process.run(12, [&](int i) {
    process.story.hold(1, 200 * kMib);
    process.story.garbage(1, 40 * kMib * (i % 6));
  });
  EXPECT_TRUE(process.report().suspects.empty());
  EXPECT_NE(process.report().whole.judgement, LeakJudgement::kLeak);
}

TEST(LeakDetector, a_batch_that_comes_back_is_no_leak_even_on_its_next_rise) {
  Process process;
  for (int i = 0; i < 30; ++i) {
    process.run(1, [&](int at) { process.story.hold(1, (20 + 60 * (at % 8)) * kMib); });
    if (i < 8) continue;
    EXPECT_TRUE(process.report().suspects.empty()) << "after reading " << i;
  }
}

TEST(LeakDetector, a_cache_that_got_warm_is_no_leak) {
  Process process;
  process.run(16, [&](int i) { process.story.hold(1, 512 * kMib * (1 - std::exp(-i / 4.0))); });
  EXPECT_TRUE(process.report().suspects.empty());
  EXPECT_NE(process.report().whole.judgement, LeakJudgement::kLeak);
}

TEST(LeakDetector, growth_that_stopped_at_a_cap_is_no_leak) {
  Process process;
  process.run(16, [&](int i) {
    if (i < 10) process.story.add(1, 32 * kMib);
  });
  EXPECT_TRUE(process.report().suspects.empty());
}

TEST(LeakDetector, one_spike_that_is_freed_is_no_leak) {
  Process process;
  process.run(12, [&](int i) { process.story.hold(1, (i == 6 ? 800 : 50) * kMib); });
  EXPECT_TRUE(process.report().suspects.empty());
  EXPECT_NE(process.report().whole.judgement, LeakJudgement::kLeak);
}

TEST(LeakDetector, a_leak_that_would_take_a_month_to_matter_is_left_alone) {
  Process process;
  process.run(12, [&](int) { process.story.add(1, 100.0 * 1024, 64 << 10); });  // 1.1 MiB: 0.8 GiB a day
  EXPECT_TRUE(find_leaks(process.trend, 64 * kLimit).suspects.empty());
}

// One function warms a cache, another refreshes it entry by entry: its site grows for as long as that takes.
TEST(LeakDetector, memory_that_moves_from_one_site_to_another_is_no_leak) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Process process(seed);
    process.run(12, [&](int i) {
      process.story.hold(1, (300 - 20 * i) * kMib, 64 << 10);
      if (i > 0) process.story.add(2, 20 * kMib, 64 << 10);
    });
    EXPECT_TRUE(process.report().suspects.empty()) << seed;
    EXPECT_TRUE(process.report().likely.empty()) << seed;
  }
}

// Of five readings the whole heap's range says nothing; what the other site lost does.
TEST(LeakDetector, memory_that_moved_within_five_readings_is_no_leak) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Process process(seed);
    process.run(5, [&](int i) {
      process.story.hold(1, (300 - 50 * i) * kMib, 64 << 10);
      if (i > 0) process.story.add(2, 50 * kMib, 64 << 10);
    });
    EXPECT_TRUE(process.report().suspects.empty()) << seed;
  }
}

TEST(LeakDetector, a_leak_beside_a_site_that_shrinks_by_less_is_still_a_leak) {
  Process process;
  process.run(5, [&](int i) {
    process.story.hold(1, (300 - 15 * i) * kMib, 64 << 10);
    process.story.add(2, 50 * kMib, 64 << 10);
  });
  EXPECT_EQ(process.report().suspects.size(), 1u);
}

// A working set whose entries replace each other, beside a buffer that fills and empties: by chance that makes the
// whole seem to grow, too.
TEST(LeakDetector, memory_that_moved_beside_a_sawtooth_is_no_alarm) {
  int called = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Process process(seed);
    std::uniform_real_distribution<double> phase(0, 1);
    process.run(8, [&](int i) {
      const double left = std::exp(-i / 4.0);
      process.story.hold(1, 15 * kMib * left, 16 << 10);
      process.story.hold(2, 15 * kMib * (1 - left), 16 << 10);
      process.story.hold(3, (5 + 25 * phase(process.story.random())) * kMib, 64 << 10);
    });
    called += process.report().is_alarming;
  }
  std::printf("moved beside a sawtooth: called in %d of 100\n", called);
  EXPECT_LE(called, 2);  // 4 where only what the whole seems to do counted
}

// What the working set loses went to another site of its own.
TEST(LeakDetector, a_leak_beside_a_working_set_that_moves_is_still_an_alarm) {
  int called = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    Process process(seed);
    process.run(8, [&](int i) {
      const double left = std::exp(-i / 4.0);
      process.story.hold(1, 15 * kMib * left, 16 << 10);
      process.story.hold(2, 15 * kMib * (1 - left), 16 << 10);
      process.story.add(3, 4 * kMib, 16 << 10);
    });
    called += process.report().is_alarming;
  }
  std::printf("leak beside what moves: called in %d of 100\n", called);
  EXPECT_GE(called, 90);
}

TEST(LeakDetector, a_site_that_grows_while_others_only_fluctuate_is_still_a_leak) {
  Process process;
  std::uniform_real_distribution<double> load(0.5, 1.5);
  process.run(12, [&](int) {
    process.story.hold(1, 60 * kMib * load(process.story.random()), 64 << 10);
    process.story.add(2, 20 * kMib, 64 << 10);
  });
  ASSERT_EQ(process.report().suspects.size(), 1u);
  EXPECT_TRUE(test::is_site(process.trend, process.report().suspects[0].site, 2));
}

// As read near a limit: live MiB at 12 collections, the last of them a second or two apart.
TEST(LeakDetector, a_slow_leak_read_densely_at_its_end_is_found_by_pairs_further_apart) {
  TrendSeries series;
  series.seconds = {0, 5, 11, 17, 22, 29, 34, 36, 38, 39, 41, 42};
  SiteSeries site;
  site.site = 0;
  for (const double mib : {3.0, 8.0, 15.0, 20.0, 23.0, 29.0, 33.0, 32.0, 32.5, 31.5, 34.0, 33.9})
    site.live_bytes.push_back(mib * kMib);
  site.variance.assign(site.live_bytes.size(), 4 * kMib * kMib);
  series.sites = {site};
  series.whole = site;
  series.whole.site = SiteTable::kNone;
  const LeakReport report = find_leaks(series, 112 * kMiB);
  EXPECT_LT(report.whole.growth_share, 0.8);
  EXPECT_GT(report.whole.pair_share, 0.9);
  EXPECT_NE(report.whole.judgement, LeakJudgement::kNotGrowing);
}

TEST(LeakDetector, growth_spread_over_many_sites_shows_in_the_whole_heap) {
  Process process;
  process.run(12, [&](int) {
    for (std::uint32_t site = 0; site < 200; ++site) process.story.add(site, 0.2 * kMib);
  });
  const LeakReport report = process.report();
  EXPECT_TRUE(report.suspects.empty());
  EXPECT_EQ(report.whole.judgement, LeakJudgement::kLeak);
}

// The bar: one leaking site among 500 healthy ones, each of which allocates 100 times more and holds
// more than the leak ever gains, is found within 10 readings; none of the 500 is called.
TEST(LeakDetector, a_leak_hidden_among_500_busy_sites_is_found_within_10_readings) {
  constexpr int kRuns = 50;
  int found = 0, wrong = 0;
  for (std::uint32_t seed = 1; seed <= kRuns; ++seed) {
    Process process(seed);
    std::uniform_real_distribution<double> load(0.5, 1.5);
    process.run(10, [&](int) {
      process.story.add(500, 3 * kMib);
      // 300 MiB allocated since the last reading, of which a tenth is still live.
      for (std::uint32_t site = 0; site < 500; ++site)
        process.story.hold(site, 30 * kMib * load(process.story.random()));
    });
    for (const SiteTrend& suspect : process.report().suspects) {
      const bool is_leak = test::is_site(process.trend, suspect.site, 500);
      found += is_leak;
      wrong += !is_leak;
    }
  }
  std::printf("hidden leak: found in %d of %d, %d healthy sites called\n", found, kRuns, wrong);
  EXPECT_GE(found, kRuns * 9 / 10);
  EXPECT_EQ(wrong, 0);
}

// What a healthy site holds at a reading. Each kind of those that the bar names.
double healthy_bytes(std::uint32_t kind, int reading, double phase, double noise) {
  const double t = reading + phase * 10;
  switch (kind % 6) {
    case 0:
      return 40 * kMib * noise;  // a busy server
    case 1:
      return (10 + 10 * (static_cast<int>(t + 3) % 7)) * kMib * noise;  // a batch
    case 2:
      return 100 * kMib * (1 - std::exp(-t / 3)) * (0.95 + 0.1 * noise);  // a cache, warm by the end
    case 3:
      return (static_cast<int>(t) % 17 == 5 ? 300 : 20) * kMib * noise;  // spikes
    case 4:
      return (60 + 30 * std::sin(t / 4)) * kMib * noise;  // a tide
    default:
      return 2 * kMib * noise;  // below what sampling shows
  }
}

// Healthy processes of 60 sites over 40 readings, looked at after every third: how many are ever called. Only
// after the caches are warm: no statistics tell a cache that fills from a leak while it fills.
TEST(LeakDetector, a_thousand_healthy_processes_raise_few_false_alarms) {
#ifdef OOMW_SANITIZED  // 75 s of statistics there, in which the first fifty runs see all memory that the others see
  constexpr int kRuns = 50;
#else
  constexpr int kRuns = 1000;
#endif
  constexpr int kReadings = 40, kWarm = 12;
  int alarms = 0, looks = 0, called_looks = 0;
  for (std::uint32_t seed = 1; seed <= kRuns; ++seed) {
    Process process(seed);
    std::uniform_real_distribution<double> noise(0.7, 1.3), phase(0, 1);
    std::vector<double> phases(60);
    for (double& p : phases) p = phase(process.story.random());
    bool is_called = false;
    for (int i = 0; i < kReadings; ++i) {
      process.run(1, [&](int at) {
        for (std::uint32_t site = 0; site < 60; ++site) {
          process.story.hold(site, healthy_bytes(site, at, phases[site], noise(process.story.random())));
        }
      });
      if (i < kWarm || i % 3 != 0) continue;
      ++looks;
      const bool is_called_now = process.report().is_alarming;
      called_looks += is_called_now;
      is_called |= is_called_now;
    }
    alarms += is_called;
  }
  std::printf("healthy: %d of %d processes ever called, %d of %d looks\n", alarms, kRuns, called_looks, looks);
  EXPECT_LE(alarms, kRuns * 2 / 100);
}

}  // namespace
}  // namespace oomw
