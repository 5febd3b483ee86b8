// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "support/builders.h"
#include "unit/incident/golden.h"
#include "unit/incident/sample_answer.h"

namespace oomw {
namespace {

using test::bare_incident;
using test::sample_incident;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportTest, known_incident_reads_as_agreed) {
  const std::string top = "flat  flat%  cum  cum%  function\n64MB 84.2% 64MB 84.2% main.(*Cache).Put\n";
  const std::string growth =
      "inuse_space: 1 MiB -> 64 MiB\n\nBy function\n+63 MiB main.(*Cache).Put\n\nBy package\n+63 MiB main\n\nBy stack, "
      "leaf first\n"
      "not here\n";
  test::expect_golden("known.md", to_markdown(sample_incident(), {{{"capture-02-http.pb.gz", top}}, growth}));
}

TEST(ReportTest, a_collectors_growth_is_told_by_component_and_not_by_package) {
  const std::string growth = "By function\nf\n\nBy Collector component\nreceiver/otlp\n\nBy package\nnot here\n";
  const std::string report = to_markdown(sample_incident(), {{}, growth});
  EXPECT_THAT(report, ::testing::AllOf(HasSubstr("receiver/otlp"), Not(HasSubstr("not here"))));
}

TEST(ReportTest, goroutines_of_the_kill_are_told_and_where_only_a_part_was_counted) {
  Incident incident = sample_incident();
  EXPECT_THAT(to_markdown(incident, {}), Not(HasSubstr("## Goroutines")));
  incident.goroutines = {{99, "waiting", {"main.f"}, "", ""}};
  incident.captures[1].pid = incident.victims.front().process.pid;
  incident.captures[1].goroutines = {{99, "waiting", "chan receive"}, {1, "running", ""}};
  EXPECT_THAT(to_markdown(incident, {}), Not(HasSubstr("## Goroutines"))) << "a healthy program's";
  incident.goroutines = {{3, "waiting", {"net/http.(*retrySender).Send"}, "", ""}};
  incident.holders = {IncidentHolder{}};
  incident.holders[0].is_owner = true;
  incident.holders[0].component = "exporter/otlp";
  incident.holders[0].chain = {"queue"};
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("## Goroutines")) << "the answer is about them";
  incident.holders.clear();
  incident.goroutines.clear();
  incident.captures[1].goroutines = {{6390, "waiting", "chan receive"}, {10, "runnable", ""}};
  EXPECT_THAT(to_markdown(incident, {}),
              HasSubstr("## Goroutines\n\nAt the kill: 6390 waiting for chan receive, 10 runnable.\n"));
  incident.captures[1].goroutines_cut = "time_limit";
  incident.goroutines = {{3, "waiting", {"main.f"}, "", ""}};
  EXPECT_THAT(to_markdown(incident, {}),
              HasSubstr("| 3 | waiting | main.f |\n\nAt the kill, a part of them (time\\_limit): 6390 waiting"));
}

IncidentFiller& add_dict(Incident& incident) {
  IncidentFiller& dict = incident.fillers.emplace_back();
  dict.runtime = "cpython", dict.kind = "type", dict.name = "dict";
  dict.bytes = 40u << 20;
  return dict;
}

