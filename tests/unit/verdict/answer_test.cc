// SPDX-License-Identifier: Apache-2.0
#include "verdict/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Killed for a cause, without anything that names code.
Incident incident_of(const std::string& cause) { return test::judged_as(cause); }

IncidentFiller filler() {
  return {"go",
          "site",
          "main.(*Cache).Put (cache.go:44)",
          {"main.(*Cache).Put", "bytes.growSlice"},
          "endpoint",
          "main.report",
          118u << 20,
          0.92,
          "at_kill"};
}

TrendSite trend_site(std::string judgement, std::uint64_t last_held_bytes, std::vector<std::string> frames) {
  TrendSite site;
  site.frames = std::move(frames);
  site.figures.judgement = std::move(judgement);
  site.figures.last_held_bytes = last_held_bytes;
  return site;
}

TEST(Answer, NamesTheCodeThatAllocatedWhatIsHeld) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_EQ(answer.sentence,
            "Memory leak in cart: main.(*Cache).Put (cache.go:44) allocated 92 % of the heap (118 MiB) for endpoint "
            "main.report, and it grew until its limit of 256 MiB was reached.");
  EXPECT_EQ(answer.action, "Free or bound what main.(*Cache).Put keeps; a larger limit only delays the next kill.");
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "allocates");
  EXPECT_THAT(answer.culprit->path, ElementsAre("main.(*Cache).Put", "bytes.growSlice"));
  EXPECT_EQ(answer.culprit->evidence, "at_kill");
  EXPECT_EQ(answer.cause, "leak");
  EXPECT_DOUBLE_EQ(answer.confidence, 0.5);
}

TEST(Answer, CodeThatAllocatesForSeveralNamesThem) {
  Incident incident = incident_of("undersized");
  incident.fillers = {filler()};
  incident.fillers.front().operation_kind = "job";
  incident.fillers.front().operation = "main.(*store).run, main.(*saw).run and 3 others";
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("(118 MiB) for jobs main.(*store).run, main.(*saw).run and 3 others"));
  incident.fillers.front().operation_kind = "";
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("(118 MiB) for main.(*store).run, main"));
}

TEST(Answer, AHandlerThatAllocatesItselfIsNamedOnce) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};
  incident.fillers.front().name = "main.report (report.go:9)";
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("main.report (report.go:9) allocated 92 % of the heap (118 MiB) "
                                                      "(endpoint handler), and"));
}

// A share below a quarter could not have caused the kill.
TEST(Answer, ASmallShareNamesNobody) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};
  incident.fillers.front().share = 0.2;
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_FALSE(answer.culprit);
  EXPECT_THAT(answer.sentence, HasSubstr("No single code holds much of the heap; the most is main.(*Cache).Put "
                                         "(cache.go:44) with 20 %."));
}

TEST(Answer, WithoutAHeapItSaysWhatWouldTell) {
  const IncidentAnswer answer = answer_of(incident_of("leak"));
  EXPECT_FALSE(answer.culprit);
  EXPECT_THAT(answer.sentence, HasSubstr("no heap of this program could be read"));
  EXPECT_THAT(answer.action, StartsWith("Raise no limit before the code is known"));
}

TEST(Answer, AGoProgramWithoutHeapProfilesIsToldApart) {
  Incident incident = incident_of("leak");
  incident.captures = {test::sample_incident().captures[0]};
  incident.captures[0].result = "failed";
  incident.captures[0].reason = "linked_out";
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("this Go program keeps no heap profile"));
}

TEST(Answer, AQueueThatGrewKeepsTheMemoryWhoeverAllocatedIt) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};
  incident.collector.emplace();
  incident.collector->exporters = {{{"otlp/backend", 139, 1000, 120}}};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_EQ(answer.sentence,
            "Kept by exporter otlp/backend: its sending queue holds 139 of 1000, 120 more than at first.");
  EXPECT_EQ(answer.culprit->claim, "keeps");
  EXPECT_EQ(answer.action, "Raise no limit: cap the sending queue, or mend the backend it waits for.");
}

