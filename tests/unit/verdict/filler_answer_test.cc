// SPDX-License-Identifier: Apache-2.0
#include "verdict/filler_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/incident/sample_incident.h"
#include "verdict/answer.h"
#include "verdict/verdict.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

IncidentFiller found(const std::string& kind, const std::string& name, const std::string& held_as, double share) {
  IncidentFiller filler;
  filler.runtime = "cpython";
  filler.kind = kind;
  filler.name = name;
  filler.held_as = held_as;
  filler.share = share;
  filler.bytes = static_cast<std::uint64_t>(share * (96 << 20));
  filler.count = 500'000;
  filler.evidence = "analysis";
  return filler;
}

Incident python_incident(const std::string& cause) {
  Incident incident = testing::incident_without_findings();
  incident.limit_bytes = 96u << 20;
  incident.victims.front().comm = "python3";
  incident.verdict = IncidentVerdict{cause, 0.5, {"memory rose in each quarter"}};
  incident.fillers = {found("holder", "list of dict", "`LOG` in module `app`", 0.86), found("type", "dict", "", 0.6)};
  return incident;
}

TEST(FillerAnswer, a_container_with_a_name_is_what_filled_the_memory) {
  const IncidentAnswer answer = answer_of(python_incident("leak"));
  EXPECT_EQ(answer.sentence,
            "Memory leak in python3: a list of 500000 dict held as `LOG` in module `app` filled 86 % of its memory "
            "(82.6 MiB), and it grew until its limit of 96.0 MiB was reached.");
  EXPECT_EQ(answer.action, "Bound or empty `LOG` in module `app`; a larger limit only delays the next kill.");
  ASSERT_TRUE(answer.culprit.has_value());
  EXPECT_EQ(answer.culprit->claim, "fills");
}

TEST(FillerAnswer, what_is_an_estimate_is_said_as_one) {
  Incident incident = python_incident("leak");
  incident.fillers.erase(incident.fillers.begin());
  incident.fillers.front().error_bytes = 3u << 20;
  EXPECT_THAT(filler_text(incident),
              HasSubstr("about 500000 objects of type dict filled about 60 % of its memory (about "
                        "57.6 MiB +- 3.00 MiB by a sample"));
  const auto culprit = filling_culprit(incident);
  ASSERT_TRUE(culprit.has_value());
  EXPECT_EQ(culprit->error_bytes, 3u << 20);
  incident.fillers.front().share = 0.2;
  EXPECT_THAT(no_filler_text(incident), HasSubstr("about 500000 objects of type dict with about 20 %"));
}

TEST(FillerAnswer, what_the_small_objects_were_at_the_kill_is_said_as_an_estimate) {
  Incident incident = python_incident("leak");
  EXPECT_EQ(pools_text(incident), "");
  incident.analyses.resize(1);
  incident.analyses[0].pid = incident.victims.front().process.pid;
  incident.analyses[0].pools = PoolsAtKill{
      100u << 20, 6400, 6400, {{"dict", 60u << 20, 9, 9, 9}, {"str", 20u << 20, 9, 9, 9}, {"int", 5, 1, 1, 0}}, ""};
  EXPECT_EQ(pools_text(incident),
            "At the kill 100 MiB were small objects, by an estimate 60 % of them dict, 20 % str.");
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("At the kill 100 MiB were small objects"));
  incident.analyses[0].pools->cut = "time_limit";
  EXPECT_THAT(pools_text(incident), HasSubstr("At the kill at least 100 MiB were"));
  incident.analyses[0].pid += 1;
  EXPECT_EQ(pools_text(incident), "") << "another process";
}

// Read over twelve minutes: the list with its rows, and the rows by type.
IncidentTrend grown_list(const std::string& judgement) {
  IncidentTrend trend;
  trend.of = "cpython";
  trend.suspects = judgement == "leak" ? 2 : 0;
  for (const std::int64_t before_ms : {720'000, 400'000, 200'000, 60'000, 0}) {
    IncidentTrend::Point& point = trend.points.emplace_back();
    point.time = testing::before_kill(before_ms);
    point.is_baseline = trend.points.size() == 1;
  }
  const auto site = [&](std::vector<std::string> frames, std::uint64_t first, std::uint64_t last) {
    TrendSite& made = trend.sites.emplace_back();
    made.frames = std::move(frames);
    made.figures.judgement = judgement;
    made.figures.readings = 5;
    made.figures.growth_share = 1;
    made.figures.first_held_bytes = first << 20;
    made.figures.last_held_bytes = last << 20;
  };
  site({"dict"}, 10, 80);
  site({"list of dict", "held as `LOG` in module `app`"}, 3, 70);
  site({"str"}, 1, 5);
  trend.whole.first_held_bytes = 20u << 20;
  trend.whole.last_held_bytes = 94u << 20;
  return trend;
}

