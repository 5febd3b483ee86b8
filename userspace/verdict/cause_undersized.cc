// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trends/leak_detector.h"
#include "verdict/causes.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

using namespace threshold;

// The range of the live heap from `seconds` before the kill on, including the last collection before that.
struct LiveRange {
  std::size_t readings = 0;
  double least = 0, most = 0;
};

LiveRange live_since(const Readings& live, double seconds) {
  LiveRange range;
  for (std::size_t i = 0; i < live.size(); ++i) {
    const bool is_last_before = i + 1 == live.size() || live[i + 1].seconds <= seconds;
    if (live[i].seconds > seconds && !is_last_before) continue;
    range.least = range.readings == 0 ? live[i].bytes : std::min(range.least, live[i].bytes);
    range.most = std::max(range.most, live[i].bytes);
    ++range.readings;
  }
  return range;
}

bool is_flat(const LiveRange& range) { return range.readings > 0 && range.most - range.least <= kFlat * range.most; }

// The live heap goes up and down without a trend: batches, requests that come and go.
bool is_in_balance(const Readings& live) {
  return live.size() >= kReadingsOfBalance && live_rise(live).falling_pairs >= kFallsOfBalance;
}

// There is no trend in the second half of the time.
bool is_late_in_balance(const Readings& live) {
  Readings late;
  for (const Reading& reading : live) {
    if (reading.seconds <= live.front().seconds / 2) late.push_back(reading);
  }
  return late.size() >= kReadingsOfPace && live_rise(late).falling_pairs >= kFallsOfBalance;
}

// Over the second half of the time in which the heap was read.
LiveRange late_live(const Evidence& evidence) {
  return evidence.live.empty() ? LiveRange{} : live_since(evidence.live, evidence.live.front().seconds / 2);
}

std::string live_text(const LiveRange& live) {
  return fmt::format("its live Go heap stayed between {} and {}", bytes_text(live.least), bytes_text(live.most));
}

// It was loaded, and has grown at less than half of that pace since its last collection. That growth may be garbage:
// no collection was due yet, or one became due while the memory ran out.
bool is_slower_since_collection(const Evidence& evidence) {
  if (!is_long_uncollected(evidence)) return false;
  const double last = evidence.curve->part_at(evidence.live.back().seconds);
  return evidence.curve->slope_from(last) < kHalfPace * evidence.curve->slope_between(0, last);
}

// For a Go program the live heap shows growth better than the memory, which garbage moves.
std::optional<Finding> flat_and_close(const Evidence& evidence) {
  if (!evidence.curve || !(evidence.limit() > 0)) return std::nullopt;
  const MemoryCurve& curve = *evidence.curve;
  const double seconds = curve.seconds() * kMost, median = curve.median_from(kMost);
  const bool stood_still = curve.slope_from(kMost) * seconds < kMaterial * evidence.limit();
  const bool is_balanced = is_in_balance(evidence.live);
  const bool is_slower = is_slower_since_collection(evidence);
  const bool is_close = median >= kClose * evidence.limit() && (stood_still || is_balanced || is_slower);
  if (!is_close && !(median >= kNear * evidence.limit() && !grows_for_long(evidence))) return std::nullopt;
  const bool is_long = seconds >= kSpikeSeconds && is_close && (stood_still || is_balanced);
  Finding undersized{"undersized", is_long ? kLikely : kEven};
  undersized.why.push_back(fmt::format(
      "for half of the last {:.0f} s or more it used at least {} = {:.0f} % of the limit{}", seconds,
      bytes_text(median), median / evidence.limit() * 100, stood_still ? ", and did not grow by a tenth of it" : ""));
  if (is_slower && !stood_still) {
    undersized.why.push_back(
        fmt::format("no collection was seen in the last {:.0f} s, when it grew at less than half of its pace "
                    "before: that may be garbage",
                    evidence.live.back().seconds));
  }
  const LiveRange live = late_live(evidence);
  const bool is_live_flat = live.readings >= kReadingsOfRise && is_flat(live);
  if (!is_live_flat && !is_balanced) return undersized;
  if (stood_still) undersized.confidence += kStoodStill;
  undersized.why.push_back(is_live_flat ? live_text(live)
                                        : live_text(live_since(evidence.live, evidence.live.front().seconds)) +
                                              " and has no trend");
  return undersized;
}

// A peak close to the limit that was given back, and the lowest value after it.
struct Peak {
  double bytes = 0, back_to = 0;
};

std::optional<Peak> peak_that_came_back(const MemoryCurve& curve, double close, double back) {
  Peak peak;
  for (std::size_t i = 0; i <= MemoryCurve::kSteps; ++i) {
    const double bytes = curve.at(static_cast<double>(i) / MemoryCurve::kSteps);
    if (bytes > peak.bytes) peak = {bytes, bytes};
    peak.back_to = std::min(peak.back_to, bytes);
    if (peak.bytes >= close && peak.bytes - peak.back_to >= back) return peak;
  }
  return std::nullopt;
}

