// SPDX-License-Identifier: Apache-2.0
// Every figure that a verdict depends on; verdict.h shows which rule uses which. Four round shares serve most rules,
// because the 252 runs of tests/corpus decide which rules there are but cannot distinguish 0.5 from 0.55. A figure that
// differs from them has its reason here.
#pragma once

#include <cstddef>

namespace oomw::threshold {

// Shares: of a limit, of a gain, of a time, of readings.
inline constexpr double kClose = 0.8;       // of the limit: watermarks trigger captures from here on; else "nearly all"
inline constexpr double kMost = 0.5;        // more than all the rest
inline constexpr double kLarge = 0.25;      // large enough to have caused the kill together with something else
inline constexpr double kMaterial = 0.1;    // as in trends/leak_detector.h; less is noise
inline constexpr double kFull = 0.9;        // of the limit: from here on hot code and files may be reclaimed
inline constexpr double kNear = 0.7;        // of the limit: for a start-up that stays below kClose
inline constexpr double kRetained = 0.3;    // of the limit: free in malloc, and in memory all the same
inline constexpr double kGivenBack = 0.15;  // of the limit: more than a garbage collection of a heap in balance frees
inline constexpr double kFlat = 0.2;  // of a live heap: for 50 MiB sampled every 512 KiB, 0.1 is one standard deviation

// Shares of the time from the first reading to the kill.
inline constexpr double kStartUp = 1.0 / 8;     // of a memory curve; its floor leaves this out
inline constexpr double kLoading = 0.25;        // a service may load for this long, in runs of a minute
inline constexpr double kBaselineCost = 0.2;    // a baseline may leave out this much of a process's life
inline constexpr double kLongAgo = 1.0 / 3;     // a heap that doubles is collected every half of the time
inline constexpr double kTooLongAgo = 2.0 / 3;  // even for a heap that doubles
inline constexpr int kQuarters = 4;             // a leak rises in each of them

// Paces: a share of the earlier pace, or of a gain the part that the median pace explains.
inline constexpr double kHalfPace = 0.5;
inline constexpr double kSteadyGain = 0.6;  // a heap that grew in one or two steps is below it
inline constexpr double kSteadiestGain = 0.8;

// Share of all pairs of readings that fall: half without a trend, none if the heap only grows.
inline constexpr double kFallsOfRise = 0.2;
inline constexpr double kFallsOfBalance = 0.3;
inline constexpr double kSmallChance = 0.05;  // of a rise by pure chance, after Kendall

// The fewest readings that a rule needs.
inline constexpr std::size_t kReadingsOfRise = 3;  // in rising order by chance: 1 in 6
inline constexpr std::size_t kReadingsOfPace = 4;
inline constexpr std::size_t kReadingsOfBalance = 5;
inline constexpr std::size_t kReadingsOfStart = 6;  // one of them may be left out as part of the start
inline constexpr double kFreshReading = 30;         // seconds before the kill; older free memory may be in use again
inline constexpr std::size_t kReadingsOfCurve = 8;  // more than the six watermarks that a climb of milliseconds leaves

// Seconds.
inline constexpr double kSpikeSeconds = 10;       // growth that fills the limit faster has no usable shape
inline constexpr double kBeforeSpikeSeconds = 3;  // enough to measure the pace before it

// Confidence. A rule that suffices by itself has 0.6 to 0.9, by how often it was right in the corpus.
inline constexpr double kFromKernel = 0.9;     // the kernel reported whose limit it was
inline constexpr double kMeasured = 0.8;       // two exact figures
inline constexpr double kMeasuredApart = 0.7;  // two figures from different moments
inline constexpr double kLikely = 0.6;
inline constexpr double kEven = 0.5;
inline constexpr double kDoubtful = 0.45;
inline constexpr double kNoVerdict = 0.4;    // below this, evidence is only mentioned beside another cause
inline constexpr double kBeside = 0.35;      // too low to be the verdict
inline constexpr double kSiteOfMost = 0.85;  // the detector's call sites explain most of what grew
inline constexpr double kRareRise = 0.75;    // below a sudden spike's 0.8
inline constexpr double kTwoSigns = 0.65;
inline constexpr double kBesideHeap = 0.55;
inline constexpr double kStoodStill = 0.1;  // added where neither the memory nor the live heap grew

// The limit to suggest: the same peak then lies at 83 %, below the watermark of 85 %.
inline constexpr double kHeadroom = 1.2;
inline constexpr double kLimitStepBytes = 16 << 20;  // manifests do not use smaller steps

}  // namespace oomw::threshold