TEST(FillerAnswer, what_was_read_over_time_says_from_what_to_what_it_grew) {
  Incident incident = python_incident("leak");
  incident.contents_trend = grown_list("not_called");
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr(" In 5 readings over 720 s, list of dict, held as `LOG` in module `app` grew from 3.00 MiB to "
                        "70.0 MiB."));
  incident.contents_trend->sites[1].frames = {"shop::Session"};
  incident.contents_trend->sites[0].frames = {"blocks of 528 B"};
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr(" shop::Session grew from 3.00 MiB to 70.0 MiB."));
  incident.contents_trend->whole.last_held_bytes = 300u << 20;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("grew from"))) << "most of the growth is something else";
  incident.contents_trend = grown_list("leak");
  incident.verdict->cause = "pod_limit";
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("grew from")));
}

TEST(FillerAnswer, a_name_that_keeps_growing_is_a_second_sign_of_a_leak_and_none_by_itself) {
  Incident incident = python_incident("leak");
  incident.verdict.reset();
  incident.usage_bytes = incident.limit_bytes = 96u << 20;
  incident.victims.front().started = testing::before_kill(120'000);
  incident.watermarks.clear();
  incident.captures.clear();
  incident.victims.front().rss->anon_bytes = 92u << 20;
  incident.series.clear();
  for (int i = 0; i < 120; ++i) {
    const auto bytes = static_cast<std::uint64_t>((10 + 0.7 * i) * (1 << 20));
    incident.series.push_back({testing::before_kill((120 - i) * 1000), bytes, bytes});
  }
  const auto judge = [](const Incident& of) { return judge_incident(of).value_or(IncidentVerdict{}); };
  const IncidentVerdict by_curve = judge(incident);
  ASSERT_EQ(by_curve.cause, "leak");
  incident.contents_trend = grown_list("not_called");
  EXPECT_EQ(judge(incident).confidence, by_curve.confidence);
  incident.contents_trend = grown_list("leak");
  EXPECT_GT(judge(incident).confidence, by_curve.confidence);
  EXPECT_THAT(judge(incident).why, ::testing::Contains(HasSubstr("held as `LOG` in module `app` keeps growing")));
  incident.series.clear();
  EXPECT_NE(judge(incident).cause, "leak");
}

TEST(FillerAnswer, a_container_comes_before_the_type_that_it_consists_of) {
  Incident incident = python_incident("spike");
  std::swap(incident.fillers[0], incident.fillers[1]);
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("held as `LOG` in module `app`"));
}

TEST(FillerAnswer, a_filler_of_next_to_nothing_is_not_said) {
  Incident incident = python_incident("leak");
  for (IncidentFiller& filler : incident.fillers) filler.share = 0.004;
  const std::string sentence = answer_of(incident).sentence;
  EXPECT_THAT(sentence, HasSubstr("No single type or container filled much of its memory."));
  EXPECT_THAT(sentence, Not(HasSubstr("the most is")));
}

TEST(FillerAnswer, without_a_container_the_type_is_said) {
  Incident incident = python_incident("");
  incident.verdict.reset();
  incident.fillers.erase(incident.fillers.begin());
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("500000 objects of type dict filled 60 % of its memory"));
  EXPECT_THAT(answer.action, HasSubstr("tracemalloc"));
}

TEST(FillerAnswer, small_fillers_and_sizes_of_blocks_are_no_culprits) {
  Incident incident = python_incident("leak");
  incident.fillers = {found("holder", "list of dict", "`LOG` in module `app`", 0.2)};
  EXPECT_FALSE(answer_of(incident).culprit.has_value());
  incident.fillers = {found("size", "blocks of 288 B", "", 0.9)};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_FALSE(answer.culprit.has_value());
  EXPECT_THAT(answer.sentence, HasSubstr("500000 blocks of 288 B are 90 % of its memory"));
}

TEST(FillerAnswer, plain_types_of_python_are_said_with_the_other_class_of_most_objects) {
  Incident incident = python_incident("leak");
  incident.fillers = {found("type", "str", "", 0.41), found("type", "key tables of dicts", "", 0.1),
                      found("type", "float", "", 0.1), found("type", "Offer", "", 0.1)};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("of type str filled 41 % of its memory"));
  EXPECT_THAT(answer.sentence, HasSubstr("; of other classes there were most of Offer, 500000 objects"));
  EXPECT_THAT(answer.action, HasSubstr("Find what keeps so many Offer ("));
  incident.fillers[3].count = 49'999;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("Offer")));
  EXPECT_THAT(answer_of(incident).action, HasSubstr("so many str ("));
  incident.fillers.front() = found("type", "Basket", "", 0.5);
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("of other classes")));
}

TEST(FillerAnswer, blocks_of_a_size_are_said_with_the_programs_class_of_as_many_objects) {
  Incident incident = python_incident("leak");
  incident.fillers = {found("size", "blocks of 2608 B", "", 0.95), found("type", "proxy::Connection", "", 0.04),
                      found("type", "std::thread::_State", "", 0.01)};
  for (IncidentFiller& filler : incident.fillers) filler.runtime = "native";
  incident.fillers[2].count *= 2;
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("500000 blocks of 2608 B are 95 % of its memory; of its own classes there "
                                         "were most of proxy::Connection, 500000 objects."));
  EXPECT_FALSE(answer.culprit.has_value());
  incident.fillers[1].count = 40'000;
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("are 95 % of its memory."));
}

