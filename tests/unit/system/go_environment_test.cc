// SPDX-License-Identifier: Apache-2.0
#include "system/go_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace oomw {
namespace {

using namespace std::string_literals;

TEST(GoEnvironment, both_numbers_are_read) {
  const GoConfig go = go_config_of("PATH=/bin\0GOGC=50\0GOMEMLIMIT=100MiB\0HOME=/\0"s);
  EXPECT_EQ(go.gogc_percent, 50);
  EXPECT_EQ(go.memory_limit_bytes, 100U << 20);
}

TEST(GoEnvironment, neither_is_there_where_none_is_set) {
  for (const std::string& text : {""s, "\0\0"s, "PATH=/bin\0"s, "XGOGC=5\0GOGCX=7\0GOGC\0"s, "A=GOGC=5\0"s}) {
    const GoConfig go = go_config_of(text);
    EXPECT_FALSE(go.gogc_percent) << text;
    EXPECT_FALSE(go.memory_limit_bytes) << text;
  }
}

TEST(GoEnvironment, off_is_minus_one_and_no_memory_limit) {
  const GoConfig go = go_config_of("GOGC=off\0GOMEMLIMIT=off\0"s);
  EXPECT_EQ(go.gogc_percent, -1);
  EXPECT_FALSE(go.memory_limit_bytes);
  EXPECT_EQ(go_config_of("GOGC=-7\0"s).gogc_percent, -1);
}

TEST(GoEnvironment, units_are_those_of_go) {
  const auto limit = [](const std::string& value) {
    return go_config_of("GOMEMLIMIT=" + value + '\0').memory_limit_bytes;
  };
  EXPECT_EQ(limit("4096"), 4096U);
  EXPECT_EQ(limit("4096B"), 4096U);
  EXPECT_EQ(limit("3KiB"), 3072U);
  EXPECT_EQ(limit("2GiB"), 2ULL << 30);
  EXPECT_EQ(limit("1TiB"), 1ULL << 40);
  for (const char* bad : {"", "MiB", "1MB", "1 MiB", "-1", "1e9", "99999999999TiB", "9223372036854775807"}) {
    EXPECT_FALSE(limit(bad)) << bad;
  }
}

TEST(GoEnvironment, first_of_two_counts_as_it_does_in_go) {
  EXPECT_EQ(go_config_of("GOGC=30\0GOGC=60\0"s).gogc_percent, 30);
}

TEST(GoEnvironment, entry_that_is_cut_off_is_not_half_read) {
  EXPECT_FALSE(go_config_of("A=1\0GOGC=10"s).gogc_percent);
}

TEST(GoEnvironment, number_beyond_32_bits_is_the_default) {
  EXPECT_FALSE(go_config_of("GOGC=99999999999\0"s).gogc_percent);
  EXPECT_FALSE(go_config_of("GOGC=ten\0"s).gogc_percent);
}

}  // namespace
}  // namespace oomw
