// SPDX-License-Identifier: Apache-2.0
// Causes that follow from whose limit was hit and which kind of memory filled it.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/share_queries.h"
#include "verdict/causes.h"
#include "verdict/readings.h"
#include "verdict/thresholds.h"

namespace oomw {

namespace {

using namespace threshold;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The bytes that the limit counted at the kill; if they were not read, the whole limit.
std::optional<std::uint64_t> charged(const Incident& incident) {
  return incident.usage_bytes ? incident.usage_bytes : incident.limit_bytes;
}

// Go gives freed heap memory back only over minutes; until then it still belongs to the heap.
bool heap_held_it_before(const Incident& incident) {
  const auto anon = static_cast<double>(victims_anon_bytes(incident).value_or(0));
  return incident.trend && std::ranges::any_of(incident.trend->points, [&](const IncidentTrend::Point& point) {
           return static_cast<double>(point.held_bytes) >= kMost * anon;
         });
}

// The most that the heap held at any reading.
double most_held(const Incident& incident, double at_end) {
  double most = at_end;
  if (!incident.trend) return most;
  for (const IncidentTrend::Point& point : incident.trend->points) {
    most = std::max(most, static_cast<double>(point.held_bytes));
  }
  return most;
}

// What the victims held when that profile was begun, as far as the container's memory tells: the rest of it is taken to
// be what it was at the kill. What came after it may all be heap.
double held_when_read(const Incident& incident, const IncidentCapture& capture) {
  const auto at_kill = static_cast<double>(victims_anon_bytes(incident).value_or(0));
  const Readings readings = memory_readings(incident);
  if (capture.method == to_string(CaptureMethod::kAtKill) || readings.empty()) return at_kill;
  const double others = std::max(readings.back().bytes - at_kill, 0.0);
  const double then = value_at(readings, capture.lead_seconds + capture.duration_seconds) - others;
  return std::clamp(then, 0.0, at_kill);
}

// Of a profile that is not of the kill itself: " 2.1 s before the kill".
std::string moment_of(const IncidentCapture& capture) {
  return capture.method == to_string(CaptureMethod::kAtKill)
             ? ""
             : fmt::format(" {:.1f} s before the kill", capture.lead_seconds);
}

}  // namespace

std::optional<Finding> judge_node(const Evidence& evidence) {
  if (evidence.incident.scope != "node") return std::nullopt;
  return Finding{"node", kFromKernel, {"the kernel was out of memory node-wide; no limit of a cgroup was hit"}};
}

// A container with four fifths of it would have filled a limit of its own: the other rules then judge its own cause.
std::optional<Finding> judge_pod(const Evidence& evidence) {
  constexpr std::size_t kMostNamed = 4;
  const Incident& incident = evidence.incident;
  if (incident.scope != "pod") return std::nullopt;
  const auto held = victims_share(incident);
  if (held && *held >= kClose) return std::nullopt;
  Finding verdict{"pod_limit", held ? kFromKernel : kLikely};
  verdict.why.push_back(fmt::format("the limit{} of the pod was filled by its containers together{}",
                                    incident.limit_bytes ? " of " + human_bytes(*incident.limit_bytes) : "",
                                    held ? ": " + shares_text(incident, kMostNamed) : ""));
  if (held) {
    verdict.why.push_back(
        fmt::format("the container of the process that the kernel chose held {:.0f} % of it", *held * 100));
  }
  return verdict;
}

std::optional<Finding> judge_ancestor(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  if (incident.scope != "ancestor") return std::nullopt;
  Finding verdict{"ancestor_limit", kFromKernel};
  verdict.why.push_back(incident.limit_owner_cgroup_path.empty()
                            ? std::string("the limit that was hit belongs to a cgroup above the container")
                            : "the limit that was hit belongs to " + printable(incident.limit_owner_cgroup_path));
  if (incident.limit_bytes) verdict.why.push_back("it is " + human_bytes(*incident.limit_bytes));
  // The last reading may come from after the kill.
  if (const auto most = most_of_limit(incident)) {
    verdict.why.push_back("the killed processes alone held " + human_bytes(*most) + " of it");
  } else if (!incident.series.empty()) {
    verdict.why.push_back("the container itself used " + human_bytes(incident.series.back().usage_bytes) +
                          " at its last reading");
  }
  return verdict;
}

namespace {

// The share of tmpfs and shared memory in the usage, where it is what filled the limit.
std::optional<double> shared_ratio(const Incident& incident) {
  const auto shmem = stat_of(incident, "shmem");
  const auto usage = charged(incident);
  if (!shmem || !usage) return std::nullopt;
  const double ratio = share(*shmem, *usage);
  return ratio < kMost ? std::nullopt : std::optional(ratio);
}

// What the victims had mapped of that; 0: less than half of it, so it lies in files.
std::uint64_t mapped_shared_bytes(const Incident& incident) {
  if (!shared_ratio(incident)) return 0;
  double bytes = 0;
  for (const IncidentVictim& victim : incident.victims) {
    if (victim.rss) bytes += static_cast<double>(victim.rss->shmem_bytes);
  }
  return bytes >= kMost * static_cast<double>(*stat_of(incident, "shmem")) ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace

std::string kind_of_files(const Incident& incident) {
  return mapped_shared_bytes(incident) > 0 ? "Shared memory" : "Files in memory";
}

std::string files_action(const Incident& incident) {
  return mapped_shared_bytes(incident) > 0
             ? "See what it maps as shared memory (MAP_SHARED, shm_open, /dev/shm), and whether it gives that back."
             : "Give the tmpfs or emptyDir of medium Memory a sizeLimit, or put it on a disk.";
}

std::optional<Finding> judge_tmpfs(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  const auto ratio = shared_ratio(incident);
  if (!ratio) return std::nullopt;
  const std::uint64_t mapped = mapped_shared_bytes(incident);
  return Finding{"page_cache_or_tmpfs",
                 kMeasured,
                 {fmt::format("tmpfs and shared memory hold {} = {:.0f} % of the usage of {}{}",
                              human_bytes(*stat_of(incident, "shmem")), *ratio * 100, human_bytes(*charged(incident)),
                              mapped == 0 ? "" : "; what was killed had mapped " + human_bytes(mapped) + " of it")}};
}

// The kernel dropped all the page cache it could before the kill; the rest cannot be dropped (dirty, locked,
// ramfs). memory.stat may be seconds old; if the victims' memory and that much cache do not fit into the
// usage together, it describes another moment.
std::optional<Finding> judge_page_cache(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  const auto file = stat_of(incident, "file");
  const auto usage = charged(incident);
  const auto anon = victims_anon_bytes(incident);
  if (!file || !usage || !anon || *anon > *usage || *file > *usage - *anon) return std::nullopt;
  const double ratio = share(*file, *usage);
  if (ratio < kMost) return std::nullopt;
  return Finding{"page_cache_or_tmpfs",
                 kMeasuredApart,
                 {fmt::format("page cache holds {} = {:.0f} % of the usage of {} and was not reclaimed: dirty, "
                              "locked, or of a file system in memory",
                              human_bytes(*file), ratio * 100, human_bytes(*usage))}};
}

// The kernel kills the largest process unless oom_score_adj prefers another: if no process had a lower one than the
// victim, none was larger. Among workers that are alike no sibling is to blame.
bool are_others_alike(const Incident& incident, double victim_bytes, double others_bytes) {
  if (!incident.others || incident.victims.size() != 1 || !incident.victims.front().oom_score_adj) return false;
  if (incident.others->lowest_oom_score_adj < *incident.victims.front().oom_score_adj) return false;
  return others_bytes >= kMost * victim_bytes * static_cast<double>(incident.others->count);
}

// The victims' anon is exact at the kill; memory.stat is at most seconds old (its note says). In a
// growing container that age can only make the rest look smaller, so a positive result stands.
std::optional<Finding> judge_sibling(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  const auto total = stat_of(incident, "anon");
  const auto victims = victims_anon_bytes(incident);
  if (!total || !victims || *total <= *victims || *total - *victims <= *victims) return std::nullopt;
  if (are_others_alike(incident, static_cast<double>(*victims), static_cast<double>(*total - *victims))) {
    return std::nullopt;
  }
  return Finding{"sibling",
                 kLikely,
                 {fmt::format("the victims held {} of the container's {} anonymous memory; the other "
                              "processes held more",
                              human_bytes(*victims), human_bytes(*total))}};
}

std::string largest_other(const Incident& incident) {
  const auto total = stat_of(incident, "anon"), victims = victims_anon_bytes(incident);
  if (!incident.others || !incident.others->largest || !total || !victims || *total <= *victims) return "";
  const OtherProcess& other = *incident.others->largest;
  const auto rest = static_cast<double>(*total - *victims);
  if (static_cast<double>(other.resident_bytes) < threshold::kMost * rest) return "";
  const std::string command = other.cmdline.empty() ? "" : fmt::format(", `{}`", printable(other.cmdline, 100));
  return fmt::format("{} (pid {}{})", printable(other.comm, 32), other.pid, command);
}

std::string largest_other_had(const Incident& incident) {
  const std::string other = largest_other(incident);
  if (other.empty()) return "";
  return fmt::format("{} had {} right after the kill; ", other, human_bytes(incident.others->largest->resident_bytes));
}

// Only a whole list of what is held now can show what is not heap; an HTTP profile leaves out the youngest objects.
std::optional<Finding> judge_off_heap(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  const IncidentCapture* best = best_capture(incident);
  if (!incident.coverage_ratio || best == nullptr || !best->complete || !is_of_go(*best) ||
      shows_last_collection(*best))
    return std::nullopt;
  if (*incident.coverage_ratio >= kMost || heap_held_it_before(incident)) return std::nullopt;
  // Coverage is of the kill: a heap of before it had that much of what was held then, and half must lie beside it.
  const auto at_kill = static_cast<double>(victims_anon_bytes(incident).value_or(0));
  const double held = held_when_read(incident, *best), heap = *incident.coverage_ratio * at_kill;
  if (held - heap < (1 - kMost) * at_kill) return std::nullopt;
  return Finding{"off_heap",
                 kMeasuredApart,
                 {fmt::format("the Go heap explains {:.0f} % of the {} that the victims held{}: the rest is "
                              "goroutine stacks, memory mapped by cgo or mmap, or freed and not given back",
                              heap / held * 100, bytes_text(held), moment_of(*best))}};
}

// A heap with uncollected garbage looks large beside stacks and mappings. But large stacks themselves make
// collections rare (Go's pacer counts stacks since 1.18, so there may be as much garbage as stacks and live heap
// together). So only what a collection would leave counts.
std::optional<Finding> judge_beside_heap(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  const IncidentCapture* best = best_capture(incident);
  if (best == nullptr || !best->complete || !is_of_go(*best) || shows_last_collection(*best) || !best->inuse_bytes ||
      !best->live_bytes || incident.victims.size() != 1) {
    return std::nullopt;
  }
  const double held = held_when_read(incident, *best);
  const auto live = static_cast<double>(*best->live_bytes);
  const double since = std::max(static_cast<double>(*best->inuse_bytes) - live, 0.0);
  const double rest = held - most_held(incident, static_cast<double>(*best->inuse_bytes));
  if (rest <= live || rest + live <= since || rest < kLarge * evidence.limit()) return std::nullopt;
  return Finding{
      "off_heap",
      kBesideHeap,
      {fmt::format("of the {} that it held{}, {} lie beside the Go heap: stacks, memory mapped by cgo or mmap; a "
                   "collection would have left {} of the heap",
                   bytes_text(held), moment_of(*best), bytes_text(rest), bytes_text(live))}};
}

}  // namespace oomw
