// SPDX-License-Identifier: Apache-2.0
#include "verdict/culprit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "verdict/answer.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A Collector whose requests are unpacked by many functions of its receiver, and packed by one of its exporter.
Incident collector(const std::string& cause) {
  Incident incident = test::judged_as(cause);
  incident.collector.emplace();
  incident.collector->components = {{"receiver", "otlp", "", 170u << 20, 0.7},
                                    {"exporter", "otlphttp", "", 63u << 20, 0.26}};
  incident.collector->components_file = "capture-02.pb.gz";
  incident.fillers = {{"go",
                       "site",
                       "ptraceotlp.Marshal (a.go:1)",
                       {"ptraceotlp.Marshal"},
                       "component",
                       "exporter/otlphttp",
                       63u << 20,
                       0.26,
                       "at_kill"},
                      {"go",
                       "site",
                       "pdata.Unmarshal (a.go:2)",
                       {"pdata.Unmarshal"},
                       "component",
                       "receiver/otlp",
                       60u << 20,
                       0.25,
                       "at_kill"}};
  return incident;
}

IncidentHolder exporter(std::uint64_t bytes) {
  IncidentHolder one;
  one.share = 0.84;
  one.bytes = bytes;
  one.is_owner = true;
  one.component = "exporter/otlphttp";
  one.chain = {"goroutine queue.Start", " -> queue.request"};
  return one;
}

TEST(Culprit, of_a_collector_is_the_component_that_allocated_most_and_no_single_function) {
  for (const char* cause : {"spike", "undersized", ""}) {
    const Incident incident = collector(cause);
    const auto culprit = find_culprit(incident, cause, {});
    ASSERT_TRUE(culprit) << cause;
    EXPECT_EQ(culprit->claim, "allocates");
    EXPECT_EQ(culprit->code, "receiver otlp");
    EXPECT_EQ(culprit->operation, "receiver/otlp");
    EXPECT_THAT(culprit->path, IsEmpty());
    EXPECT_EQ(culprit->evidence, "capture-02.pb.gz");
    EXPECT_THAT(answer_of(incident, {}).sentence,
                HasSubstr(". The receiver otlp allocated 70 % of the heap (170 MiB)."));
  }
}

TEST(Culprit, of_a_collector_is_code_outside_of_its_components_that_allocated_more_than_any_of_them) {
  Incident incident = collector("undersized");
  incident.fillers.front().share = 0.75;
  incident.fillers.front().operation.clear();
  EXPECT_EQ(find_culprit(incident, "undersized", {})->code, "ptraceotlp.Marshal (a.go:1)");
}

TEST(Culprit, that_is_a_package_of_all_exporters_is_said_to_be_that) {
  Incident incident = collector("undersized");
  incident.collector->components->front() = {"exporter", "exporterhelper", "", 170u << 20, 0.7};
  EXPECT_THAT(answer_of(incident, {}).sentence, HasSubstr(". The helper of every exporter allocated 70 % of the heap"));
}

TEST(Culprit, of_a_collectors_leak_is_not_who_received_what_stays) {
  Incident incident = collector("leak");
  const std::string known = "The receiver otlp allocated 70 % of the heap (170 MiB); who keeps that is not known.";
  EXPECT_FALSE(find_culprit(incident, "leak", {})) << "nor a function of what allocated less";
  EXPECT_THAT(answer_of(incident, {}).sentence, HasSubstr(known));
  incident.fillers.erase(incident.fillers.begin());
  EXPECT_FALSE(find_culprit(incident, "leak", {}));
  EXPECT_THAT(answer_of(incident, {}).sentence, HasSubstr(known));
}

TEST(Culprit, of_a_leak_may_be_a_receivers_own_code) {
  Incident incident = collector("leak");
  incident.fillers.erase(incident.fillers.begin());
  incident.fillers.front().name = "scrape.(*cache).add (a.go:2)";
  EXPECT_EQ(find_culprit(incident, "leak", {})->code, "scrape.(*cache).add (a.go:2)");
  incident.fillers.front().name = "pdata.Unmarshal (a.go:2)";
  incident.fillers.front().operation = "receiver/otlp, processor/tail_sampling";
  incident.fillers.front().share = 0.8;
  EXPECT_TRUE(find_culprit(incident, "leak", {})) << "half of it was for somebody else";
}

TEST(Culprit, is_nobody_where_the_heap_is_spread_over_many_components) {
  Incident incident = collector("undersized");
  for (CollectorComponent& component : *incident.collector->components) component.ratio = 0.2;
  for (IncidentFiller& filler : incident.fillers) filler.share = 0.1;
  EXPECT_FALSE(find_culprit(incident, "undersized", {}));
}

TEST(Culprit, of_a_limit_that_is_too_small_keeps_half_of_it_or_is_not_said_to_keep) {
  Incident incident = collector("undersized");
  incident.holders = {exporter(60u << 20)};
  EXPECT_EQ(find_culprit(incident, "undersized", {})->code, "receiver otlp");
  EXPECT_THAT(answer_of(incident, {}).sentence, Not(HasSubstr("Kept by")));
  EXPECT_EQ(find_culprit(incident, "leak", {})->code, "exporter otlphttp");
  incident.collector->components.reset();
  incident.fillers.clear();
  EXPECT_FALSE(find_culprit(incident, "undersized", {})) << "nor where nobody else is known";
  incident.holders = {exporter(200u << 20)};
  EXPECT_EQ(find_culprit(incident, "undersized", {})->code, "exporter otlphttp");
}

}  // namespace
}  // namespace oomw