TEST(Answer, TheSiteThatTheDetectorReportsComesBeforeTheLargest) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};
  incident.trend = test::sample_incident().trend;
  ASSERT_TRUE(incident.trend);
  incident.trend->sites = {
      trend_site("leak", 30u << 20,
                 {"bytes.growSlice /go/bytes.go:1", "main.slow /src/app/main.go:7", "main.main /src/app/main.go:1"})};
  incident.trend->whole.last_held_bytes = 60u << 20;
  const IncidentAnswer answer = answer_of(incident);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->code, "main.slow (main.go:7)");
  EXPECT_THAT(answer.culprit->path, ElementsAre("main.slow", "bytes.growSlice"));
  EXPECT_DOUBLE_EQ(answer.culprit->share.value_or(0), 0.5);
}

TEST(Answer, AHelperThatOthersCallWithoutGrowthIsNotWhatLeaks) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};  // of all its callers; what it is said to work for is that of another
  incident.fillers.front().name = "main.block (main.go:44)";
  incident.fillers.front().path = {"main.block"};
  incident.trend = test::sample_incident().trend;
  const TrendSite leaking =
      trend_site("leak", 30u << 20,
                 {"main.block /src/main.go:44", "main.openSession /src/leak.go:61", "main.pace /src/main.go:65"});
  const TrendSite resting =
      trend_site("not_called", 0,
                 {"main.block /src/main.go:44", "main.loadEntry /src/service.go:36", "main.pace /src/main.go:65"});
  incident.trend->whole.first_live_bytes = 0;
  incident.trend->whole.last_live_bytes = incident.trend->whole.last_held_bytes = 60u << 20;
  TrendSite small = leaking;  // the same way, another size of object
  small.figures.judgement = "not_called";
  incident.trend->sites = {leaking, resting, small};
  const IncidentAnswer answer = answer_of(incident);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->code, "main.openSession (leak.go:61)");
  EXPECT_THAT(answer.culprit->path, ElementsAre("main.openSession", "main.block"));
  EXPECT_EQ(answer.culprit->operation, "");
  incident.trend->sites = {leaking};
  EXPECT_EQ(answer_of(incident).culprit->code, "main.block (main.go:44)");
}

TEST(Answer, CodeThatTheConfigurationCallsALibraryIsPassedInASiteThatLeaks) {
  Incident incident = incident_of("leak");
  incident.fillers.clear();
  incident.trend = test::sample_incident().trend;
  incident.trend->sites = {trend_site(
      "leak", 30u << 20, {"github.com/acme/pool.(*Pool).Get /src/pool.go:4", "main.openSession /src/leak.go:61"})};
  EXPECT_EQ(answer_of(incident).culprit->code, "github.com/acme/pool.(*Pool).Get (pool.go:4)");
  const auto patterns = OperationPatterns::make({"library github.com/acme/pool"});
  ASSERT_TRUE(patterns.has_value());
  EXPECT_EQ(answer_of(incident, *patterns).culprit->code, "main.openSession (leak.go:61)");
}

// Before the second collection the live heap has gained nothing, and half of nothing is what every site has.
TEST(Answer, WhereTheLiveHeapGainedNothingNoSiteGrew) {
  Incident incident = incident_of("leak");
  incident.fillers = {filler()};
  incident.trend = test::sample_incident().trend;
  incident.trend->whole.first_live_bytes = incident.trend->whole.last_live_bytes = 28u << 20;
  incident.trend->sites = {trend_site(
      "not_called", 3u << 20,
      {"compress/flate.NewWriter /go/deflate.go:666", "runtime/pprof.(*profileBuilder).build /go/proto.go:1"})};
  EXPECT_EQ(answer_of(incident).culprit->code, "main.(*Cache).Put (cache.go:44)");
}

TEST(Answer, TypeArgumentsOfTheSiteThatLeaksAreNotPrinted) {
  Incident incident = incident_of("leak");
  incident.trend = test::sample_incident().trend;
  incident.trend->sites = {trend_site(
      "leak", 30u << 20,
      {"bytes.growSlice /go/bytes.go:1", "main.decoded[go.shape.struct { ID string }].func1 /src/main.go:7"})};
  incident.fillers.clear();
  const IncidentAnswer answer = answer_of(incident);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->code, "main.decoded[...].func1 (main.go:7)");
  EXPECT_THAT(answer.culprit->path, ElementsAre("main.decoded[...].func1", "bytes.growSlice"));
}

// What the heap holds is not what filled these limits.
TEST(Answer, ALimitOfOthersBlamesNoCodeOfTheVictim) {
  for (const char* cause :
       {"off_heap", "allocator_retention", "page_cache_or_tmpfs", "sibling", "pod_limit", "ancestor_limit", "node"}) {
    Incident incident = incident_of(cause);
    incident.fillers = {filler()};
    const IncidentAnswer answer = answer_of(incident);
    EXPECT_FALSE(answer.culprit) << cause;
    EXPECT_THAT(answer.sentence, Not(HasSubstr("main."))) << cause;
    EXPECT_FALSE(answer.action.empty()) << cause;
  }
}

