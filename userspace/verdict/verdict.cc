// SPDX-License-Identifier: Apache-2.0
#include "verdict/verdict.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "incident/queue_text.h"
#include "verdict/answer.h"
#include "verdict/causes.h"
#include "verdict/memory_parts.h"
#include "verdict/suggested_limit.h"
#include "verdict/thrashing.h"
#include "verdict/thresholds.h"

namespace oomw {

namespace {

struct Row {
  int rank;
  std::optional<Finding> (*judge)(const Evidence&);
  bool is_of_shape = false;  // by how the memory came to the limit over time
};
constexpr std::array<Row, 14> kRows = {{{0, judge_node},
                                        {0, judge_pod},
                                        {0, judge_ancestor},
                                        {1, judge_tmpfs},
                                        {1, judge_page_cache},
                                        {2, judge_sibling},
                                        {3, judge_off_heap},
                                        {3, judge_allocator},
                                        {3, judge_heap_ceiling},
                                        {3, judge_part},
                                        {4, judge_leak, true},
                                        {4, judge_spike, true},
                                        {4, judge_undersized, true},
                                        {4, judge_beside_heap}}};

struct Candidate {
  int rank;
  Finding finding;
};

// Growth within 10 s, at twice the earlier pace, is not what leaked until then, although the leak went on.
void put_spike_before_leak(std::vector<Candidate>& all) {
  const bool is_sudden = std::ranges::any_of(all, [](const Candidate& candidate) {
    return candidate.finding.cause == "spike" && candidate.finding.confidence >= threshold::kMeasured;
  });
  for (Candidate& candidate : all) {
    if (!is_sudden || candidate.finding.cause != "leak") continue;
    candidate.finding.confidence = std::min(candidate.finding.confidence, threshold::kRareRise);
  }
}

std::vector<Candidate> judged(const Evidence& evidence, bool is_of_shape) {
  std::vector<Candidate> found;
  for (const Row& row : kRows) {
    if (row.is_of_shape != is_of_shape) continue;
    if (auto finding = row.judge(evidence)) found.push_back({row.rank, std::move(*finding)});
  }
  return found;
}

// How the memory came to the limit before the container was thrashing, if that explains it. What all of the time looks
// like is then kept beside it.
std::vector<Candidate> before_thrashing(const Incident& incident, double seconds, std::vector<Candidate> by_all_time) {
  const Incident before = killed_before(incident, seconds);
  std::vector<Candidate> found = judged(Evidence(before), true);
  const bool is_explained =
      std::ranges::any_of(found, [](const Candidate& one) { return one.finding.confidence >= threshold::kNoVerdict; });
  if (!is_explained) return by_all_time;
  for (Candidate& one : found) {
    one.finding.why.front() += fmt::format(", as of {:.0f} s before the kill, when it was full", seconds);
    one.finding.why.push_back(thrashing_text(incident, seconds));
  }
  for (Candidate& one : by_all_time) {
    one.finding.confidence = std::min(one.finding.confidence, threshold::kBeside);
    const bool is_said =
        std::ranges::any_of(found, [&](const Candidate& other) { return other.finding.cause == one.finding.cause; });
    if (!is_said) found.push_back(std::move(one));
  }
  return found;
}

std::vector<Candidate> candidates_of(const Evidence& evidence) {
  std::vector<Candidate> all = judged(evidence, true), others = judged(evidence, false);
  const auto seconds = thrashing_seconds(evidence.incident);
  if (seconds) all = before_thrashing(evidence.incident, *seconds, std::move(all));
  std::ranges::move(others, std::back_inserter(all));
  put_spike_before_leak(all);
  return all;
}

// Ties go to the first.
bool is_better(const Candidate& a, const Candidate& b) {
  return a.rank != b.rank ? a.rank < b.rank : a.finding.confidence > b.finding.confidence;
}

// A Collector's own metrics help to explain growth, whichever cause it has.
void add_collector(const Incident& incident, std::vector<std::string>& why) {
  if (!incident.collector) return;
  const IncidentCollector& collector = *incident.collector;
  if (const CollectorExporter* keeper = keeper_of(collector)) {
    why.push_back(fmt::format("the sending queue of exporter {} held {}", printable(keeper->id),
                              queue_text(*keeper, incident.limit_bytes)));
  }
  if (!collector.read_at) return;
  if (!collector.limiter_refused) {
    why.emplace_back("this Collector has no memory_limiter as far as its metrics tell");
  } else if (*collector.limiter_refused == 0) {
    why.emplace_back("its memory_limiter refused nothing: its own limit lies above what the container may use");
  }
}

bool is_growth(const std::string& cause) { return cause == "leak" || cause == "spike" || cause == "undersized"; }

}  // namespace

std::optional<IncidentVerdict> judge_incident(const Incident& incident) {
  const Evidence evidence(incident);
  std::vector<Candidate> all = candidates_of(evidence);
  const auto best = std::ranges::min_element(all, is_better);
  if (best == all.end() || best->finding.confidence < threshold::kNoVerdict) return std::nullopt;
  IncidentVerdict verdict{best->finding.cause, best->finding.confidence, best->finding.why};
  for (Candidate& other : all) {
    if (other.finding.cause != verdict.cause) verdict.also.push_back(std::move(other.finding));
  }
  std::ranges::stable_sort(verdict.also, std::ranges::greater(), &Finding::confidence);
  if (is_growth(verdict.cause)) add_collector(incident, verdict.why);
  if (verdict.cause == "undersized") verdict.suggested_limit = suggest_limit(evidence);
  if (const auto ceiling = verdict.cause == "does_not_fit" ? misfit_of(incident) : std::nullopt) {
    verdict.suggested_limit =
        SuggestedLimit{ceiling->fitting_limit_bytes, false, "the maximum heap, what lies beside it, and 5 % of room"};
  }
  return verdict;
}

namespace {

void judge(Incident& incident) {
  if (incident.victims.empty()) {
    incident.notes.emplace_back("verdict: who was killed is not known");
    return;
  }
  incident.verdict = judge_incident(incident);
  if (incident.verdict) return;
  const auto profiles = std::ranges::count(incident.captures, "ok", &IncidentCapture::result);
  incident.notes.push_back(
      fmt::format("verdict: nothing sudden or foreign explains this kill, and neither steady growth nor a steady size "
                  "close to the limit was seen (heap profiles: {}, readings of the heap: {}, of memory: {})",
                  profiles, incident.trend ? incident.trend->points.size() : 0, incident.series.size()));
}

}  // namespace

void conclude(Incident& incident, const OperationPatterns& patterns) {
  judge(incident);
  incident.answer = answer_of(incident, patterns);
}

}  // namespace oomw