// The memory comes and goes with the work, and at its busiest takes about the limit. With a leak, a collector also
// gives memory back, but not all of it.
std::optional<Finding> busiest_is_close(const Evidence& evidence) {
  if (!evidence.curve || !(evidence.limit() > 0)) return std::nullopt;
  const auto peak = peak_that_came_back(*evidence.curve, kClose * evidence.limit(), kGivenBack * evidence.limit());
  if (!peak) return std::nullopt;
  const LiveRise& rise = evidence.rise;
  const bool is_rising = rise.falling_pairs <= kFallsOfRise && rise.return_share <= LeakParameters{}.max_return_share &&
                         rise.gained >= kMaterial * evidence.limit();
  if (evidence.live.size() >= kReadingsOfRise && is_rising) return std::nullopt;
  return Finding{
      "undersized",
      kEven,
      {fmt::format("it had come to {} = {:.0f} % of the limit before, and back to {}: at its busiest it takes "
                   "about as much as the limit",
                   bytes_text(peak->bytes), peak->bytes / evidence.limit() * 100, bytes_text(peak->back_to))}};
}

// It took less than half of the limit at the end, which is no spike, above a level of at least half that it held for
// three quarters of the time after a start-up. A Go program's live heap shows more.
std::optional<Finding> steady_and_then_more(const Evidence& evidence) {
  if (!evidence.curve || !(evidence.limit() > 0) || is_go(evidence.incident)) return std::nullopt;
  const MemoryCurve& curve = *evidence.curve;
  const double level = curve.median_from(kLoading);
  if (level < kMost * evidence.limit()) return std::nullopt;
  if (curve.stay(kLoading, kMaterial * evidence.limit()) < 1 - kLarge) return std::nullopt;
  return Finding{
      "undersized",
      kDoubtful,
      {fmt::format("for most of the last {:.0f} s it stayed near {} = {:.0f} % of the limit, and what it needed "
                   "at the end was more than the rest",
                   curve.seconds(), bytes_text(level), level / evidence.limit() * 100)}};
}

// No collection examined the memory that filled the limit. It may be garbage, which a GOMEMLIMIT makes Go collect.
std::optional<Finding> long_uncollected(const Evidence& evidence) {
  const Readings& live = evidence.live;
  if (!is_long_uncollected(evidence)) return std::nullopt;
  if (live.front().seconds < kSpikeSeconds) return std::nullopt;
  if (go_pace(evidence.incident).memory_limit_bytes.value_or(HUGE_VAL) < evidence.limit()) return std::nullopt;
  return Finding{
      "undersized",
      kDoubtful,
      {fmt::format("no collection was seen in the last {:.0f} of {:.0f} s ({}): what grew since may be garbage, "
                   "which a GOMEMLIMIT below the limit makes Go collect",
                   live.back().seconds, live.front().seconds, go_pace(evidence.incident).said)}};
}

std::optional<Finding> uncollected(const Evidence& evidence) {
  if (!is_go(evidence.incident) || !never_collects(evidence)) return std::nullopt;
  return Finding{"undersized",
                 kMeasuredApart,
                 {go_pace(evidence.incident).said +
                  ", and no GOMEMLIMIT below the container's limit: Go never collects, so it comes to any limit"}};
}

std::string need_text(const Evidence& evidence, double need) {
  const GoPace pace = go_pace(evidence.incident);
  const std::string live = bytes_text(live_since(evidence.live, evidence.live.front().seconds).most);
  const std::string limit = bytes_text(evidence.limit());
  if (pace.memory_limit_bytes || pace.heap_factor == 0) {
    return fmt::format("{} are live at most, {} with what lies beside it ({}), and the limit is {}", live,
                       bytes_text(need), pace.said, limit);
  }
  return fmt::format(
      "{} are live at most; Go lets its heap grow to {:.3g} times that before it collects ({}): {} with what "
      "lies beside it, and the limit is {}",
      live, pace.heap_factor, pace.said, bytes_text(need), limit);
}

// A heap in balance that has no room to grow to the size at which Go would collect it.
std::optional<Finding> no_room_to_collect(const Evidence& evidence) {
  const auto need = go_need_bytes(evidence);
  const LiveRange live = late_live(evidence);
  if (!need || *need <= evidence.limit() || !(evidence.limit() > 0)) return std::nullopt;
  const bool is_steady = is_flat(live) || is_in_balance(evidence.live);
  const bool has_no_trend = came_at_once(evidence) || is_late_in_balance(evidence.live) || is_not_growing(evidence);
  if (!is_steady && !has_no_trend) return std::nullopt;
  if (evidence.live.front().seconds < kSpikeSeconds / 2) return std::nullopt;
  const bool was_collected = live.readings >= 2;
  Finding undersized{"undersized", was_collected && is_steady ? kTwoSigns : kEven};
  undersized.why.push_back(need_text(evidence, *need));
  undersized.why.push_back(was_collected
                               ? live_text(live)
                               : fmt::format("no collection was seen in the last {:.0f} s, so what grew since may "
                                             "be garbage",
                                             evidence.live.back().seconds));
  if (!go_pace(evidence.incident).memory_limit_bytes) {
    undersized.why.emplace_back("a GOMEMLIMIT below the limit makes Go collect before it is reached");
  }
  return undersized;
}

}  // namespace

std::optional<Finding> judge_undersized(const Evidence& evidence) {
  if (auto off = uncollected(evidence)) return off;
  std::vector<Finding> found;
  for (auto& finding : {flat_and_close(evidence), no_room_to_collect(evidence), busiest_is_close(evidence),
                        long_uncollected(evidence), steady_and_then_more(evidence)}) {
    if (finding) found.push_back(*finding);
  }
  if (found.empty()) return std::nullopt;
  std::ranges::stable_sort(found, std::ranges::greater(), &Finding::confidence);
  Finding best = std::move(found.front());
  for (auto other = found.begin() + 1; other != found.end(); ++other) {
    best.why.insert(best.why.end(), other->why.begin(), other->why.end());
  }
  return best;
}

}  // namespace oomw
