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

// All parameters, with reasons. min_recent_slope_ratio was set on the simulated heaps of the test, not on real runs.
struct LeakParameters {
  // Readings that count (a collection published between them). Five in random order rise throughout once in 120 times;
  // four do once in 24, which is no evidence.
  std::size_t min_readings = 5;

  // Fewer than min_readings, or too few for so many sites, make no kLeak, but may make a kLikelyLeak. That only means:
  // chance alone brings such a rise at most this often. 1/6 is three readings, each above the one before; with four it
  // is 1/24. It is for the verdict after a kill, when no more readings will come. It raises no alarm: one healthy site
  // in six would raise one at its third reading.
  double likely_chance = 1.0 / 6;

  // Of consecutive readings, the share in which live bytes grew. Leaked memory is never freed, so without sampling it
  // would be 1; a heap in balance has 1/2. With 2 sampled blocks leaked between two readings, one pair in seven shows
  // no growth, hence not higher.
  double min_growth_share = 0.8;
  // Or of all pairs of readings. Near the limit readings are a second apart: two of a slow leak differ by less than the
  // noise of sampling, and their order is a coin toss; that of readings further apart is not. This lets more healthy
  // sites pass than consecutive readings do, so chance must explain it still less: pair_false_alarm.
  double min_pair_share = 0.9;
  double pair_false_alarm = 0.005;

  // Chance that one judgement of a process calls a healthy site; shared out among the sites whose range is material
  // (Bonferroni's correction). Choosing those by their range does not spoil the test: the range does not depend on the
  // order of the readings.
  double false_alarm = 0.05;

  // See return_share().
  double max_return_share = 0.5;

  // Slope of the last half of the time, and of the last third, relative to the slope before it. A cache that fills with
  // time constant T is at 0.6 after T and at 0.37 after 2 T; a leak stays at 1, with noise of 0.3 where two blocks are
  // sampled per reading. The half has less noise, the third shows growth that stopped lately.
  double min_recent_slope_ratio = 0.5;

  // Memory that moves from one site to another is no leak: a cache that one function warms and another refreshes. The
  // whole heap must grow by at least this share of a site's slope, as far as its own interval can tell (with error
  // whole_error: a leak below the noise of a busy heap is not excluded by it). It is also no leak if the whole seems to
  // grow by less and other sites certainly lose as much, each by its own test.
  double min_whole_share = 0.5;
  double whole_error = 0.01;

  // For lists of what fills a memory (analyses/contents_runtime.h). Their sites overlap: a list with what it holds, and
  // the same objects by type; what one gains says less about what others lost. And many readings come when the memory
  // has grown, so that the order of the whole's figures is no evidence. Therefore the whole alone raises no alarm, and
  // a suspect does only if the whole certainly grows, too, by min_whole_share of its slope.
  bool is_overlapping = false;

  // Growth in standard deviations of the sampling: n sampled blocks stand for n/p +- sqrt(n)/p (p = 1 -
  // exp(-size/rate), as runtime/pprof scales). Counted as if no block were the same at both ends.
  double min_noise_ratio = 4;
  // Less is not worth a person's time and cannot be distinguished from noise: two samples.
  double min_gained_bytes = 1 << 20;

  // It must matter: at this rate it would take this share of the limit (or of the live bytes, without a limit) within
  // this time.
  double min_limit_share = 0.1;
  double horizon_seconds = 24 * 3600;
};

enum class LeakJudgement {
  kLeak,
  kTooFewReadings,
  kNotGrowing,  // grew in too few of the intervals
  kReturns,     // falls back: sawtooth, batch, spike
  kUncertain,   // may be chance
  kSlowing,     // grew, and (nearly) stopped: a cache that is warm
  kImmaterial,  // within the noise of sampling, or of no consequence for the limit
  kLikelyLeak,  // meets every condition of kLeak except enough readings: see likely_chance
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
  // Chance that readings in random order rise at least as steadily as these: one-sided, Kendall's statistic, for this
  // site alone. Expect it `sites_tested` x `chance` times among healthy sites.
  double chance = 1;
  double first_bytes = 0, last_bytes = 0;            // live
  double held_first_bytes = 0, held_last_bytes = 0;  // held: what filled the memory
};

struct LeakReport {
  std::vector<SiteTrend> suspects;  // kLeak, what gained most first
  std::vector<SiteTrend> likely;    // kLikelyLeak, likewise; none while there are suspects
  SiteTrend whole;                  // judged by itself: growth spread over many sites shows only here
  std::size_t readings = 0;         // those that count
  double span_seconds = 0;          // from the first to the last of them
  std::size_t sites_seen = 0, sites_tested = 0;
  double confidence = 0;  // of each site's slope interval
  // A suspect that cannot have gained it from others, or the whole heap. For the metric while the process lives: a kill
  // cannot wait for more readings, an alarm can. Three of 27 healthy runs had a suspect for memory that moved.
  bool is_alarming = false;
  // max_falls() found too few readings for so many sites; more of them will decide.
  bool is_undecided = false;
};

[[nodiscard]] LeakReport find_leaks(const TrendSeries& series, std::optional<std::uint64_t> limit_bytes,
                                    const LeakParameters& parameters = {});
[[nodiscard]] LeakReport find_leaks(const HeapTrend& trend, std::optional<std::uint64_t> limit_bytes,
                                    const LeakParameters& parameters = {});

}  // namespace oomw