TEST(ReportTest, python_objects_at_the_kill_stand_beside_the_reading_before_and_say_what_is_missing) {
  Incident incident = sample_incident();
  EXPECT_THAT(to_markdown(incident, {}), Not(HasSubstr("## Python objects at the kill")));
  add_dict(incident);
  incident.analyses.resize(1);
  incident.analyses[0].pid = incident.victims.front().process.pid;
  incident.analyses[0].pools =
      PoolsAtKill{90u << 20, 6400, 6400, {{"dict", 60u << 20, 300'000, 4000, 1u << 20}, {"unknown", 5, 1, 1, 0}}, ""};
  EXPECT_THAT(to_markdown(incident, {}),
              ::testing::AllOf(HasSubstr("90.0 MiB of objects up to 512 bytes in 6400 of 6400 pools. One block"),
                               HasSubstr("| 60.0 MiB | 1.00 MiB | 300000 | dict | 40.0 MiB |\n"),
                               HasSubstr("| unknown |  |\n")));
  incident.analyses[0].pools->pools_read = 5000;
  incident.analyses[0].pools->cut = "time_limit";
  EXPECT_THAT(to_markdown(incident, {}),
              HasSubstr("in 5000 of 6400 pools; the others were not read (time\\_limit). One block"));
}

TEST(ReportTest, estimates_by_a_sample_are_marked_and_explained) {
  Incident incident = sample_incident();
  IncidentFiller& dict = add_dict(incident);
  dict.evidence = "analysis";
  dict.count = 600'000;
  dict.share = 0.5;
  EXPECT_THAT(to_markdown(incident, {}), ::testing::AllOf(HasSubstr("| 50.0 % | 40.0 MiB |  | 600000 | dict |"),
                                                          Not(HasSubstr("is an estimate"))));
  dict.error_bytes = 2u << 20;
  EXPECT_THAT(to_markdown(incident, {}),
              ::testing::AllOf(HasSubstr("| about 50.0 % | about 40.0 MiB +- 2.00 MiB |  | about 600000 | dict |"),
                               HasSubstr("What is \"about\" is an estimate from a sample of the memory")));
}

TEST(ReportTest, bare_incident_says_what_is_not_known) {
  test::expect_golden("bare.md", to_markdown(bare_incident(), {}));
}

TEST(ReportTest, its_first_five_lines_say_what_happened_whose_code_and_what_to_do) {
  Incident incident = sample_incident();
  incident.answer = test::sample_answer();
  EXPECT_THAT(
      to_markdown(incident, {}),
      ::testing::StartsWith("# OOM kill in container cart of pod shop/cart-7d9f\n"
                            "\n"
                            "**Memory leak in cart: main.(\\*Cache).Put (cache.go:44) allocated 92 % of the heap.**  \n"
                            "Code: main.(\\*Cache).Put (cache.go:44) allocates 92 % (118 MiB), for endpoint "
                            "main.report; path: main.(\\*Cache).Put > bytes.Clone  \n"
                            "What to do: Free or bound what main.(\\*Cache).Put keeps.\n"));
}

TEST(ReportTest, links_of_who_keeps_the_memory_have_their_own_arrows) {
  Incident incident = sample_incident();
  incident.answer = test::sample_answer();
  incident.answer->culprit->claim = "keeps";
  incident.answer->culprit->path = {"store.Sessions", " -> map[string]*Session", ".entries -> Session"};
  EXPECT_THAT(to_markdown(incident, {}),
              HasSubstr("; path: store.Sessions -\\> map\\[string\\]\\*Session.entries -\\> Session  \n"));
}

TEST(ReportTest, a_kill_that_is_not_the_first_is_said_below_the_answer) {
  Incident incident = sample_incident();
  incident.answer = test::sample_answer();
  incident.answer->again = "Killed again, 12 min after the kill before.";
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("keeps.  \nKilled again, 12 min after the kill before.\n"));
}

TEST(ReportTest, call_sites_that_are_no_suspects_are_one_sentence_and_a_heap_that_did_not_grow_is_none) {
  Incident incident = sample_incident();
  incident.trend->suspects = 0;
  incident.trend->sites[0].figures.judgement = "not_called";
  EXPECT_THAT(to_markdown(incident, {}),
              ::testing::AllOf(HasSubstr(" over 30 s. Call sites that grew but are not shown to leak: 1.\n"),
                               HasSubstr("| the whole heap | leak |"), Not(HasSubstr("called")), Not(HasSubstr(": 0.")),
                               Not(HasSubstr("< main.serve"))));
  incident.trend->whole.last_live_bytes = incident.trend->whole.first_live_bytes;
  EXPECT_THAT(to_markdown(incident, {}), Not(HasSubstr("## The Go heap over time")));
}

TEST(ReportTest, names_that_grew_are_listed_and_only_what_keeps_growing_is_called_so) {
  Incident incident = sample_incident();
  IncidentTrend& trend = incident.contents_trend.emplace();
  trend.points.resize(2);
  EXPECT_THAT(to_markdown(incident, {}), Not(HasSubstr("## What grew, by name"))) << "nothing did";
  trend.sites.resize(2);
  trend.sites[0].frames = {"list of dict", "held as `rows`"};
  trend.sites[0].figures.last_held_bytes = trend.whole.last_held_bytes = 9u << 20;
  trend.sites[1].frames = {"str"};
  EXPECT_THAT(to_markdown(incident, {}),
              ::testing::AllOf(HasSubstr("| 0 B | 9.00 MiB | list of dict, held as \\`rows\\` |\n"),
                               Not(HasSubstr("keep growing")), Not(HasSubstr("keeps growing"))));
  trend.suspects = 1;
  trend.sites[0].figures.judgement = "leak";
  EXPECT_THAT(to_markdown(incident, {}),
              ::testing::AllOf(HasSubstr(" before the kill. Names that keep growing: 1.\n"),
                               HasSubstr("held as \\`rows\\` (keeps growing) |\n"), HasSubstr("| str |\n")));
}

TEST(ReportTest, its_picture_and_every_file_beside_it_are_links) {
  Incident incident = sample_incident();
  IncidentAnalysis& analysis = incident.analyses.emplace_back();
  analysis.files.push_back({"holders.json", "spool"});
  incident.growth.emplace().file = "growth.pb.gz";
  const std::string text = to_markdown(incident, {{}, "By function\n+1 MiB f\n"});
  EXPECT_THAT(text, HasSubstr("\n![Memory up to the kill](timeline.svg)\n"));
  for (const char* file : {"incident.json", "holders.json", "growth.pb.gz", "growth-diff.txt", "capture-02-http.pb.gz",
                           "trend-01.pb.gz"}) {
    EXPECT_THAT(text, HasSubstr(fmt::format("[{0}]({0})", file)));
  }
  EXPECT_THAT(text, Not(HasSubstr("trend.json"))) << "which was not kept";
}

TEST(ReportTest, hostile_names_break_neither_tables_nor_blocks) {
  Incident incident = sample_incident();
  incident.container.name = "x|y\n# Heading `code` <script> [a](javascript:b)";
  incident.container.pod_name = "![a](http://elsewhere.invalid/a.png)";
  incident.victims[0].cmdline = "sh -c 'a|b'\n\n    rm -rf /\n";
  incident.victims[0].comm = "\x1b[31m**bold**\u009b31m\u202e";
  incident.captures[2].reason = "odd|reason\n";
  incident.captures[0].file = "capture-01-http.pb.gz; rm -rf .";
  const std::string text = to_markdown(incident, {{{"f", "line one\n```\n# not a heading"}}, ""});
  EXPECT_THAT(text, Not(HasSubstr("\n# Heading")));
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, Not(HasSubstr("a](javascript")));
  EXPECT_THAT(text, Not(HasSubstr("a](http")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\u009b")));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
  EXPECT_THAT(text, Not(HasSubstr("\n    rm -rf")));
  EXPECT_THAT(text, Not(HasSubstr("\n```")));
  EXPECT_THAT(text, Not(HasSubstr("\n# not a heading")));
  EXPECT_THAT(text, Not(HasSubstr("pprof -top capture-01-http.pb.gz;")));
}

TEST(ReportTest, table_rows_keep_their_number_of_columns) {
  Incident incident = sample_incident();
  incident.victims[0].cmdline = "a|b|c\\|d";
  const std::string text = to_markdown(incident, {});
  const std::size_t start = text.find("| 4242 |");
  ASSERT_NE(start, std::string::npos);
  const std::string row = text.substr(start, text.find('\n', start) - start);
  int columns = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == '\\') {
      ++i;
    } else if (row[i] == '|') {
      ++columns;
    }
  }
  EXPECT_EQ(columns, 7) << row;
}

TEST(ReportTest, http_profiles_are_said_to_be_stale) {
  EXPECT_THAT(to_markdown(sample_incident(), {}), HasSubstr("up to two garbage collections"));
  Incident without = sample_incident();
  without.captures.resize(0);
  EXPECT_THAT(to_markdown(without, {}), Not(HasSubstr("garbage collections")));
}

TEST(ReportTest, ancestor_scope_names_whose_limit_it_was) {
  Incident incident = sample_incident();
  incident.scope = "ancestor";
  incident.limit_owner_cgroup_path = "/kubepods/pod1";
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("above it was used up, that of /kubepods/pod1"));
}

}  // namespace
}  // namespace oomw
