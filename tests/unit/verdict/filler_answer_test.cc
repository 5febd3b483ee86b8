// SPDX-License-Identifier: Apache-2.0
#include "verdict/filler_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "support/builders.h"
#include "verdict/answer.h"
#include "verdict/verdict.h"

namespace oomw {
namespace {

using test::found;
using test::python_incident;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FillerAnswer, a_container_with_a_name_is_what_filled_the_memory) {
  const IncidentAnswer answer = answer_of(python_incident("leak"));
  EXPECT_EQ(answer.sentence,
            "Memory leak in python3: a list of 500000 dict held as `LOG` in module `app` filled 86 % of its memory "
            "(82.6 MiB), and it grew until its limit of 96.0 MiB was reached.");
  EXPECT_EQ(answer.action, "Bound or empty `LOG` in module `app`; a larger limit only delays the next kill.");
  ASSERT_TRUE(answer.culprit.has_value());
  EXPECT_EQ(answer.culprit->claim, "fills");
}

TEST(FillerAnswer, a_collection_of_java_with_as_many_entries_as_there_are_objects_is_said_beside) {
  Incident incident = python_incident("leak");
  IncidentFiller bytes = found("type", "byte[]", "", 0.8), collection = found("holder", "java.util.HashMap", "", 0);
  bytes.runtime = collection.runtime = "jvm";
  collection.held_as = "`Outbox.PENDING`";
  incident.fillers = {bytes, collection};
  EXPECT_THAT(filler_text(incident), HasSubstr("; `Outbox.PENDING`, a java.util.HashMap, has 500000 entries"));
  EXPECT_EQ(filler_action(incident),
            "See why `Outbox.PENDING` has so many entries; a larger limit only delays the next kill.");
  incident.fillers[1].count = 100'000;
  EXPECT_THAT(filler_text(incident), Not(HasSubstr("Outbox"))) << "a fifth";
  IncidentFiller own = found("type", "org.acme.Report", "", 0.1);
  own.runtime = "jvm";
  own.count = 150'000;
  incident.fillers.push_back(own);
  EXPECT_THAT(filler_text(incident), HasSubstr("`Outbox.PENDING`, a java.util.HashMap, has 100000 entries; of its own "
                                               "classes there were most of org.acme.Report, 150000 objects"));
  const IncidentFiller counted = incident.fillers[1];
  incident.fillers[1].runtime = "cpython";
  EXPECT_THAT(filler_text(incident), Not(HasSubstr("Outbox")));
  incident.fillers = {counted};
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("is not known; it has 100000 entries in `Outbox.PENDING`, a java"))
      << "a heap whose objects could not be counted";
}

TEST(FillerAnswer, what_follows_a_sentence_begins_as_one) {
  EXPECT_THAT(answer_of(python_incident("undersized")).sentence, HasSubstr(". A list of 500000 dict held as"));
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
  incident.analyses[0].pools->bytes = *victims_anon_bytes(incident) / 5;
  EXPECT_EQ(pools_text(incident), "") << "they explain little";
  incident.analyses[0].pools->bytes = 100u << 20;
  incident.analyses[0].pid += 1;
  EXPECT_EQ(pools_text(incident), "") << "another process";
}

TEST(FillerAnswer, a_container_comes_before_the_type_that_it_consists_of) {
  Incident incident = python_incident("spike");
  std::swap(incident.fillers[0], incident.fillers[1]);
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("held as `LOG` in module `app`"));
}

TEST(FillerAnswer, of_several_the_largest_is_named) {
  Incident incident = python_incident("leak");
  for (const char* kind : {"holder", "type"}) {
    const char* as = kind == std::string("holder") ? "`X` in module `app`" : "";
    incident.fillers = {found(kind, "list of str", as, 0.4), found(kind, "set of int", as, 0.3)};
    EXPECT_THAT(answer_of(incident).culprit->code, ::testing::AllOf(HasSubstr("str"), Not(HasSubstr("int")))) << kind;
  }
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
  EXPECT_THAT(answer.sentence, HasSubstr("500000 blocks of 288 B (for 265 to 280 B) are 90 % of its memory"));
}

