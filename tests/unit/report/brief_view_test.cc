// SPDX-License-Identifier: Apache-2.0
#include "report/brief_view.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "support/builders.h"
#include "support/known_incidents.h"
#include "unit/incident/sample_answer.h"
#include "verdict/next_steps.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDirectory = "/data/incidents/20261121T030405Z-shop-cart-7d9f-cart-1a2b3c4d";

Incident answered_sample() {
  Incident incident = oomw::test::sample_incident();
  incident.answer = oomw::test::sample_answer();
  return incident;
}

std::string brief(const Incident& incident, std::size_t columns = 80, const std::string& directory = kDirectory) {
  const TerminalView view{columns, false};
  const std::string tail = where_the_rest_is("oomwitness show 1a2b3c4d --full", directory, view);
  return brief_text(incident, tail, {incident.time.ns + 240'000'000'000}, view);
}

// On a terminal of that width.
std::size_t rows_of(const std::string& text, std::size_t columns) {
  std::size_t rows = 0;
  for (const std::string_view line : split(text.substr(0, text.size() - 1), '\n')) {
    rows += std::max<std::size_t>(1, (line.size() + columns - 1) / columns);
  }
  return rows;
}

TEST(BriefView, its_first_five_lines_say_what_happened_whose_code_and_what_to_do) {
  const std::string text = brief(answered_sample(), 160);
  std::string head;
  for (const std::string_view line : split(text, '\n')) {
    if (std::ranges::count(head, '\n') < 5) head += std::string(line) + "\n";
  }
  EXPECT_THAT(head, HasSubstr("OOM kill in container cart of pod shop/cart-7d9f, 4 min ago (2026-11-21T03:04:05Z)\n"));
  EXPECT_THAT(head, HasSubstr("Memory leak in cart: main.(*Cache).Put (cache.go:44) allocated 92 % of the heap."));
  EXPECT_THAT(head,
              HasSubstr("Code: main.(*Cache).Put (cache.go:44) allocates 92 % (118 MiB), for endpoint main.report; "
                        "path: main.(*Cache).Put > bytes.Clone"));
  EXPECT_THAT(head, HasSubstr("What to do: Free or bound what main.(*Cache).Put keeps.\n"));
}

TEST(BriefView, it_says_where_the_rest_is) {
  EXPECT_THAT(brief(answered_sample()), HasSubstr("All of it: oomwitness show 1a2b3c4d --full\n"));
  EXPECT_THAT(brief(answered_sample()),
              HasSubstr("Files: /data/incidents/20261121T030405Z-shop-cart-7d9f-cart-1a2b3c4d\n"));
}

TEST(BriefView, whatever_is_in_it_it_fits_one_screen) {
  EXPECT_LE(rows_of(brief(answered_sample()), 80), kBriefLines);
  Incident large = answered_sample();
  const std::string words = std::string(200, 'w') + " " + std::string(4'000, '*') + " ";
  large.container.pod_name = large.container.name = words;
  large.answer->sentence = large.answer->action = large.answer->culprit->code = words;
  large.answer->culprit->path.assign(64, words);
  large.verdict->why.assign(20, words);
  for (const std::size_t columns : {40u, 60u, 80u, 120u, 200u}) {
    const std::string directory = "/" + std::string(4'000, 'd');
    EXPECT_LE(rows_of(brief(large, columns, directory), columns), kBriefLines) << columns;
    EXPECT_LE(rows_of(brief_text(large, "", large.time, {columns, false}, 20), columns), 20u);
  }
}

// Of the pipeline's goldens and of what earlier versions wrote.
std::vector<Incident> known_incidents() {
  std::vector<Incident> incidents;
  for (const char* folder : {"tests/pipeline/golden", "tests/fixtures/incidents"}) {
    for (const auto& json : test::incidents_below(folder)) incidents.push_back(incident_from_json(json.dump()).value());
  }
  return incidents;
}

TEST(BriefView, every_recorded_kill_fits_one_screen_and_says_what_to_do) {
  const std::vector<Incident> incidents = known_incidents();
  EXPECT_GE(incidents.size(), 15u);
  for (const Incident& incident : incidents) {
    const std::string text = brief(incident, 80, "/data/incidents/" + incident.id);
    EXPECT_LE(rows_of(text, 80), kBriefLines) << text;
    EXPECT_EQ(text.find("\nWhat to do: ") != text.npos, incident.answer.has_value()) << text;
    EXPECT_THAT(text, HasSubstr("All of it: oomwitness show"));
  }
}

TEST(BriefView, what_is_too_long_is_cut_between_words) {
  Incident incident = answered_sample();
  incident.verdict->why = {""};
  for (int i = 0; i < 40; ++i) incident.verdict->why.front() += "wholeword ";
  incident.verdict->why.push_back(incident.verdict->why.front());
  std::size_t cuts = 0;
  std::vector<Incident> incidents = known_incidents();
  incidents.push_back(incident);
  for (const Incident& one : incidents) {
    std::string said = one.verdict ? fmt::format("{} ", fmt::join(one.verdict->why, " ")) : "";
    for (const NextStep& step : next_steps(one)) said += text_elsewhere(step, "its directory, below") + " ";
    const std::string text = brief(one, 100);
    for (std::size_t at = 0; (at = text.find("...\n", at)) != text.npos; ++at, ++cuts) {
      const std::size_t word = text.find_last_of(" \n", at) + 1;
      EXPECT_THAT(said, HasSubstr(text.substr(word, at - word) + " ")) << text;
    }
  }
  EXPECT_GE(cuts, 2u);
}

TEST(BriefView, every_cause_fits_one_screen_with_a_next_step) {
  for (const char* cause :
       {"leak", "spike", "undersized", "off_heap", "allocator_retention", "page_cache_or_tmpfs", "sibling", "pod_limit",
        "ancestor_limit", "node", "does_not_fit", "direct_buffers", "thread_stacks", "metaspace", "unknown"}) {
    Incident incident = answered_sample();
    incident.verdict->cause = incident.answer->cause = cause;
    const std::string text = brief(incident);
    EXPECT_LE(rows_of(text, 80), kBriefLines) << text;
    EXPECT_THAT(text, ::testing::ContainsRegex("\n    [a-zA-Z_]+")) << cause << "\n" << text;
  }
}

TEST(BriefView, commands_that_the_terminal_wraps_count_by_their_rows) {
  Incident incident = answered_sample();
  std::size_t shown = 0;
  for (int words = 1; words < 60; ++words) {  // of the sentence, which pushes the commands down
    incident.answer->sentence += " word";
    const std::string text = brief(incident);
    EXPECT_LE(rows_of(text, 80), kBriefLines) << words;
    shown += text.find("    oomwitness ") != std::string::npos;
  }
  EXPECT_GT(shown, 0u);
}

TEST(BriefView, without_an_answer_or_a_cause_it_says_so) {
  Incident incident = answered_sample();
  incident.answer.reset();
  incident.verdict.reset();
  EXPECT_THAT(brief(incident), HasSubstr("No answer is in this incident: an earlier version wrote it.\n"));
  EXPECT_THAT(brief(incident), HasSubstr("Cause: not known; no single cause is supported by this evidence alone.\n"));
}

TEST(BriefView, the_memory_is_said_in_one_line_and_nobody_is_blamed_for_a_first_touch) {
  Incident incident = answered_sample();
  incident.victim_count = 3;
  EXPECT_THAT(brief(incident, 160),
              HasSubstr("\nLimit 256 MiB, the container's; killed: cart (pid 4242, 238 MiB anonymous) and 2 more.\n"));
  IncidentGrowth& growth = incident.growth.emplace();
  growth.grown_bytes = 64u << 20;
  growth.places = {{"generate (app.py:41)", "report_view", "endpoint", 32u << 20, 0.5}};
  EXPECT_THAT(brief(incident, 160), Not(HasSubstr("report_view")));
  incident.limit_bytes.reset();
  incident.victims.clear();
  EXPECT_THAT(brief(incident, 160), HasSubstr("\nLimit not known, the container's.\n"));
}

// Escapes of C0 and C1, text that runs the other way, Markdown and HTML: names may hold all of it.
TEST(BriefView, no_name_steers_the_terminal_or_the_layout) {
  Incident incident = answered_sample();
  const std::string name =
      "a\x1b[31m\xc2\x9b"
      "32m\xe2\x80\xae\x07\r\n# b<script>`**|";
  incident.container.pod_name = incident.container.name = incident.container.pod_namespace = name;
  incident.victims.front().comm = incident.scope = incident.verdict->cause = name;
  incident.verdict->why = {name};
  incident.answer->sentence = incident.answer->action = incident.answer->culprit->code = name;
  incident.answer->culprit->operation = incident.answer->culprit->claim = name;
  const std::string text = brief(incident, 80, "/" + name);
  for (const char* control : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\x07", "\r", "\n# b"}) {
    EXPECT_THAT(text, Not(HasSubstr(control)));
  }
  EXPECT_THAT(text, HasSubstr("<script>")) << "what is harmless on a terminal is shown as it is";
}

}  // namespace
}  // namespace oomw
