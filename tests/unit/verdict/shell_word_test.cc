// SPDX-License-Identifier: Apache-2.0
#include "verdict/shell_word.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(ShellWord, plain_names_stay_as_they_are) {
  for (const char* name : {"cart-7d9f", "trend-01.pb.gz", "/kubepods/pod1", "deployment/cart", "a=b,c:d@e+f%g"}) {
    EXPECT_EQ(shell_word(name), name);
  }
}

TEST(ShellWord, what_a_shell_would_read_is_quoted) {
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_word("a;b|c&d>e"), "'a;b|c&d?e'");
  EXPECT_EQ(shell_word("~root"), "'~root'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("*?[!]"), "'*?[!]'");
}

TEST(ShellWord, no_byte_ends_the_line_or_moves_the_cursor) {
  EXPECT_EQ(shell_word("a\nreboot\n"), "'a?reboot?'");
  EXPECT_EQ(shell_word("\x1b[31m\u202e"),
            "'?[31m"
            "?"
            "?"
            "?'");
  EXPECT_EQ(shell_word(std::string("a\0b", 3)), "'a?b'");
}

TEST(ShellWord, nothing_is_taken_for_an_option_and_nothing_is_nothing) {
  EXPECT_EQ(shell_word("-rf"), "./-rf");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWord, is_bounded) { EXPECT_LE(shell_word(std::string(100'000, '\'')).size(), 4 * 512u + 4); }

}  // namespace
}  // namespace oomw