TEST(FillerAnswer, plain_types_of_python_are_said_with_the_other_class_of_most_objects) {
  Incident incident = python_incident("leak");
  incident.fillers = {found("type", "str", "", 0.41), found("type", "key tables of dicts", "", 0.1),
                      found("type", "float", "", 0.1), found("type", "Offer", "", 0.1)};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("of type str filled 41 % of its memory"));
  EXPECT_THAT(answer.sentence, HasSubstr("; of other classes there were most of Offer, 500000 objects"));
  EXPECT_THAT(answer.action, HasSubstr("Find what keeps so many Offer ("));
  incident.fillers[3].count = 15'000;  // 33 texts each are too many
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
  EXPECT_THAT(answer.sentence,
              HasSubstr("500000 blocks of 2608 B (for 2585 to 2600 B) are 95 % of its memory; of its own classes there "
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

TEST(FillerAnswer, container_of_a_node_program_comes_before_its_class) {
  const std::string held_as = "`pages` of an instance of `PageCache` (cache.js)";
  const IncidentAnswer answer = answer_of(
      node_incident({found("holder", "Session", "", 0.8), found("holder", "array of Session", held_as, 0.7)}));
  EXPECT_EQ(answer.sentence,
            "Memory leak in node: an array of 500000 Session held as `pages` of an instance of `PageCache` (cache.js) "
            "filled 70 % of its memory (67.2 MiB), and it grew until its limit of 96.0 MiB was reached.");
  EXPECT_EQ(answer.action, "Bound or empty " + held_as + "; a larger limit only delays the next kill.");
}

TEST(FillerAnswer, container_of_what_any_program_has_is_said_with_the_class_of_most_objects) {
  const IncidentFiller container = found("holder", "Map of string", "`texts` in cache.js", 0.7);
  EXPECT_THAT(
      filler_text(node_incident({container, found("holder", "Session", "", 0.1)})),
      HasSubstr("a Map of 500000 string held as `texts` in cache.js filled 70 % of its memory (67.2 MiB); of its "
                "own classes there were most of Session, 500000 objects"));
  EXPECT_THAT(filler_text(node_incident({container, found("holder", "array of Session", "`all` in cache.js", 0.1)})),
              Not(HasSubstr("own classes")))
      << "a container is no class";
}

TEST(FillerAnswer, a_number_of_bytes_objects_is_no_size) {
  Incident incident = python_incident("leak");
  incident.fillers = {found("holder", "deque of bytes", "`FRAMES` in module `app`", 0.9)};
  EXPECT_THAT(filler_text(incident), HasSubstr("a deque of 500000 bytes objects held as `FRAMES`"));
}

TEST(FillerAnswer, calls_of_a_node_program_that_wait_are_said_as_they_are_called) {
  EXPECT_THAT(filler_text(node_incident({found("holder", "calls of `readStock` (stock.js)", "", 0.9)})),
              HasSubstr("500000 calls of `readStock` (stock.js) with what only they hold filled 90 %"));
  EXPECT_THAT(filler_text(node_incident({found("holder", "{shelf, left}", "", 0.9)})),
              HasSubstr("500000 `{shelf, left}` objects with what only they hold filled 90 %"));
  EXPECT_THAT(
      filler_text(node_incident({found("holder", "array of functions `onChange`", "inside `all` in a.js", 0.9)})),
      HasSubstr("an array of 500000 functions `onChange` held inside `all` in a.js filled 90 %"));
  EXPECT_EQ(
      filler_action(node_incident({found("holder", "array of functions `onChange`", "inside `all` in a.js", 0.9)})),
      "Bound or empty what is inside `all` in a.js; a larger limit only delays the next kill.");
}

TEST(FillerAnswer, calls_that_wait_are_said_with_their_function) {
  Incident incident = python_incident("leak");
  incident.fillers = {found("type", "str", "", 0.7), found("type", "_asyncio.Task", "", 0.1),
                      found("type", "coroutine of `load_page`", "", 0.1)};
  EXPECT_THAT(filler_text(incident), HasSubstr("of other classes there were most of coroutine of `load_page`, 500000"));
  incident.fillers.back().name = "coroutine";
  EXPECT_THAT(filler_text(incident), Not(HasSubstr("of other classes"))) << "of any function";
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
  test::add_parts(incident, {{"malloc: free", "native", free_mib << 20, "chunks"},
                             {"malloc: in use", "native", used_mib << 20, "chunks"}});
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
