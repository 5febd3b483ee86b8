// SPDX-License-Identifier: Apache-2.0
#include "incidents/verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

constexpr double kTmpfsShare = 0.5;
constexpr double kSpikeShare = 0.5;
constexpr double kOffHeapCoverage = 0.5;
constexpr Nanoseconds kSpikeWindow = std::chrono::seconds(10);

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<std::uint64_t> stat(const Incident& incident, const char* name) {
  auto it = incident.memory_stat.find(name);
  return it == incident.memory_stat.end() ? std::nullopt : std::optional(it->second);
}

std::optional<IncidentVerdict> judge_scope(const Incident& incident) {
  if (incident.scope == "node") {
    return IncidentVerdict{"node", 0.9, {"the kernel was out of memory node-wide; no limit of a cgroup was hit"}};
  }
  if (incident.scope != "ancestor") return std::nullopt;
  IncidentVerdict verdict{"ancestor_limit", 0.9, {}};
  verdict.why.push_back(incident.limit_owner_cgroup_path.empty()
                            ? std::string("the limit that was hit belongs to a cgroup above the container")
                            : "the limit that was hit belongs to " + printable(incident.limit_owner_cgroup_path));
  if (incident.limit_bytes) verdict.why.push_back("it is " + human_bytes(*incident.limit_bytes));
  if (!incident.series.empty()) {
    verdict.why.push_back("the container itself used " + human_bytes(incident.series.back().usage_bytes) +
                          " at its last reading");
  }
  return verdict;
}

// What the limit counted at the kill; where that was not read, it was all of the limit.
std::optional<std::uint64_t> charged(const Incident& incident) {
  return incident.usage_bytes ? incident.usage_bytes : incident.limit_bytes;
}

std::optional<IncidentVerdict> judge_tmpfs(const Incident& incident) {
  const auto shmem = stat(incident, "shmem");
  const auto usage = charged(incident);
  if (!shmem || !usage) return std::nullopt;
  const double ratio = share(*shmem, *usage);
  if (ratio < kTmpfsShare) return std::nullopt;
  return IncidentVerdict{"page_cache_or_tmpfs",
                         0.8,
                         {fmt::format("tmpfs and shared memory hold {} = {:.0f} % of the usage of {}",
                                      human_bytes(*shmem), ratio * 100, human_bytes(*usage))}};
}

// Page cache that could be dropped was, before the kill: what is left cannot (dirty, locked, ramfs).
// memory.stat may be seconds old; if the victims' memory and that much cache do not fit together
// into the usage, it tells of another time.
std::optional<IncidentVerdict> judge_page_cache(const Incident& incident) {
  const auto file = stat(incident, "file");
  const auto usage = charged(incident);
  const auto anon = victims_anon_bytes(incident);
  if (!file || !usage || !anon || *anon > *usage || *file > *usage - *anon) return std::nullopt;
  const double ratio = share(*file, *usage);
  if (ratio < kTmpfsShare) return std::nullopt;
  return IncidentVerdict{"page_cache_or_tmpfs",
                         0.7,
                         {fmt::format("page cache holds {} = {:.0f} % of the usage of {} and was not reclaimed: dirty, "
                                      "locked, or of a file system in memory",
                                      human_bytes(*file), ratio * 100, human_bytes(*usage))}};
}

// The victims' anon is exact at the kill; memory.stat is at most seconds old (its note says). In a
// growing container that age can only make the rest look smaller, so a "yes" stands.
std::optional<IncidentVerdict> judge_sibling(const Incident& incident) {
  const auto total = stat(incident, "anon");
  const auto victims = victims_anon_bytes(incident);
  if (!total || !victims || *total <= *victims || *total - *victims <= *victims) return std::nullopt;
  return IncidentVerdict{"sibling",
                         0.6,
                         {fmt::format("the victims held {} of the container's {} anonymous memory; the other "
                                      "processes held more",
                                      human_bytes(*victims), human_bytes(*total))}};
}

// Only a whole list of what is held now can say what is not heap; an HTTP profile leaves out the youngest.
std::optional<IncidentVerdict> judge_off_heap(const Incident& incident) {
  const IncidentCapture* best = best_capture(incident);
  if (!incident.coverage_ratio || best == nullptr || !best->complete || best->method == "http") return std::nullopt;
  if (*incident.coverage_ratio >= kOffHeapCoverage) return std::nullopt;
  return IncidentVerdict{
      "off_heap",
      0.7,
      {fmt::format("the Go heap explains {:.0f} % of the {} that the victims held: the rest is "
                   "goroutine stacks, memory mapped by cgo or mmap, or freed and not given back",
                   *incident.coverage_ratio * 100, human_bytes(victims_anon_bytes(incident).value_or(0)))}};
}

std::optional<IncidentVerdict> judge_spike(const Incident& incident) {
  if (!incident.limit_bytes || !incident.usage_bytes || *incident.limit_bytes == 0) return std::nullopt;
  const Incident::Point* lowest = nullptr;
  for (const Incident::Point& point : incident.series) {
    const bool in_window = point.time <= incident.time && incident.time.ns - point.time.ns < kSpikeWindow.count();
    if (in_window && (lowest == nullptr || point.usage_bytes < lowest->usage_bytes)) lowest = &point;
  }
  if (lowest == nullptr || *incident.usage_bytes <= lowest->usage_bytes) return std::nullopt;
  const std::uint64_t gained = *incident.usage_bytes - lowest->usage_bytes;
  const double ratio = share(gained, *incident.limit_bytes);
  if (ratio < kSpikeShare) return std::nullopt;
  const double seconds = static_cast<double>(incident.time.ns - lowest->time.ns) / 1e9;
  return IncidentVerdict{
      "spike",
      0.8,
      {fmt::format("usage rose from {} to {} in the last {:.3g} s: {:.0f} % of the limit",
                   human_bytes(lowest->usage_bytes), human_bytes(*incident.usage_bytes), seconds, ratio * 100)}};
}

}  // namespace

std::optional<IncidentVerdict> judge_incident(const Incident& incident) {
  for (const auto judge : {judge_scope, judge_tmpfs, judge_page_cache, judge_sibling, judge_off_heap, judge_spike}) {
    if (auto verdict = judge(incident)) return verdict;
  }
  return std::nullopt;
}

}  // namespace oomw
