// SPDX-License-Identifier: Apache-2.0
#include "verdict/growth_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "verdict/answer.h"

namespace oomw {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

IncidentFiller filler_of(const std::string& runtime, const std::string& kind, const std::string& name,
                         const std::string& held_as) {
  IncidentFiller filler;
  filler.runtime = runtime;
  filler.kind = kind;
  filler.name = name;
  filler.held_as = held_as;
  filler.share = 0.86;
  filler.bytes = 82u << 20;
  filler.count = 500'000;
  filler.evidence = "analysis";
  return filler;
}

IncidentGrowth growth_through(const std::string& code, const std::vector<std::string>& frames, double share) {
  IncidentGrowth growth;
  growth.slot_bytes = 256u << 10;
  growth.grown_bytes = 80u << 20;
  growth.samples = 320;
  const auto bytes = static_cast<std::uint64_t>(share * (80u << 20));
  growth.places = {{code, "report_view", "endpoint", bytes, share, false}};
  growth.stacks = {{bytes, share, true, frames, code, "report_view", "endpoint"}};
  return growth;
}

// A list in module `app` that app.generate grew for the view report_view.
Incident flask_incident() {
  Incident incident = test::judged_as("leak", "python3", 96);
  incident.victims.front().cmdline = "/usr/bin/python3 -u /srv/app.py --port 80";
  incident.fillers = {filler_of("cpython", "holder", "list of dict", "`LOG` in module `app`")};
  incident.growth = growth_through("generate (app.py:41)",
                                   {"malloc (libc.so.6)", "generate (app.py:41)", "report_view (app.py:60)"}, 0.92);
  incident.growth->places.front().uses = {{"LOG", "app.py"}};
  return incident;
}

// zlib's states below streams that nobody closes.
Incident zlib_incident() {
  Incident incident = test::judged_as("leak", "node", 96);
  IncidentFiller filler = filler_of("v8", "type", "Function", "");
  filler.share = 0.02;
  filler.bytes = 2u << 20;
  incident.fillers = {filler};
  test::add_parts(incident,
                  {{"malloc: in use", "glibc", 80u << 20, "chunks"}, {"V8 heap: objects", "v8", 4u << 20, "pages"}});
  incident.growth = growth_through(
      "", {"libc.so.6!fn_16e040 (libc.so.6)", "malloc (libc.so.6)", "deflateInit2_ (node)", "[jit]", "Init (node)"},
      0.9);
  incident.growth->stacks.front().operation.clear();
  return incident;
}

TEST(GrowthAnswer, code_of_a_runtime_is_said_where_malloc_fills_its_program_and_none_of_the_programs_own_is_seen) {
  Incident incident = zlib_incident();
  EXPECT_THAT(answer_of(incident).sentence,
              HasSubstr("Its growth was first touched mostly in deflateInit2_ (node), called by Init (90 % of the "
                        "growth, 72.0 MiB), which is the runtime's own code: none of the program's"));
  incident.growth->stacks.front().bytes = 30u << 20;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("deflateInit2_"))) << "less than half";
  incident = zlib_incident();
  incident.composition->parts.front().bytes = 3u << 20;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("deflateInit2_"))) << "its own objects";
}

TEST(GrowthAnswer, holder_function_and_endpoint_are_named_together) {
  const IncidentAnswer answer = answer_of(flask_incident());
  EXPECT_EQ(answer.sentence,
            "Memory leak in python3: a list of 500000 dict held as `LOG` in module `app` filled 86 % of its memory "
            "(82.0 MiB), and it grew until its limit of 96.0 MiB was reached. Grown by generate (app.py:41) for "
            "endpoint report_view (92 % of the growth, 73.6 MiB).");
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "fills");
  EXPECT_EQ(answer.culprit->operation, "report_view");
  EXPECT_EQ(answer.culprit->operation_kind, "endpoint");
  EXPECT_EQ(answer.action, "Bound or empty `LOG` in module `app`; a larger limit only delays the next kill.");
}

