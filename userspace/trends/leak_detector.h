// SPDX-License-Identifier: Apache-2.0
// Which call sites of a process hold more and more. Pure statistics over TrendSeries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trends/trend_series.h"

namespace oomw {

// All of it, with why. min_recent_slope_ratio was set on the simulated heaps of the test; no real run was looked at.
struct LeakParameters {
  // Readings that count (a collection published between them). Of five in random order every
  // 120th rises throughout; of four every 24th, which is no evidence.
  std::size_t min_readings = 5;

  // Fewer than min_readings, or too few for so many sites, make no kLeak; they may make a kLikelyLeak, which
  // says no more than: chance alone brings such a rise at most this often. 1/6 is three readings, each above
  // the one before; with four of them it is 1/24. For who asks after a kill, when no more readings will come:
  // nothing here is an alarm, one healthy site in six would raise it at its third reading.
  double likely_chance = 1.0 / 6;

  // Of consecutive readings, the share in which live bytes grew. What leaks is never freed, so without sampling it
  // would be 1; a heap in balance has 1/2. With 2 sampled blocks leaked between two readings, one pair in seven shows
  // none, hence not higher.
  double min_growth_share = 0.8;
  // Or of all pairs of readings: a second apart, as they are near the limit, two readings of a slow leak differ by less
  // than the noise of sampling, and their order is a coin toss; of those further apart it is not. That lets more
  // healthy sites pass than consecutive readings do, so chance must explain it still less: false_alarm for these.
  double min_pair_share = 0.9;
  double pair_false_alarm = 0.005;

  // Of calling one healthy site of a process with this look at it: shared out among the sites whose
  // range is material (Bonferroni's correction). Choosing those by their range does not spoil the
  // test: a range is the same in whatever order the readings come.
  double false_alarm = 0.05;

  // See return_share().
  double max_return_share = 0.5;

  // Slope of the last half of the time, and of the last third, against the slope before it. A cache
  // that fills with time constant T is at 0.6 after T and at 0.37 after 2 T; a leak stays at 1, with
  // noise of 0.3 where two blocks are sampled a reading. The half has less noise, the third sees a
  // growth that stopped lately.
  double min_recent_slope_ratio = 0.5;

  // Memory that moves from one site to another is no leak: a cache that one function warms and another refreshes. The
  // whole heap must grow at this share of a site's slope at least, as far as its own interval can tell (with this
  // chance of an error: a leak hidden below the noise of a busy heap is not excluded by it). Nor is
  // it one where the whole seems to grow by less and other sites lose as much for certain, each by its own test.
  double min_whole_share = 0.5;
  double whole_error = 0.01;

  // Growth in standard deviations of the sampling: n sampled blocks stand for n/p +- sqrt(n)/p (p =
  // 1 - exp(-size/rate), as runtime/pprof scales). Counted as if nothing were the same blocks.
  double min_noise_ratio = 4;
  // Below it nothing is worth a human's time, nor would it be told from noise: two samples.
  double min_gained_bytes = 1 << 20;

  // It must matter: going on like this it would take this share of the limit (or of what is live, if
  // there is none) within this time.
  double min_limit_share = 0.1;
  double horizon_seconds = 24 * 3600;
};

enum class LeakJudgement {
  kLeak,
  kTooFewReadings,
  kNotGrowing,  // grew in too few of the intervals
  kReturns,     // falls back: sawtooth, batch, spike
  kUncertain,   // chance may have done it
  kSlowing,     // grew, and (nearly) stopped: a cache that is warm
  kImmaterial,  // within the noise of sampling, or of no consequence for the limit
  kLikelyLeak,  // all that kLeak asks for but enough readings: see likely_chance
  kMoved,       // the site gained what others lost: the whole heap does not grow like that
};
[[nodiscard]] std::string_view to_string(LeakJudgement judgement);

struct SiteTrend {
  std::uint32_t site = SiteTable::kNone;  // kNone: the whole heap
  LeakJudgement judgement = LeakJudgement::kTooFewReadings;
  std::size_t readings = 0;
  double growth_share = 0, pair_share = 0;
  double slope = 0, slope_low = 0, slope_high = 0;  // bytes per second; low and high at `confidence`
  double gained_bytes = 0;                          // slope x time
  double noise_bytes = 0;                           // standard deviation of the gain from sampling
  double return_share = 0;
  // That readings in random order rise as steadily as these did, or more so: one-sided, Kendall's statistic,
  // for this site alone. Among `sites_tested` healthy ones so many times this may be expected.
  double chance = 1;
  double first_bytes = 0, last_bytes = 0;            // live
  double held_first_bytes = 0, held_last_bytes = 0;  // held: what filled the memory
};

struct LeakReport {
  std::vector<SiteTrend> suspects;  // kLeak, what gained most first
  std::vector<SiteTrend> likely;    // kLikelyLeak, likewise; none while there are suspects
  SiteTrend whole;                  // judged by itself: growth spread over many sites shows here alone
  std::size_t readings = 0;         // that count
  double span_seconds = 0;          // from the first to the last of them
  std::size_t sites_seen = 0, sites_tested = 0;
  double confidence = 0;  // of each site's slope interval
  // A suspect that cannot have gained it from others, or the whole heap: for who asks while the process lives. A kill
  // has no time to wait for more readings; an alarm has, and three of 27 healthy runs had one for memory that moved.
  bool is_alarming = false;
  // Of max_falls(): too few readings for so many sites; more of them will tell.
  bool is_undecided = false;
};

[[nodiscard]] LeakReport find_leaks(const TrendSeries& series, std::optional<std::uint64_t> limit_bytes,
                                    const LeakParameters& parameters = {});
[[nodiscard]] LeakReport find_leaks(const HeapTrend& trend, std::optional<std::uint64_t> limit_bytes,
                                    const LeakParameters& parameters = {});

}  // namespace oomw
