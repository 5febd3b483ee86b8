// SPDX-License-Identifier: Apache-2.0
#include "cli/read/incident_rows.h"

#include <cstdlib>
#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/read/columns.h"
#include "cli/read/progress.h"
#include "report/text_width.h"

namespace oomw::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNow{1'795'230'245'000'000'000};  // 2026-11-21T03:04:05Z

IncidentSummary killed(std::int64_t seconds_ago) {
  IncidentSummary summary;
  summary.id = "20261121T030405Z-1a2b3c4d";
  summary.time = {kNow.ns - seconds_ago * 1'000'000'000};
  summary.place = "shop/cart-7d9f/cart";
  summary.workload = "shop/cart/cart";
  summary.cause = "leak";
  summary.code = "main.put (main.go:44)";
  summary.limit_bytes = 256u << 20;
  return summary;
}

TEST(IncidentRowsTest, a_row_has_id_age_cause_limit_place_and_code) {
  EXPECT_EQ(incident_rows({killed(240)}, {.view = {80, false}, .now = kNow}),
            "ID        KILLED     CAUSE    LIMIT  WHERE                CODE\n"
            "1a2b3c4d  4 min ago  leak   256 MiB  shop/cart-7d9f/cart  main.put (main.go:44)\n");
}

TEST(IncidentRowsTest, repeats_are_one_row_with_their_number_unless_all_are_wanted) {
  const std::vector<IncidentSummary> kills = {killed(240), killed(600), killed(7200)};
  EXPECT_THAT(incident_rows(kills, {.view = {80, false}, .now = kNow}), HasSubstr("x3, 4 min ago  leak"));
  const std::string all = incident_rows(kills, {.is_grouped = false, .view = {80, false}, .now = kNow});
  EXPECT_THAT(all, Not(HasSubstr("x3")));
  EXPECT_THAT(all, HasSubstr("2 h ago"));
}

TEST(IncidentRowsTest, what_is_not_known_is_a_dash) {
  IncidentSummary bare;
  bare.id = "20261121T030405Z-1a2b3c4d";
  bare.time = kNow;
  EXPECT_THAT(incident_rows({bare}, {.view = {80, false}, .now = kNow}),
              HasSubstr("1a2b3c4d  just now  -          -  -      -\n"));
}

TEST(IncidentRowsTest, a_program_gets_whole_ids_and_no_line_is_cut) {
  IncidentSummary summary = killed(0);
  summary.code = std::string(150, 'c');
  const std::string text = incident_rows({summary}, {.view = {0, false}, .now = kNow});
  EXPECT_THAT(text, HasSubstr("20261121T030405Z-1a2b3c4d"));
  EXPECT_THAT(text, HasSubstr(std::string(150, 'c')));
}

TEST(IncidentRowsTest, a_terminal_gets_no_line_that_is_wider) {
  IncidentSummary summary = killed(600);
  summary.repeats = 36;
  summary.cause = "allocator_retention";
  summary.place = std::string(40, 'p');
  summary.code = std::string(30, 'c') + "\xE4\xBD\xA0\xE5\xA5\xBD" + std::string(60, 'c');
  for (const std::size_t columns : {60u, 70u, 80u, 120u}) {
    const std::string text = incident_rows({summary}, {.view = {columns, false}, .now = kNow});
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(width_of(line), columns) << line;
    EXPECT_THAT(text, HasSubstr("…"));
    EXPECT_EQ(text.find("256 MiB") != text.npos, columns > 70) << "the limit is what goes first";
  }
}

TEST(IncidentRowsTest, a_terminal_gets_the_part_of_the_code_that_tells_it_from_others) {
  const auto code_on = [](const std::string& code, std::size_t columns) {
    IncidentSummary summary = killed(0);
    summary.code = code;
    return incident_rows({summary}, {.view = {columns, false}, .now = kNow});
  };
  EXPECT_THAT(code_on("example.com/shop/store.(*Session).Keep (store.go:44)", 120),
              HasSubstr("cart  store.(*Session).Keep (store.go:44)\n"));
  EXPECT_THAT(code_on("main.F[example.com/x.Y] (a/b.go:1)", 120),
              HasSubstr("cart  main.F[example.com/x.Y] (a/b.go:1)\n"));
  EXPECT_THAT(code_on("exporter otlp/backend", 120), HasSubstr("cart  exporter otlp/backend\n"));
  EXPECT_THAT(code_on("a dict of 18540 dict held as `sessions` in module `app`", 120),
              HasSubstr("cart  `sessions` in module `app`\n"));
  EXPECT_THAT(code_on("example.com/shop/store.Keep", 0), HasSubstr("example.com/shop/store.Keep")) << "for a program";
}

TEST(IncidentRowsTest, wide_has_time_victim_and_coverage_and_local_time_by_option) {
  IncidentSummary summary = killed(0);
  summary.victim = "cart";
  summary.coverage_ratio = 0.94;
  summary.coverage_method = "at_kill";
  const std::string text = incident_rows({summary}, {.is_wide = true, .view = {80, false}, .now = kNow});
  for (const char* part : {"20261121T030405Z-1a2b3c4d", "94 % (at_kill)", "2026-11-21T03:04:05Z", "VICTIM"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  ::setenv("TZ", "XYZ-2", 1);
  ::tzset();
  EXPECT_EQ(time_text(kNow, true), "2026-11-21 05:04:05 +0200");
  ::unsetenv("TZ");
  ::tzset();
}

TEST(IncidentRowsTest, only_a_terminal_with_colours_gets_escapes_and_names_get_none) {
  IncidentSummary summary = killed(0);
  summary.code = summary.cause = summary.victim =
      "a\x1b[31mb\xc2\x9b"
      "c\xe2\x80\xaeg";
  EXPECT_THAT(incident_rows({summary}, {.is_wide = true, .view = {0, false}, .now = kNow}), Not(HasSubstr("\x1b")));
  const std::string text = incident_rows({summary}, {.view = {80, true}, .now = kNow});
  EXPECT_THAT(text, HasSubstr("\x1b[1mID"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b[31m")));
  for (const char* control : {"\xc2\x9b", "\xe2\x80\xae"}) EXPECT_THAT(text, Not(HasSubstr(control)));
}

TEST(TextWidthTest, counts_columns_not_bytes) {
  EXPECT_EQ(width_of("abc"), 3u);
  EXPECT_EQ(width_of("\xE4\xBD\xA0\xE5\xA5\xBD"), 4u) << "two characters of double width";
  EXPECT_EQ(width_of("e\xCC\x81"), 1u) << "a combining accent";
  EXPECT_EQ(width_of("\xD0\x96\xE2\x96\x88"), 2u) << "Cyrillic and a block";
  EXPECT_EQ(front_of("\xE4\xBD\xA0\xE5\xA5\xBD", 3), "\xE4\xBD\xA0");
  EXPECT_EQ(front_of("e\xCC\x81x", 1), "e\xCC\x81");
}

TEST(ColumnsTest, a_place_keeps_its_end) {
  EXPECT_EQ(columns_text({{.title = "A", .least = 4, .keeps_end = true}}, {{"shop/cart-7d9f/cart"}}, 11),
            "A\nshop/…/cart\n");
}

TEST(ColumnsTest, only_columns_that_may_be_narrowed_are) {
  EXPECT_EQ(columns_text({{.title = "A"}, {.title = "B", .least = 4}}, {{"aaaaaaaa", "bbbbbbbb"}}, 14),
            "A         B\n"
            "aaaaaaaa  bbb…\n");
  EXPECT_EQ(columns_text({{.title = "A", .is_right = true}}, {{"1"}, {"22"}}, 0), " A\n 1\n22\n");
}

TEST(ProgressTest, says_how_much_is_done_and_how_long_the_rest_takes) {
  EXPECT_EQ(progress_text(3, 30, 270), "3/30, about 4 min left");
  EXPECT_EQ(progress_text(29, 30, 10), "29/30, about 10 s left");
  EXPECT_EQ(progress_text(30, 30, 0), "30/30, done");
}

}  // namespace
}  // namespace oomw::cli