TEST(GrowthAnswer, that_it_kept_growing_or_came_once_is_added_and_names_nobody_else) {
  Incident incident = flask_incident();
  incident.growth->places.front().pattern = "persistent";
  EXPECT_THAT(answer_of(incident).sentence, EndsWith("(92 % of the growth, 73.6 MiB; it kept growing)."));
  incident.growth->places.front().pattern = "one_off";
  EXPECT_THAT(answer_of(incident).sentence, EndsWith("(92 % of the growth, 73.6 MiB; it came once)."));
  incident.fillers.front().held_as = "`LOG` in module `shop.store`";
  incident.fillers.front().share = 0.4;
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("(92 % of the growth, 73.6 MiB; it came once); that may be"));
  incident.growth->places.front().pattern = "persistent";
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("(92 % of the growth, 73.6 MiB); that may be temporary data"))
      << "a temporary that takes the blame keeps growing too";
  incident.growth->places.front().share = 0.4;
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("generate")));
}

TEST(GrowthAnswer, the_main_module_is_the_script_of_the_command_line) {
  Incident incident = flask_incident();
  incident.fillers.front().held_as = "`LOG` in module `__main__`";
  EXPECT_NE(proved_grower(incident), nullptr);
  incident.victims.front().cmdline = "/usr/bin/python3 -c x";
  EXPECT_EQ(proved_grower(incident), nullptr);
}

TEST(GrowthAnswer, code_that_does_not_pass_through_the_holders_module_is_not_called_the_grower) {
  Incident incident = flask_incident();
  incident.fillers.front().held_as = "`LOG` in module `shop.store`";
  IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, Not(HasSubstr("generate"))) << "who keeps it is known; a request's pages show another's";
  EXPECT_EQ(answer.culprit->operation, "");
  incident.fillers.front().share = 0.4;
  answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, Not(HasSubstr("Grown by")));
  EXPECT_THAT(answer.sentence, HasSubstr("first touched mostly in generate (app.py:41) (92 %"));
  EXPECT_THAT(answer.sentence, HasSubstr("may be temporary data"));
  EXPECT_THAT(answer.sentence, Not(HasSubstr("report_view")));
}

// Flask's own file is called app.py too.
TEST(GrowthAnswer, a_frameworks_file_of_the_modules_name_is_not_the_modules) {
  Incident incident = flask_incident();
  incident.growth =
      growth_through("fill (store.py:9)",
                     {"fill (store.py:9)", "report_view (views.py:6)", "Flask.dispatch_request (app.py:1)"}, 0.92);
  EXPECT_EQ(proved_grower(incident), nullptr);
  incident.growth->stacks.front().operation = incident.growth->places.front().operation = "";
  EXPECT_EQ(proved_grower(incident), nullptr);
  incident.growth->stacks.front().frames.emplace_back("main (app.py:70)");
  EXPECT_NE(proved_grower(incident), nullptr);
}

TEST(GrowthAnswer, a_file_name_that_many_packages_have_does_not_show_which_module_it_was) {
  Incident incident = flask_incident();
  incident.growth = growth_through("report_view (views.py:6)", {"report_view (views.py:6)"}, 0.92);
  incident.fillers.front().held_as = "`LOG` in module `views`";
  EXPECT_EQ(proved_grower(incident), nullptr) << "a service may be one file: its endpoints must refer to the holder";
  incident.growth->stacks.front().operation = incident.growth->places.front().operation = "";
  incident.fillers.front().held_as = "`LOG` in module `shop.views`";
  EXPECT_EQ(proved_grower(incident), nullptr);
  incident.fillers.front().held_as = "`LOG` in module `views`";
  EXPECT_NE(proved_grower(incident), nullptr);
}

// Three endpoints of one file: one lists, with most of the growth, one fills the holder, one counts what is in it.
Incident incident_of_three_endpoints() {
  Incident incident = flask_incident();
  incident.fillers.front().held_as = "`LOG` in module `shop.views`";
  const std::pair<std::string, std::string> use = {"LOG", "views.py"};
  incident.growth->places = {
      {"rows_of (views.py:9)", "list_view", "endpoint", 44u << 20, 0.55, false, "", {{"range", "views.py"}}},
      {"generate (views.py:41)", "report_view", "endpoint", 32u << 20, 0.4, false, "", {use}},
      {"count_view (views.py:50)", "count_view", "endpoint", 1u << 20, 0.01, false, "", {use}}};
  incident.growth->stacks = {};
  return incident;
}