TEST(Answer, TheProcessThatHeldWhatTheVictimDidNotIsNamed) {
  Incident incident = incident_of("sibling");
  incident.memory_stat["anon"] = 100u << 20;
  incident.victims[0].rss->anon_bytes = 20u << 20;
  incident.others = OtherProcesses{2, 0, OtherProcess{7, "python3", "python3 index\x1b.py", 40u << 20}};
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("not cart: python3 (pid 7, `python3 index\\x1b.py`) had 40.0 MiB right after the kill; "));
  EXPECT_THAT(answer_of(incident).action, HasSubstr("Look at python3 (pid 7"));
  incident.others->largest->resident_bytes = 39u << 20;  // the rest is of others
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("python3")));
}

TEST(Answer, WhoHeldMostOfAnAncestorsLimitIsSaidWithWhatFilledIt) {
  Incident incident = incident_of("ancestor_limit");
  incident.limit_owner_cgroup_path = "/pods/shop";
  incident.usage_bytes = 256u << 20;
  incident.victims.front().rss->anon_bytes = 128u << 20;
  EXPECT_EQ(answer_of(incident).sentence,
            "The limit of 256 MiB of /pods/shop was reached, which cart shares with others.");
  EXPECT_THAT(answer_of(incident).action, StartsWith("See what else shares that limit"));
  incident.victims.front().rss->anon_bytes = 200u << 20;
  EXPECT_EQ(answer_of(incident).sentence,
            "The limit of 256 MiB of /pods/shop was reached, which cart shares with others; cart alone held 200 MiB of "
            "it.");
  EXPECT_EQ(answer_of(incident).action, "Look at cart first: it held most of that limit.");
  IncidentFiller sessions{"v8", "holder", "Session", {}, "", "", 100u << 20, 0.5, "analysis"};
  sessions.count = 3000;
  incident.fillers = {sessions};
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("held 200 MiB of it. In it, 3000 `Session` objects with what only"));
}

TEST(Answer, WhatIsNotOnTheGoHeapIsSaidWithTheCodeThatTouchedItFirst) {
  Incident incident = incident_of("off_heap");
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("first touched")));
  EXPECT_EQ(answer_of(incident).action, "Count goroutines and what cgo or mmap holds while it runs.");
  incident.growth.emplace();
  incident.growth->samples = 40;
  incident.growth->grown_bytes = 10u << 20;
  incident.victims.front().rss->anon_bytes = 30u << 20;
  incident.growth->places = {{"_cgo_b3_Cfunc__Cmalloc (cart)", "", "", 9u << 20, 0.9, false}};
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("Its growth was first touched mostly in _cgo_b3_Cfunc__Cmalloc (cart) (90 % of the growth"));
  EXPECT_EQ(answer_of(incident).action,
            "See who maps what _cgo_b3_Cfunc__Cmalloc writes to, and whether each way out of it gives that back.");
  EXPECT_FALSE(answer_of(incident).culprit);
  incident.victims.front().rss->anon_bytes = 90u << 20;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("first touched"))) << "a ninth of it was sampled";
}

TEST(Answer, EachSuggestedLimitIsInTheAction) {
  Incident incident = incident_of("undersized");
  incident.verdict->suggested_limit = SuggestedLimit{320u << 20, true, "why"};
  EXPECT_EQ(answer_of(incident).action, "Raise the limit to at least 320 MiB.");
}

TEST(Answer, WithoutAVerdictNothingIsClaimed) {
  const IncidentAnswer answer = answer_of(incident_of(""));
  EXPECT_EQ(answer.cause, "");
  EXPECT_THAT(answer.sentence,
              StartsWith("cart reached its limit of 256 MiB; neither a leak nor a spike could be shown."));
  Incident nobody = incident_of("");
  nobody.victims.clear();
  EXPECT_EQ(answer_of(nobody).sentence, "A process was OOM-killed; which one is not known.");
}

TEST(Answer, HostileNamesComeOutPrintable) {
  Incident incident = incident_of("leak");
  incident.victims.front().comm = "a\x1b[2Jb";
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace oomw
