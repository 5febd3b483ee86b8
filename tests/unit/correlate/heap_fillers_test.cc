// SPDX-License-Identifier: Apache-2.0
#include "correlate/heap_fillers.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

// Two profiles of the victim, 20 s and 1 s before its kill.
struct Pair {
  Incident incident;
  std::vector<CaptureFinished> captures{2};

  Pair() {
    incident.time = {100'000'000'000};
    incident.victims.emplace_back().process.pid = 7;
    for (const std::int64_t lead : {20, 1}) {
      IncidentCapture capture;
      capture.file = "capture.pb.gz";
      capture.method = "live";
      capture.result = "ok";
      capture.of = "go";
      capture.pid = 7;
      capture.complete = true;
      capture.time = {incident.time.ns - lead * 1'000'000'000};
      incident.captures.push_back(capture);
    }
    captures[0].sites.operations = {{"endpoint", "main.report", 10, 0.5}, {"job", "main.tick", 0, 0}};
    captures[1].sites.operations = {{"endpoint", "main.report", 40, 0.8}, {"job", "main.tick", 5, 0.1}};
    captures[1].sites.sites = {{"main.put (a.go:1)", {"main.put"}, 40, 0.8, "endpoint", "main.report"}};
  }
};

TEST(HeapFillers, AreOfTheBestProfileAndGrowthCountsFromTheFirst) {
  Pair pair;
  add_fillers(pair.incident, pair.captures);
  ASSERT_EQ(pair.incident.fillers.size(), 1U);
  const IncidentFiller& filler = pair.incident.fillers.front();
  EXPECT_EQ(filler.runtime, "go");
  EXPECT_EQ(filler.kind, "site");
  EXPECT_EQ(filler.name, "main.put (a.go:1)");
  EXPECT_EQ(filler.evidence, "live");
  ASSERT_EQ(pair.incident.operations.size(), 2U);
  EXPECT_DOUBLE_EQ(pair.incident.operations[0].growth_ratio.value_or(0), 4);
  EXPECT_FALSE(pair.incident.operations[1].growth_ratio) << "nothing was held before: there is no ratio";
}

// What was live at the last collection and what is held now are different series.
TEST(HeapFillers, ProfilesOfDifferentSeriesGiveNoGrowth) {
  Pair pair;
  pair.incident.captures[0].method = "http";
  add_fillers(pair.incident, pair.captures);
  ASSERT_EQ(pair.incident.operations.size(), 2U);
  EXPECT_FALSE(pair.incident.operations[0].growth_ratio);
}

TEST(HeapFillers, WithoutAProfileThereAreNone) {
  Pair pair;
  for (IncidentCapture& capture : pair.incident.captures) capture.result = "failed";
  add_fillers(pair.incident, pair.captures);
  EXPECT_TRUE(pair.incident.fillers.empty());
  EXPECT_TRUE(pair.incident.operations.empty());
}

}  // namespace
}  // namespace oomw