TEST(GrowthAnswer, the_endpoint_whose_code_refers_to_the_holder_is_the_grower_and_not_one_with_more_temporary_data) {
  const IncidentAnswer answer = answer_of(incident_of_three_endpoints());
  EXPECT_THAT(answer.sentence, HasSubstr("held as `LOG` in module `shop.views`"));
  EXPECT_THAT(answer.sentence, EndsWith("Grown by generate (views.py:41) for endpoint report_view (40 % of the growth, "
                                        "32.0 MiB)."));
  EXPECT_EQ(answer.culprit->operation, "report_view");
}

TEST(GrowthAnswer, code_that_refers_to_a_holder_of_that_name_in_another_file_is_not_the_grower) {
  Incident incident = incident_of_three_endpoints();
  incident.fillers.front().held_as = "`LOG` in module `shop.store`";
  EXPECT_EQ(proved_grower(incident), nullptr);
  incident.fillers.front().held_as = "`CACHE` in module `shop.views`";
  EXPECT_EQ(proved_grower(incident), nullptr);
  incident.fillers.front().held_as = "";
  EXPECT_EQ(proved_grower(incident), nullptr);
}

TEST(GrowthAnswer, of_two_endpoints_that_refer_to_the_holder_alike_neither_is_named) {
  Incident incident = incident_of_three_endpoints();
  incident.growth->places[2].share = 0.39;
  EXPECT_NE(proved_grower(incident), nullptr);
  auto third = incident.growth->places[2];
  third.share = 0.1;
  incident.growth->places.push_back(third);
  EXPECT_EQ(proved_grower(incident), nullptr);
}

TEST(GrowthAnswer, code_that_refers_to_a_holder_of_little_or_touched_little_is_not_the_grower) {
  Incident incident = incident_of_three_endpoints();
  incident.fillers.front().share = 0.4;
  EXPECT_EQ(proved_grower(incident), nullptr);
  incident = incident_of_three_endpoints();
  incident.growth->places[1].share = 0.05;
  EXPECT_EQ(proved_grower(incident), nullptr);
}

TEST(GrowthAnswer, code_that_touched_first_and_that_no_code_is_known_are_not_both_said) {
  Incident incident = flask_incident();
  incident.fillers = {};
  for (const char* cause : {"leak", "spike", ""}) {
    incident.verdict->cause = cause;
    const std::string sentence = answer_of(incident).sentence;
    EXPECT_THAT(sentence, HasSubstr("first touched mostly in generate (app.py:41)"));
    EXPECT_THAT(sentence, HasSubstr("Who keeps it is not known: no heap of this program could be read."));
    EXPECT_THAT(sentence, Not(HasSubstr("Which code")));
  }
  incident.growth.reset();
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("Which code it was is not known: no heap"));
}

TEST(GrowthAnswer, an_empty_profile_adds_nothing) {
  Incident incident = flask_incident();
  incident.growth = IncidentGrowth{};
  EXPECT_THAT(answer_of(incident).sentence, EndsWith("was reached."));
}

TEST(GrowthAnswer, a_place_with_less_than_half_of_the_growth_is_not_named) {
  Incident incident = flask_incident();
  incident.growth->places.front().share = 0.4;
  incident.growth->places.front().uses = {};
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("generate")));
}

TEST(GrowthAnswer, collectors_hide_whose_code_it_was) {
  Incident incident = flask_incident();
  incident.growth->places.push_back({"", "", "", 24u << 20, 0.3, true});
  const std::string sentence = answer_of(incident).sentence;
  EXPECT_THAT(sentence, Not(HasSubstr("generate")));
  EXPECT_THAT(sentence, HasSubstr("30 % of the growth was first touched by threads of a garbage collector"));
}

TEST(GrowthAnswer, lost_samples_hide_whose_code_it_was) {
  Incident incident = flask_incident();
  incident.growth->lost = 200;
  const std::string sentence = answer_of(incident).sentence;
  EXPECT_THAT(sentence, Not(HasSubstr("generate")));
  EXPECT_THAT(sentence, HasSubstr("200 of 520 growth samples were lost"));
}

TEST(GrowthAnswer, of_a_fifth_lost_code_may_have_touched_most_but_is_not_said_to_have_grown_it) {
  Incident incident = flask_incident();
  incident.growth->lost = 80;
  incident.fillers.front().share = 0.4;
  EXPECT_EQ(proved_grower(incident), nullptr);
  const std::string sentence = answer_of(incident).sentence;
  EXPECT_THAT(sentence, HasSubstr("first touched mostly in generate (app.py:41)"));
  EXPECT_THAT(sentence, HasSubstr("though 80 of 400 growth samples were lost; that may be temporary"));
  incident.growth->places.front().share = 0.4;
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("Who grew it is not known: 80 of 400 growth samples were lost"));
}

