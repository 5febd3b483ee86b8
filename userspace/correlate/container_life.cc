// SPDX-License-Identifier: Apache-2.0
#include "correlate/container_life.h"

#include <algorithm>
#include <utility>

namespace oomw {

namespace {

// Pod and container cross a level within milliseconds of each other.
constexpr Nanoseconds kSameMoment = std::chrono::seconds(1);
constexpr std::size_t kLeastPoints = 2;

bool is_in_life(MonotonicTime time, const KillEvidence& evidence) {
  return !evidence.container_created || time >= *evidence.container_created;
}

// True for a crossing of an ancestor's limit by a container that still existed at the kill.
bool is_of_survivor(const WatermarkCrossed& mark, const KillEvidence& evidence, const MemoryModel& model) {
  const CgroupState* leaf = model.find_cgroup(mark.leaf_cgroup);
  if (leaf == nullptr || mark.leaf_cgroup == mark.cgroup) return false;
  return !leaf->removed_at || *leaf->removed_at > evidence.first;
}

bool is_same_crossing(const WatermarkCrossed& a, const WatermarkCrossed& b) {
  const Nanoseconds apart = a.time < b.time ? b.time - a.time : a.time - b.time;
  return a.reason == b.reason && a.level_percent == b.level_percent && apart <= kSameMoment;
}

void add_crossings(CgroupId cgroup, const KillEvidence& evidence, const MemoryModel& model,
                   std::vector<WatermarkCrossed>& crossings) {
  const CgroupState* state = model.find_cgroup(cgroup);
  if (state == nullptr) return;
  const std::vector<WatermarkCrossed> before = crossings;
  for (const WatermarkCrossed& mark : state->watermarks) {
    const bool is_ours = is_in_life(mark.time, evidence) || is_of_survivor(mark, evidence, model);
    const auto is_known = [&](const WatermarkCrossed& known) { return is_same_crossing(known, mark); };
    if (mark.time > evidence.first || !is_ours || std::ranges::any_of(before, is_known)) continue;
    crossings.push_back(mark);
  }
}

// Adds the usage at the kill, as the model does for a container whose own limit was hit.
void add_kill(const KillEvidence& evidence, std::vector<SeriesPoint>& points) {
  const auto usage = evidence.chosen().owner_usage_bytes;
  if (!usage) return;
  const auto after = std::ranges::find_if(points, [&](const SeriesPoint& p) { return p.time >= evidence.first; });
  points.insert(after, {evidence.first, *usage, std::nullopt});
}

std::vector<SeriesPoint> points_of(CgroupId cgroup, const KillEvidence& evidence, const MemoryModel& model,
                                   MonotonicTime end) {
  const CgroupState* state = model.find_cgroup(cgroup);
  if (state == nullptr) return {};
  std::vector<SeriesPoint> points = state->series.points();
  std::erase_if(points, [&](const SeriesPoint& p) { return p.time > end || !is_in_life(p.time, evidence); });
  return points;
}

}  // namespace

std::vector<WatermarkCrossed> crossings_of(const KillEvidence& evidence, const MemoryModel& model) {
  std::vector<WatermarkCrossed> crossings;
  add_crossings(evidence.pressed, evidence, model, crossings);
  if (evidence.is_pods_of_one()) add_crossings(evidence.source, evidence, model, crossings);
  std::ranges::stable_sort(crossings, {}, &WatermarkCrossed::time);
  return crossings;
}

ReclaimSampled since_begin(ReclaimSampled totals, const KillEvidence& evidence, const MemoryModel& model) {
  const CgroupState* container = model.find_cgroup(evidence.container);
  if (container == nullptr || container->parent != totals.cgroup || !container->parent_reclaim) return totals;
  const ReclaimSampled& before = *container->parent_reclaim;
  for (auto figure : {&ReclaimSampled::calls, &ReclaimSampled::zero_yield_calls, &ReclaimSampled::reclaimed_bytes,
                      &ReclaimSampled::stall_ns}) {
    totals.*figure -= std::min(before.*figure, totals.*figure);
  }
  return totals;
}

UsedSeries series_of(const KillEvidence& evidence, const MemoryModel& model, MonotonicTime end) {
  UsedSeries series{points_of(evidence.source, evidence, model, end), false};
  if (!evidence.is_pods_of_one()) return series;
  if (series.points.size() < kLeastPoints) {
    std::vector<SeriesPoint> pods = points_of(evidence.owner, evidence, model, end);
    if (pods.size() > series.points.size()) return {std::move(pods), true};
  }
  add_kill(evidence, series.points);
  return series;
}

}  // namespace oomw
