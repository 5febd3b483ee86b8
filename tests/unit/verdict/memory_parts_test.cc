// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "verdict/memory_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/memory_part.h"
#include "support/builders.h"
#include "verdict/answer.h"
#include "verdict/filler_answer.h"
#include "verdict/verdict.h"

namespace oomw {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

struct Mebibytes {
  std::uint64_t heap = 0, direct = 0, stacks = 0, metaspace = 0, rest = 0;
};

Incident java_incident(std::uint64_t limit, std::uint64_t max_heap, const Mebibytes& parts) {
  Incident incident = test::incident_without_findings();
  incident.limit_bytes = limit << 20;
  incident.victims.front().comm = "java";
  incident.composition.emplace();
  incident.composition->as_of = {incident.time.ns - 500'000'000};
  incident.composition->max_heap_bytes = max_heap << 20;
  const auto add = [&](std::string_view name, const char* runtime, std::uint64_t mebibytes) {
    if (mebibytes > 0)
      incident.composition->parts.push_back({std::string(name), runtime, mebibytes << 20, "its range"});
  };
  add(memory_part::kJavaHeap, "jvm", parts.heap);
  add(memory_part::kDirectBuffers, "jvm", parts.direct);
  add(memory_part::kThreadStacks, "jvm", parts.stacks);
  add(memory_part::kMetaspace, "jvm", parts.metaspace);
  add("malloc: in use", "native", parts.rest);
  return incident;
}

IncidentFiller java_class(const std::string& name, std::uint64_t count, std::uint64_t bytes, double share) {
  IncidentFiller filler;
  filler.runtime = "jvm";
  filler.kind = "type";
  filler.name = name;
  filler.count = count;
  filler.bytes = bytes;
  filler.share = share;
  filler.evidence = "analysis";
  return filler;
}

Incident judged(Incident incident) {
  conclude(incident);
  return incident;
}

std::string cause_in(const Incident& incident) { return incident.verdict ? incident.verdict->cause : ""; }

TEST(MemoryParts, maximum_heap_above_what_the_limit_leaves_does_not_fit) {
  Incident incident = java_incident(256, 200, {.heap = 160, .direct = 45, .rest = 26});
  incident.fillers = {java_class("byte[]", 60'000, 58u << 20, 0.25), java_class("Shop$Cart", 60'000, 2u << 20, 0.01)};
  incident = judged(incident);
  ASSERT_EQ(cause_in(incident), "does_not_fit");
  EXPECT_EQ(incident.answer->sentence,
            "The maximum heap of java does not fit: 200 MiB of heap (-Xmx) and 71.0 MiB beside it are more than the "
            "limit of 256 MiB, so the kernel ended it before that heap was full. Its heap held 60000 x byte[] (58.0 "
            "MiB), 60000 "
            "x Shop$Cart (2.00 MiB); of its own classes there were most of Shop$Cart, 60000 objects.");
  EXPECT_EQ(incident.answer->action, "Set -Xmx160m, or raise the limit to 288 MiB.");
  EXPECT_EQ(incident.verdict->suggested_limit->bytes, 288u << 20);
  EXPECT_THAT(next_steps(incident).front().commands.front(), HasSubstr("-Xmx160m"));
}

TEST(MemoryParts, maximum_heap_that_fits_is_no_cause) {
  EXPECT_NE(cause_in(judged(java_incident(256, 200, {.heap = 197, .rest = 32}))), "does_not_fit");
}

TEST(MemoryParts, heap_that_is_not_the_largest_part_is_not_what_does_not_fit) {
  EXPECT_NE(cause_in(judged(java_incident(256, 1024, {.heap = 80, .rest = 150}))), "does_not_fit");
}

TEST(MemoryParts, limit_that_leaves_no_room_for_any_heap_has_to_be_raised) {
  const Incident incident = judged(java_incident(48, 64, {.heap = 22, .stacks = 10, .rest = 20}));
  ASSERT_EQ(cause_in(incident), "does_not_fit");
  EXPECT_EQ(incident.answer->action, "Raise the limit to 112 MiB.");
}

TEST(MemoryParts, part_that_is_larger_than_the_heap_is_the_cause) {
  const std::vector<std::pair<std::string, Mebibytes>> cases = {
      {"direct_buffers", {.heap = 20, .direct = 120, .rest = 20}},
      {"thread_stacks", {.heap = 20, .stacks = 60, .rest = 40}},
      {"metaspace", {.heap = 50, .metaspace = 76, .rest = 90}}};
  for (const auto& [cause, parts] : cases) {
    const Incident incident = judged(java_incident(256, 64, parts));
    EXPECT_EQ(cause_in(incident), cause);
    EXPECT_THAT(incident.answer->action, HasSubstr("a smaller heap does not help"));
    EXPECT_FALSE(next_steps(incident).empty());
  }
}

TEST(MemoryParts, how_it_came_to_that_is_said_beside_what_fills_it) {
  Incident incident = judged(java_incident(256, 200, {.heap = 160, .direct = 45, .rest = 26}));
  ASSERT_EQ(cause_in(incident), "does_not_fit");
  EXPECT_THAT(part_sentence(incident, "java"), Not(HasSubstr("too:")));
  const Finding sibling{"sibling", 0.9, {"others held more"}};
  incident.verdict->also = {sibling, {"spike", 0.8, {"memory rose from 31.7 MiB to 95.1 MiB in the last 3 s"}}};
  EXPECT_THAT(part_sentence(incident, "java"),
              EndsWith(" A sudden growth, too: memory rose from 31.7 MiB to 95.1 MiB in the last 3 s."));
  incident.verdict->also = {{"leak", 0.5, {"memory rose all the 42 s"}}};
  EXPECT_THAT(part_sentence(incident, "java"), EndsWith(" Perhaps a leak, too: memory rose all the 42 s."));
  incident = judged(java_incident(256, 64, {.heap = 10, .direct = 200, .rest = 20}));
  ASSERT_EQ(cause_in(incident), "direct_buffers");
  incident.verdict->also = {{"leak", 0.5, {"memory rose all the 42 s"}}};
  EXPECT_THAT(part_sentence(incident, "java"), EndsWith(" Perhaps a leak, too: memory rose all the 42 s."));
}

TEST(MemoryParts, code_that_touched_first_is_said_beside_what_fills_it_and_a_collector_is_not) {
  Incident incident = judged(java_incident(256, 64, {.heap = 10, .direct = 200, .rest = 20}));
  incident.growth.emplace();
  incident.growth->samples = 400;
  incident.growth->grown_bytes = 100u << 20;
  IncidentGrowth::Place place;
  place.code = "acme.Preview.<init>";
  place.callers = {"acme.Printer.send"};
  place.bytes = 95u << 20;
  place.share = 0.95;
  incident.growth->places = {place};
  EXPECT_THAT(
      part_sentence(incident, "java"),
      EndsWith(" Its growth was first touched mostly in acme.Preview.<init>, called by acme.Printer.send (95 % of "
               "the growth, 95.0 MiB); that may be temporary data, so it does not show who keeps it."));
  incident.growth->places.front().is_collector = true;
  EXPECT_THAT(part_sentence(incident, "java"), Not(HasSubstr("growth")));
}

TEST(MemoryParts, part_that_is_small_or_smaller_than_the_heap_is_no_cause) {
  for (const Mebibytes parts :
       {Mebibytes{.heap = 100, .stacks = 60, .rest = 40}, Mebibytes{.heap = 10, .direct = 90, .rest = 120},
        Mebibytes{.heap = 10, .metaspace = 20, .rest = 120}}) {
    const std::string cause = cause_in(judged(java_incident(256, 64, parts)));
    EXPECT_FALSE(cause == "direct_buffers" || cause == "thread_stacks" || cause == "metaspace") << cause;
  }
}

Incident native_incident(std::uint64_t stacks, std::uint64_t rest) {
  Incident incident = java_incident(256, 64, {.stacks = stacks, .rest = rest});
  incident.composition->max_heap_bytes.reset();
  incident.victims.front().comm = "server";
  incident.composition->parts.front().runtime = "native";
  return judged(incident);
}

TEST(MemoryParts, stacks_of_another_runtime_get_no_advice_for_java) {
  const Incident incident = native_incident(200, 40);
  EXPECT_EQ(cause_in(incident), "thread_stacks");
  EXPECT_THAT(incident.answer->sentence, HasSubstr("Threads filled server: 200 MiB of its 240 MiB were thread stacks"));
  EXPECT_THAT(incident.answer->sentence, Not(HasSubstr("heap")));
  EXPECT_THAT(incident.answer->action, Not(HasSubstr("heap")));
  EXPECT_THAT(next_steps(incident).front().commands.front(), Not(HasSubstr("jcmd")));
}

TEST(MemoryParts, stacks_of_another_runtime_below_half_are_no_cause) {
  EXPECT_NE(cause_in(native_incident(100, 120)), "thread_stacks");
}

TEST(MemoryParts, figures_of_nonsense_are_no_cause) {
  Incident incident = java_incident(256, 64, {.heap = 200});
  incident.composition->max_heap_bytes = ~std::uint64_t{0};
  incident.composition->as_of = {std::numeric_limits<std::int64_t>::min()};
  EXPECT_NE(cause_in(judged(incident)), "does_not_fit");
}

TEST(MemoryParts, class_of_the_program_is_said_beside_an_array) {
  Incident incident = java_incident(256, 64, {.heap = 60, .rest = 150});
  incident.verdict = IncidentVerdict{"leak", 0.5, {"memory rose in each quarter"}};
  incident.fillers = {java_class("byte[]", 60'000, 100u << 20, 0.5), java_class("Shop$Cart", 60'000, 2u << 20, 0.01)};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("60000 objects of type byte[] filled 50 % of its memory"));
  EXPECT_THAT(answer.sentence, HasSubstr("of its own classes there were most of Shop$Cart, 60000 objects"));
  EXPECT_THAT(answer.action, HasSubstr("what keeps so many Shop$Cart"));
  EXPECT_THAT(answer.action, HasSubstr("GC.heap_dump"));
  EXPECT_THAT(answer.action, Not(HasSubstr("tracemalloc")));
}

TEST(MemoryParts, few_objects_of_a_class_of_the_program_are_not_said) {
  Incident incident = java_incident(256, 64, {.heap = 60, .rest = 150});
  incident.fillers = {java_class("byte[]", 60'000, 100u << 20, 0.5), java_class("Shop$Main", 3, 64, 0)};
  EXPECT_EQ(own_class_text(incident, incident.fillers.front()), "");
  incident.fillers.back() = java_class("Shop$Order", 4'000, 1u << 17, 0);  // with 15 texts each
  EXPECT_THAT(own_class_text(incident, incident.fillers.front()), HasSubstr("most of Shop$Order, 4000 objects"));
}

}  // namespace
}  // namespace oomw