TEST(GrowthAnswer, what_was_freed_again_names_nobody) {
  Incident incident = flask_incident();
  incident.composition = IncidentComposition{0.9, incident.time, {{"malloc: free", "native", 60u << 20, "glibc"}}};
  const std::string sentence = answer_of(incident).sentence;
  EXPECT_THAT(sentence, Not(HasSubstr("generate")));
  EXPECT_THAT(sentence, HasSubstr("freed again"));
  incident.composition->parts.push_back({"malloc: in use", "native", 200u << 20, "glibc"});
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("freed again"))) << "a quarter of the climb was sampled";
}

TEST(GrowthAnswer, a_class_that_fills_the_memory_and_whose_method_grew_it_is_the_grower) {
  Incident incident = flask_incident();
  incident.fillers = {filler_of("native", "type", "Session", "")};
  incident.growth = growth_through("Session::put (shop)", {"malloc (libc.so.6)", "Session::put (shop)"}, 0.66);
  incident.growth->places.front().build_id = "c0de";
  const IncidentAnswer answer = answer_of(incident);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "grows");
  EXPECT_EQ(answer.culprit->code, "Session::put (shop)");
  EXPECT_EQ(answer.culprit->build_id, "c0de");
  EXPECT_THAT(answer.sentence, HasSubstr("Session::put (shop) grew it by 52.8 MiB (66 % of the growth) for endpoint "
                                         "report_view; 500000 objects of type Session filled 86 %"));
  incident.growth->places.front().pattern = "persistent";
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("(66 % of the growth; it kept growing) for endpoint"));
}

// A temporary of 2 KiB for each request took 95 to 98 % of the growth of a C++ program and held nothing.
TEST(GrowthAnswer, blocks_by_size_do_not_make_a_native_function_the_grower) {
  Incident incident = flask_incident();
  incident.fillers = {filler_of("native", "size", "blocks of 64 bytes", "")};
  incident.growth = growth_through("format (shop)", {"malloc (libc.so.6)", "format (shop)"}, 0.97);
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_FALSE(answer.culprit);
  EXPECT_THAT(answer.sentence, HasSubstr("may be temporary data"));
}

TEST(GrowthAnswer, native_code_that_touched_first_is_said_with_its_callers_and_where_to_look) {
  Incident incident = flask_incident();
  incident.fillers = {filler_of("native", "size", "blocks of 64 bytes", "")};
  incident.growth =
      growth_through("Arena::allocate (shop)", {"malloc (libc.so.6)", "Arena::allocate (shop)", "main (shop)"}, 0.97);
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("Arena::allocate (shop) (97 %"));
  incident.growth->places.front().callers = {"build_plan", "Plans::prepare"};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence,
              HasSubstr("mostly in Arena::allocate (shop), called by build_plan and Plans::prepare (97 %"));
  EXPECT_EQ(answer.action,
            "Look first at Arena::allocate, and at what its callers keep; a larger limit only delays the next kill.");
}

TEST(GrowthAnswer, what_a_heap_profile_shows_comes_first) {
  Incident incident = flask_incident();
  IncidentFiller site = filler_of("go", "site", "main.put (main.go:3)", "");
  site.evidence = "at_kill";
  incident.fillers = {site};
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("touched")));
}

TEST(GrowthAnswer, who_keeps_a_heap_without_a_profile_does_not_tell_who_allocates) {
  Incident incident = flask_incident();
  incident.fillers.clear();
  incident.collector.emplace();
  incident.collector->exporters = {{{"otlp/backend", 139, 1000, 120}}};
  incident.growth = growth_through("main.readPage (main.go:20)", {"main.readPage (main.go:20)"}, 0.9);
  ASSERT_EQ(answer_of(incident).culprit->claim, "keeps");
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("first touched mostly in main.readPage (main.go:20)"));
  incident.captures = {test::sample_incident().captures[0]};
  ASSERT_NE(best_capture(incident), nullptr);
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("first touched")));
}

TEST(GrowthAnswer, without_samples_nothing_is_added) {
  Incident incident = flask_incident();
  incident.growth.reset();
  EXPECT_THAT(answer_of(incident).sentence, EndsWith("was reached."));
}

}  // namespace
}  // namespace oomw
