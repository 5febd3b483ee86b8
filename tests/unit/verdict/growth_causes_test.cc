// SPDX-License-Identifier: Apache-2.0
// One row a pattern of evidence: which cause it supports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/builders.h"
#include "support/mib.h"
#include "verdict/verdict.h"

namespace oomw {
namespace {

using test::before_kill;
using test::kMiB;
using test::sample_incident;

constexpr double kLimit = 256 * kMiB;

// A container whose memory was shape(t) of its limit at t in [0, 1] of `seconds`, read every half second.
Incident with_memory(double seconds, const std::function<double(double)>& shape) {
  Incident incident = test::judged_as("");
  incident.coverage_ratio.reset();
  incident.usage_bytes = incident.limit_bytes;
  incident.victims[0].rss->anon_bytes = static_cast<std::uint64_t>(kLimit * 0.95);
  test::draw(incident, seconds, 0.5,
             [&](double t) { return std::clamp(shape(t / seconds), 0.0, 1.0) * kLimit / kMiB; });
  return incident;
}

double line(double t) { return t; }
double flat(double t) { return t < 0.1 ? t * 9 : 0.9; }

// Readings of the heap, evenly over the last `seconds`, each after a collection of its own.
void add_live(Incident& incident, double seconds, const std::vector<double>& live_mib) {
  incident.trend.emplace();
  incident.trend->pid = incident.victims[0].process.pid;
  for (std::size_t i = 0; i < live_mib.size(); ++i) {
    IncidentTrend::Point& point = incident.trend->points.emplace_back();
    const double part = static_cast<double>(i) / static_cast<double>(live_mib.size());
    point.time = before_kill(static_cast<std::int64_t>(seconds * 1000 * (1 - part)));
    point.gc_cycle = static_cast<std::uint32_t>(i + 1);
    point.is_complete = true;
    point.is_baseline = i == 0;
    point.live_bytes = point.held_bytes = static_cast<std::uint64_t>(live_mib[i] * kMiB);
  }
  TrendFigures& whole = incident.trend->whole;
  whole = {"too_few_readings", live_mib.size(), 1, {}, {}, {}, {}, 0, 0, 0, 0};
  whole.first_live_bytes = whole.first_held_bytes = incident.trend->points.front().live_bytes;
  whole.last_live_bytes = whole.last_held_bytes = incident.trend->points.back().live_bytes;
}

TrendSite site(const std::string& judgement, double first_mib, double last_mib) {
  const auto first = static_cast<std::uint64_t>(first_mib * kMiB), last = static_cast<std::uint64_t>(last_mib * kMiB);
  return {{"main.keep /a.go:7"}, "", {judgement, 8, 1, 1e6, 9e5, 1.1e6, 1e8, first, last, first, last}};
}

Incident go_leak(double seconds, const std::vector<double>& live_mib, const TrendSite& suspect) {
  Incident incident = with_memory(seconds, line);
  add_live(incident, seconds, live_mib);
  incident.trend->sites = {suspect};
  incident.trend->suspects = 1;
  return incident;
}

// Killed with a heap of `held` % of its memory, of which `live` % were alive at the last collection.
Incident beside_heap(double held, double live) {
  Incident incident = with_memory(60, [](double t) { return 0.55 + 0.2 * std::fmod(t * 12, 1.0); });
  IncidentCapture capture = sample_incident().captures[0];
  const auto anon = static_cast<double>(incident.victims[0].rss->anon_bytes);
  capture.method = "at_kill";
  capture.result = "ok";
  capture.complete = true;
  capture.pid = incident.victims[0].process.pid;
  capture.inuse_bytes = static_cast<std::uint64_t>(anon * held / 100);
  capture.live_bytes = static_cast<std::uint64_t>(anon * live / 100);
  incident.captures = {capture};
  return incident;
}

std::string verdict_of(const Incident& incident) {
  const auto verdict = judge_incident(incident);
  return verdict ? verdict->cause : "";
}
double confidence_of(const Incident& incident) {
  const auto verdict = judge_incident(incident);
  return verdict ? verdict->confidence : 0;
}

struct Pattern {
  const char* name;
  const char* cause;
  double confidence;
  std::function<Incident()> make;
};

std::vector<Pattern> patterns() {
  const std::vector<double> rising = {10, 40, 80, 120, 150, 180}, steady = {200, 205, 198, 204, 201, 203};
  return {
      {"a leaked site that explains the growth", "leak", 0.85,
       [=] { return go_leak(60, rising, site("leak", 5, 170)); }},
      {"one that explains a third of it, in a heap that rises throughout", "leak", 0.75,
       [=] { return go_leak(60, rising, site("leak", 5, 65)); }},
      {"one that is small beside what the limit is", "undersized", 0.7,
       [=] {
         Incident incident = with_memory(60, flat);
         add_live(incident, 60, steady);
         incident.trend->sites = {site("leak", 1, 4)};
         return incident;
       }},
      {"growth spread over all sites", "leak", 0.85,
       [=] {
         Incident incident = go_leak(60, rising, site("not_called", 5, 9));
         incident.trend->whole.judgement = "leak";
         return incident;
       }},
      {"four collections, each with more alive", "leak", 0.75,
       [=] {
         return go_leak(30, {10, 30, 50, 80}, site("not_called", 2, 70));
       }},
      {"three of them, and one site with most of it", "leak", 0.65,
       [=] {
         return go_leak(30, {10, 50, 90}, site("not_called", 2, 70));
       }},
      {"three of them, and less than a quarter of the limit", "leak", 0.5,
       [=] {
         return go_leak(30, {10, 30, 60}, site("not_called", 2, 50));
       }},
      {"readings so close that sampling reorders some of them", "leak", 0.75,
       [=] {
         return go_leak(40, {10, 25, 22, 40, 38, 52, 60, 58, 75, 90}, site("not_called", 2, 80));
       }},
      {"a working set that was loaded and then stayed", "undersized", 0.6,
       [=] {
         Incident incident = with_memory(40, [](double t) { return t < 0.4 ? 2 * t : 0.95; });
         add_live(incident, 40, {14, 17, 36, 57});
         for (std::size_t i = 0; i < 4; ++i) {
           incident.trend->points[i].time = before_kill(40'000 - 6'000 * static_cast<std::int64_t>(i));
         }
         return incident;
       }},
      {"memory that one site gains and others lose", "undersized", 0.7,
       [=] {
         Incident incident = with_memory(60, flat);
         add_live(incident, 60, steady);
         incident.trend->sites = {site("leak", 5, 150)};
         return incident;
       }},
      {"what fills the limit within ten seconds", "spike", 0.8,
       [=] { return go_leak(8, rising, site("leak", 5, 170)); }},
      {"a burst at the end of a heap that leaked a little", "spike", 0.8,
       [=] {
         Incident incident = with_memory(60, [](double t) { return t < 0.9 ? 0.1 + 0.1 * t : 0.2 + 8 * (t - 0.9); });
         add_live(incident, 60, {10, 14, 18, 22, 26, 90});
         incident.trend->sites = {site("leak", 5, 80)};
         incident.trend->suspects = 1;
         return incident;
       }},
      {"stacks beside a heap of which a collection would leave little", "off_heap", 0.55,
       [] { return beside_heap(45, 5); }},
      {"stacks beside as much garbage as they let pile up", "off_heap", 0.55, [] { return beside_heap(55, 12); }},
      {"more garbage than stacks and what is live let pile up", "", 0, [] { return beside_heap(56, 5); }},
      {"a live heap that is more than what lies beside it", "", 0, [] { return beside_heap(52, 50); }},
      {"a steady leak of twelve seconds beats its own last ten", "leak", 0.5, [] { return with_memory(14, line); }},
      {"memory of a program in any language that only grows", "leak", 0.5, [] { return with_memory(60, line); }},
      {"a sawtooth whose troughs rise", "leak", 0.5,
       [] { return with_memory(64, [](double t) { return 0.8 * t + 0.2 * std::fmod(t * 12, 1.0); }); }},
      {"a sawtooth whose troughs do not rise", "", 0,
       [] { return with_memory(64, [](double t) { return 0.55 + 0.2 * std::fmod(t * 12, 1.0); }); }},
      {"a leak that fills what a burst left behind before it takes more", "leak", 0.5,
       [] {
         return with_memory(61, [](double t) {
           if (t < 0.3) return 0.22 + t;
           return t < 0.4 ? 0.52 + 2.2 * (t - 0.3) : t < 0.6 ? 0.74 : 0.74 + 0.65 * (t - 0.6);
         });
       }},
      {"a level of most of its time, and a step that is less than half of the limit", "undersized", 0.45,
       [] { return with_memory(60, [](double t) { return t < 0.1    ? 5.5 * t
                                                         : t < 0.97 ? 0.55
                                                                    : 1.0; }); }},
      {"one that stands still in the second half", "", 0,
       [] {
         return with_memory(61, [](double t) { return t < 0.6 ? 0.1 + t : t < 0.9 ? 0.7 : 0.7 + 2 * (t - 0.9); });
       }},
      {"a leak that Go's own memory limit keeps flat, behind a start that was told as live", "leak", 0.85,
       [=] {
         Incident incident = with_memory(56, [](double t) {
           return t < 0.2 ? 4 * t : t < 0.8 ? 0.83 : 0.83 + 0.8 * (t - 0.8);
         });
         add_live(incident, 41, {172, 72, 88, 112, 134, 150, 159, 180, 199, 215, 226, 224, 240});
         incident.trend->sites = {site("leak", 35, 174)};
         incident.trend->suspects = 1;
         return incident;
       }},
      {"a peak close to the limit that came back, and one that did not fit", "undersized", 0.5,
       [] {
         return with_memory(41, [](double t) {
           if (t < 0.3) return 2.2 * t;
           return t > 0.5 && t < 0.6 ? 0.84 : t < 0.95 ? 0.67 : 0.67 + 6.6 * (t - 0.95);
         });
       }},
      {"flat and close", "undersized", 0.6, [] { return with_memory(60, flat); }},
      {"flat and close for some seconds only", "undersized", 0.5, [] { return with_memory(14, flat); }},
      {"flat and close, and so is the live heap", "undersized", 0.7,
       [=] {
         Incident incident = with_memory(60, flat);
         add_live(incident, 60, steady);
         return incident;
       }},
      {"flat, but far from the limit", "spike", 0.8,
       [] { return with_memory(60, [](double t) { return t < 0.98 ? 0.4 : 1.0; }); }},
      {"a live heap that is flat and more than half of the limit", "undersized", 0.65,
       [=] {
         Incident incident = with_memory(60, [](double t) { return 0.55 + 0.2 * std::fmod(t * 9, 1.0); });
         add_live(incident, 60, {140, 141, 139, 142, 140});
         return incident;
       }},
      {"the same without a collection for long", "undersized", 0.5,
       [=] {
         Incident incident = with_memory(30, [](double t) { return 0.6 + 0.4 * t; });
         add_live(incident, 30, {140});
         return incident;
       }},
      {"growth of a Go program whose live heap is flat and small", "", 0,
       [=] {
         Incident incident = with_memory(60, line);
         add_live(incident, 60, {20, 21, 19, 20, 20});
         return incident;
       }},
      {"growth that stopped far from the limit", "", 0,
       [] { return with_memory(60, [](double t) { return t < 0.5    ? t
                                                         : t < 0.95 ? 0.6
                                                                    : 0.6 + 8 * (t - 0.95); }); }},
      {"a burst after a quick start, long after it", "spike", 0.8,
       [] {
         return with_memory(20, [](double t) { return t < 0.15 ? t * 2 : t < 0.92 ? 0.3 : 0.3 + 8.7 * (t - 0.92); });
       }},
      {"a batch as large as those before, in a limit that is too small for it", "undersized", 0.65,
       [=] {
         Incident incident = with_memory(60, [](double t) { return 0.3 + 0.65 * std::fmod(t * 7.6, 1.0); });
         add_live(incident, 60, {130, 140, 131, 145, 128, 139});
         return incident;
       }},
      {"a site that goes on in a heap that was loaded and then stayed", "undersized", 0.7,
       [=] {
         Incident incident = with_memory(60, flat);
         add_live(incident, 60, {10, 50, 90, 130, 150, 152, 155, 153, 158, 157, 160, 162});
         incident.trend->sites = {site("leak", 5, 90)};
         incident.trend->suspects = 1;
         return incident;
       }},
      {"a heap that came back by half of its range", "", 0,
       [=] {
         Incident incident = with_memory(60, line);
         add_live(incident, 60, {10, 20, 30, 110, 50, 80, 112});
         return incident;
       }},
      {"a working set that rose at the end, below a memory limit of Go's own", "undersized", 0.6,
       [=] {
         Incident incident = with_memory(60, [](double t) {
           return t < 0.2 ? 4.2 * t : t < 0.9 ? 0.84 : 0.84 + 1.6 * (t - 0.9);
         });
         add_live(incident, 60, {60, 170, 172, 170, 173, 171, 174, 173, 172, 230});
         incident.trend->whole.judgement = "leak";
         return incident;
       }},
      {"a leak below a memory limit of Go's own, which memory cannot show", "leak", 0.85,
       [=] {
         Incident incident = go_leak(60, {20, 45, 70, 95, 120, 145, 170, 200}, site("leak", 5, 180));
         const Incident still = with_memory(60, [](double t) { return t < 0.2 ? 4.5 * t : 0.9; });
         incident.series = still.series;
         return incident;
       }},
      {"a third of the time without a collection, in memory that stood still", "undersized", 0.6,
       [=] {
         Incident incident = with_memory(60, flat);
         add_live(incident, 60, {5, 40, 75, 110, 150});
         for (std::size_t i = 0; i < 5; ++i) {
           incident.trend->points[i].time = before_kill(60'000 - 9'000 * static_cast<std::int64_t>(i));
         }
         incident.trend->sites = {site("leak", 5, 140)};
         return incident;
       }},
      {"steps of a program in any language, most of its time near the limit", "undersized", 0.5,
       [] { return with_memory(60, [](double t) { return t < 0.1   ? 7.6 * t
                                                         : t < 0.8 ? 0.76
                                                                   : 0.94; }); }},
      {"a level held for long, and two steps at the end", "undersized", 0.5,
       [] {
         return with_memory(60, [](double t) { return t < 0.3 ? 2.6 * t : t < 0.75 ? 0.78 : t < 0.9 ? 0.88 : 0.99; });
       }},
      {"a Go program whose last collection was long ago", "undersized", 0.45,
       [=] {
         Incident incident = with_memory(36, [](double t) {
           return t < 0.2 ? 3 * t : t < 0.9 ? 0.6 : 0.6 + 4 * (t - 0.9);
         });
         add_live(incident, 36, {20, 50});
         return incident;
       }},
      {"peaks close to the limit that come back", "undersized", 0.5,
       [] { return with_memory(64, [](double t) { return 0.4 + 0.55 * std::fmod(t * 4.9, 1.0); }); }},
      {"loaded at once, and then slow growth without a collection", "undersized", 0.5,
       [=] {
         Incident incident = with_memory(28, [](double t) { return t < 0.4 ? 2.1 * t : 0.84 + 0.26 * (t - 0.4); });
         add_live(incident, 28, {20, 56, 99});
         for (std::size_t i = 0; i < 3; ++i) {
           incident.trend->points[i].time = before_kill(28'000 - 6'000 * static_cast<std::int64_t>(i));
         }
         return incident;
       }},
      {"a program that is told never to collect", "undersized", 0.7,
       [=] {
         Incident incident = with_memory(60, line);
         add_live(incident, 60, {5});
         incident.victims[0].go.gogc_percent = -1;
         return incident;
       }},
      {"two readings", "", 0,
       [] {
         Incident incident = with_memory(60, line);
         incident.series.resize(1);
         return incident;
       }},
      {"a leak below an ancestor's limit", "ancestor_limit", 0.9,
       [=] {
         Incident incident = go_leak(60, rising, site("leak", 5, 170));
         incident.scope = "ancestor";
         return incident;
       }},
  };
}

TEST(GrowthCauses, each_pattern_supports_its_cause_with_its_confidence) {
  for (const Pattern& pattern : patterns()) {
    const Incident incident = pattern.make();
    EXPECT_EQ(verdict_of(incident), pattern.cause) << pattern.name;
    EXPECT_EQ(confidence_of(incident), pattern.confidence) << pattern.name;
  }
}

// The live heap of six workers whose pictures became larger for the last eleven seconds, scaled to this limit.
TEST(GrowthCauses, growth_of_the_last_moments_that_the_detector_does_not_see_is_no_leak) {
  Incident incident = with_memory(34, [](double t) { return 0.5 + 0.5 * t; });
  add_live(incident, 34, {79, 88, 91, 88, 75, 79, 92, 89, 92, 100, 113, 109, 137, 130, 137});
  EXPECT_EQ(verdict_of(incident), "leak") << "so few readings that it cannot tell";
  incident.trend->whole.judgement = "not_growing";
  EXPECT_EQ(verdict_of(incident), "undersized");
}

// The detector calls the heap a leak and no single site: the reason names what most of the gain is, as the answer does.
TEST(GrowthCauses, a_leak_of_the_whole_heap_names_the_site_that_made_most_of_it) {
  Incident incident = go_leak(60, {10, 40, 80, 120, 150, 180}, site("not_called", 5, 150));
  incident.trend->suspects = 0;
  incident.trend->whole.judgement = "leak";
  const auto why_has = [&](const char* words) {
    const auto verdict = judge_incident(incident);
    return verdict && std::ranges::any_of(verdict->why, [&](const std::string& why) { return why.starts_with(words); });
  };
  EXPECT_TRUE(why_has("most of it: main.keep /a.go:7: live 5.00 MiB to 150 MiB"));
  incident.trend->sites = {site("not_called", 5, 9)};
  EXPECT_TRUE(why_has("no call site made half of that"));
}

TEST(GrowthCauses, a_leak_below_an_ancestors_limit_is_told_beside_it) {
  Incident incident = go_leak(60, {10, 40, 80, 120, 150, 180}, site("leak", 5, 170));
  incident.scope = "ancestor";
  const auto verdict = judge_incident(incident);
  ASSERT_TRUE(verdict);
  ASSERT_FALSE(verdict->also.empty());
  EXPECT_EQ(verdict->also[0].cause, "leak");
  EXPECT_FALSE(verdict->also[0].why.empty());
  EXPECT_FALSE(verdict->suggested_limit);
}

TEST(GrowthCauses, the_limit_that_is_suggested_leaves_a_sixth_above_the_peak) {
  const auto verdict = judge_incident(with_memory(60, flat));
  ASSERT_TRUE(verdict && verdict->suggested_limit);
  EXPECT_EQ(verdict->suggested_limit->bytes, 320u << 20);  // 1.2 x 256 MiB in steps of 16
  EXPECT_TRUE(verdict->suggested_limit->is_lower_bound);
}

TEST(GrowthCauses, the_limit_for_a_go_heap_has_room_for_it_to_be_collected) {
  Incident incident = with_memory(60, flat);
  add_live(incident, 60, {200, 200, 200, 200});
  const auto verdict = judge_incident(incident);
  ASSERT_TRUE(verdict && verdict->suggested_limit);
  EXPECT_EQ(verdict->suggested_limit->bytes, 480u << 20);  // 1.2 x 2 x 200 MiB
  EXPECT_FALSE(verdict->suggested_limit->is_lower_bound);
}

TEST(GrowthCauses, what_the_environment_told_go_is_what_it_needs) {
  Incident incident = with_memory(60, flat);
  add_live(incident, 60, {200, 200, 200, 200});
  GoConfig& go = incident.victims[0].go;
  const auto suggested = [&] { return judge_incident(incident)->suggested_limit->bytes >> 20; };
  go.gogc_percent = 50;
  EXPECT_EQ(suggested(), 368u);  // 1.2 x 1.5 x 200 MiB in steps of 16
  go.memory_limit_bytes = 250u << 20;
  EXPECT_EQ(suggested(), 320u);  // Go stays below 250 MiB; what it had used is more
  go.gogc_percent = -1;
  EXPECT_EQ(suggested(), 320u);
}

TEST(GrowthCauses, no_limit_is_large_enough_for_what_never_collects) {
  Incident incident = with_memory(60, flat);
  add_live(incident, 60, {200, 200, 200, 200});
  incident.victims[0].go.gogc_percent = -1;
  const auto verdict = judge_incident(incident);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->cause, "undersized");
  EXPECT_FALSE(verdict->suggested_limit);
}

TEST(GrowthCauses, no_limit_is_suggested_for_a_leak) {
  const auto verdict = judge_incident(with_memory(60, line));
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->suggested_limit);
}

TEST(GrowthCauses, readings_of_the_units_earlier_life_do_not_count) {
  Incident incident = with_memory(60, flat);
  incident.victims[0].started = before_kill(5'000);  // the one before it had been steady
  EXPECT_EQ(verdict_of(incident), "spike");
}

}  // namespace
}  // namespace oomw
