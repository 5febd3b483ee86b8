// SPDX-License-Identifier: Apache-2.0
#include "report/markdown_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "support/builders.h"

namespace oomw {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string plain(std::string_view markdown, std::size_t columns = 80) {
  return for_terminal(markdown, {columns, false});
}

// Of characters; the tests' texts have none of double width.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string_view line : split(text, '\n')) {
    const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
    widest = std::max(widest, static_cast<std::size_t>(std::count_if(line.begin(), line.end(), is_first_byte)));
  }
  return widest;
}

TEST(MarkdownView, a_table_is_aligned_and_its_numbers_stand_on_the_right) {
  EXPECT_EQ(plain("| part | size |\n|---|---:|\n| heap | 9 MiB |\n| page cache | 120 MiB |\n"),
            "part           size\n"
            "heap          9 MiB\n"
            "page cache  120 MiB\n");
}

TEST(MarkdownView, a_wide_cell_is_broken_so_that_the_table_fits) {
  EXPECT_EQ(plain("| a | file |\n|---|---|\n| one two three four five six | capture-01-live.pb.gz |\n", 40),
            "a                  file\n"
            "one two three      capture-01-live.pb.gz\n"
            "four five six\n");
  const std::string text = plain("| a | b |\n|---|---|\n| " + std::string(90, 'x') + " | \u2588\u2588\u2588 |\n", 40);
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), 90) << "nothing is lost";
  EXPECT_LE(widest_line(text), 40u);
}

TEST(MarkdownView, a_table_whose_words_would_be_broken_is_a_list_with_its_headings) {
  EXPECT_EQ(
      plain("| code | 1 | 2 | over time |\n|---|---:|---:|---|\n| main.(\\*Cart).add_to_the_order | 1.25 MiB |  | "
            "keeps growing |\n| b | 2.00 MiB | 3.00 MiB | one-off |\n",
            40),
      "main.(*Cart).add_to_the_order\n"
      "  1: 1.25 MiB, over time: keeps growing\n"
      "b\n"
      "  1: 2.00 MiB, 2: 3.00 MiB, over time:\n"
      "  one-off\n");
}

TEST(MarkdownView, a_picture_is_named_with_its_file) {
  EXPECT_EQ(plain("![Memory up to the kill](timeline.svg)\n"), "Memory up to the kill: timeline.svg\n");
  EXPECT_EQ(plain("![half\n"), "![half\n");
}

TEST(MarkdownView, a_link_is_its_text) {
  EXPECT_EQ(plain("More in [a\\_b.txt](a_b.txt), and [c](c).\n"), "More in a_b.txt, and c.\n");
  EXPECT_EQ(plain("| file |\n|---|\n| [a\\]b](x) |\n"), "file\na]b\n");
  for (const char* none : {"main.(\\*Cart[int]).Add\n", "[a] (b)\n", "[a](b\n", "\\[a](b)\n", "[a\n"}) {
    EXPECT_THAT(plain(none), HasSubstr("[")) << none;
  }
  EXPECT_EQ(plain("[" + std::string(300, 'a') + "](b)\n", 400), "[" + std::string(300, 'a') + "](b)\n");
}

TEST(MarkdownView, a_number_stays_with_its_unit) {
  const std::string text = plain(
      "| to the kill | in use | file |\n|---|---|---|\n| 2.380 s before | 80.2 MiB | " + std::string(20, 'f') + " |\n",
      40);
  EXPECT_EQ(text,
            "to the    in use    file\n"
            "kill\n"
            "2.380 s   80.2 MiB  ffffffffffffffffffff\n"
            "before\n");
}

TEST(MarkdownView, a_time_stamp_in_a_table_is_its_time_of_day) {
  EXPECT_EQ(plain("| time |\n|---|\n| 2026-11-21T21:33:42.940339479Z |\n"), "time\n21:33:42.940\n");
}

TEST(MarkdownView, an_escaped_bar_is_a_character_of_its_cell) {
  EXPECT_EQ(plain("| a\\|b | c\\\\ |\n|---|---|\n"), "a|b  c\\\n");
}

TEST(MarkdownView, running_text_is_wrapped_and_lists_hang) {
  EXPECT_EQ(plain("At noon the kernel killed **cart** (pid 7) in a\\_b.\n", 40),
            "At noon the kernel killed cart (pid 7)\nin a_b.\n");
  EXPECT_EQ(plain("- one two three four five six seven eight nine\n", 40),
            "- one two three four five six seven\n  eight nine\n");
}

TEST(MarkdownView, an_indented_command_is_left_whole) {
  const std::string command = "    go tool pprof -top " + std::string(90, 'f') + "\n";
  EXPECT_EQ(plain(command), command);
}

TEST(MarkdownView, without_colours_there_is_no_escape_and_with_them_all_are_closed) {
  const std::string report = "# OOM\n\n**a** text\n\n| a |\n|---|\n| b |\n";
  EXPECT_THAT(plain(report), Not(HasSubstr("\x1b")));
  const std::string colored = for_terminal(report, {80, true});
  EXPECT_EQ(colored, "\x1b[1mOOM\x1b[0m\n\n\x1b[1ma\x1b[0m text\n\n\x1b[2ma\n\x1b[0mb\n");
}

TEST(MarkdownView, control_characters_of_a_damaged_file_do_not_get_through) {
  const std::string text = for_terminal("# a\x1b[31m\n| \x1b]0;x\x07 |\n|---|\ntext \x9b\r\n    \x1b[2J\n", {80, true});
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b[31m")), Not(HasSubstr("\x1b]")), Not(HasSubstr("\x1b[2J")),
                          Not(HasSubstr("\r")), Not(HasSubstr("\x07"))));
}

TEST(MarkdownView, odd_markdown_is_no_trouble) {
  for (const char* odd : {"", "\n", "|", "||||", "|---|", "#", "####", "**", "\\", "| a", "- ", "| a | b |\n| c |\n"}) {
    EXPECT_THAT(plain(odd), Not(HasSubstr("\x1b"))) << odd;
  }
}

TEST(MarkdownView, a_real_report_fits_80_columns_but_for_its_commands) {
  const std::string text = plain(to_markdown(test::sample_incident(), {}));
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("    ")) continue;
    EXPECT_LE(widest_line(std::string(line)), 80u) << line;
  }
}

}  // namespace
}  // namespace oomw