Incident node_incident(std::vector<IncidentFiller> fillers) {
  Incident incident = python_incident("leak");
  incident.victims.front().comm = "node";
  for (IncidentFiller& filler : fillers) filler.runtime = "v8";
  incident.fillers = std::move(fillers);
  return incident;
}

TEST(FillerAnswer, class_of_a_node_program_is_named_with_what_its_objects_hold) {
  const IncidentAnswer answer =
      answer_of(node_incident({found("holder", "Session", "", 0.86), found("type", "(string)", "", 0.5)}));
  EXPECT_EQ(answer.sentence,
            "Memory leak in node: 500000 `Session` objects with what only they hold filled 86 % of its memory "
            "(82.6 MiB), and it grew until its limit of 96.0 MiB was reached.");
  EXPECT_EQ(
      answer.action,
      "Find what keeps so many Session (node --heapsnapshot-signal=SIGUSR2 writes a heap snapshot that shows what "
      "holds them; with --max-old-space-size below the limit, Node ends with a stack instead); a larger limit "
      "only delays the next kill.");
}

TEST(FillerAnswer, strings_of_a_node_program_are_said_with_its_class_of_most_objects) {
  IncidentAnswer answer =
      answer_of(node_incident({found("type", "(string)", "", 0.7), found("holder", "Session", "", 0.1)}));
  EXPECT_THAT(answer.sentence, HasSubstr("500000 objects of type (string) filled 70 %"));
  EXPECT_THAT(answer.sentence, HasSubstr("of its own classes there were most of Session, 500000 objects"));
  answer = answer_of(node_incident({found("type", "(string)", "", 0.7), found("type", "Array", "", 0.1)}));
  EXPECT_THAT(answer.sentence, Not(HasSubstr("of its own classes")));
}

TEST(FillerAnswer, plain_objects_of_a_node_program_have_no_class) {
  const IncidentAnswer answer = answer_of(node_incident({found("holder", "Object", "", 0.8)}));
  EXPECT_THAT(answer.sentence, HasSubstr("500000 plain objects with what only they hold filled 80 %"));
  EXPECT_THAT(answer.action, HasSubstr("Find what keeps so many plain objects ("));
}

TEST(FillerAnswer, buffers_of_a_node_program_are_not_bounded_by_its_heap) {
  const IncidentAnswer answer = answer_of(node_incident({found("type", "ArrayBuffer", "", 0.9)}));
  EXPECT_THAT(answer.action, HasSubstr("heapsnapshot-signal"));
  EXPECT_THAT(answer.action, Not(HasSubstr("max-old-space-size")));
}

Incident with_malloc(std::uint64_t free_mib, std::uint64_t used_mib) {
  Incident incident = python_incident("leak");
  incident.fillers.clear();
  incident.composition.emplace();
  incident.composition->as_of = {incident.time.ns - 2'000'000'000};
  incident.composition->parts = {{"malloc: free", "native", free_mib << 20, "chunks"},
                                 {"malloc: in use", "native", used_mib << 20, "chunks"}};
  return incident;
}

TEST(FillerAnswer, what_native_code_took_is_said_where_the_runtimes_own_objects_are_little) {
  Incident incident = with_malloc(2, 80);
  incident.fillers = {found("type", "str", "", 0.02)};
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("98 % of its memory (80.0 MiB) are blocks that native code took from malloc; its own objects"));
  incident.composition->parts.push_back({"python objects: in use", "cpython", 90u << 20, "pools"});
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("native code")));
}

TEST(FillerAnswer, objects_that_lie_in_blocks_of_malloc_are_not_said_to_be_native_codes) {
  Incident incident = with_malloc(2, 80);
  incident.fillers = {found("type", "bytes", "", 0.24), found("type", "str", "", 0.23),
                      found("type", "list", "", 0.22)};
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("native code")));
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("the most is 500000 objects of type bytes with 24 %"));
}

TEST(AllocatorRetention, free_blocks_that_fill_the_limit_are_the_cause) {
  const auto verdict = judge_incident(with_malloc(40, 20));
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->cause, "allocator_retention");
  EXPECT_THAT(verdict->why.front(), HasSubstr("42 % of the limit"));
  Incident incident = with_malloc(40, 20);
  incident.verdict = verdict;
  EXPECT_THAT(answer_of(incident).action, HasSubstr("malloc_trim"));
}

TEST(AllocatorRetention, little_free_memory_or_less_than_is_in_use_is_no_cause) {
  for (const auto& [free, used] : {std::pair(25, 10), std::pair(40, 50)}) {
    const auto verdict = judge_incident(with_malloc(free, used));
    EXPECT_NE(verdict ? verdict->cause : "", "allocator_retention") << free << " " << used;
  }
}

TEST(AllocatorRetention, a_reading_of_long_ago_shows_nothing_of_the_kill) {
  Incident incident = with_malloc(40, 20);
  incident.composition->as_of = {incident.time.ns - 60'000'000'000};
  const auto verdict = judge_incident(incident);
  EXPECT_NE(verdict ? verdict->cause : "", "allocator_retention");
}

}  // namespace
}  // namespace oomw
