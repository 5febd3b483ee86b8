// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/global_names.h"

#include <vector>

#include <gtest/gtest.h>

namespace oomw::go::retention {
namespace {

TEST(GlobalNames, variables_that_only_the_runtime_uses_are_its_own) {
  EXPECT_TRUE(is_runtime_global("runtime.m0"));
  EXPECT_TRUE(is_runtime_global("used by runtime.mstart1, runtime.schedinit"));
  EXPECT_TRUE(is_runtime_global("used by runtime.a, runtime.b, runtime.c, ..."));
}

TEST(GlobalNames, variables_of_the_program_are_not) {
  EXPECT_FALSE(is_runtime_global("main.sessions"));
  EXPECT_FALSE(is_runtime_global("used by main.init, runtime.doInit"));
  EXPECT_FALSE(is_runtime_global("used by sync.runtime_registerPoolCleanup"));
}

// Most of a program's globals lie between two of them.
TEST(GlobalNames, pointers_to_what_lies_between_the_variables_in_question_take_no_room) {
  const std::vector<std::uint64_t> addresses = {0x500000, 0x900040};
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 1000; ++i) words.push_back(0x600000 + 8 * i);
  words.insert(words.end(), {0x500008, 0x900001, 0x8ffff8, 0x900000, ~std::uint64_t{7}, 0x500000});
  std::map<std::uint64_t, std::uint64_t> found;
  add_pointers(words, 0x700000, addresses, found);
  const std::map<std::uint64_t, std::uint64_t> expected = {{0x900000, 0x700000 + 8 * 1003},
                                                           {0x500000, 0x700000 + 8 * 1005}};
  EXPECT_EQ(found, expected);
}

TEST(GlobalNames, pointers_are_bounded) {
  std::vector<std::uint64_t> addresses, words;
  for (std::uint64_t i = 0; i < 1000; ++i) addresses.push_back(0x500000 + 64 * i), words.push_back(addresses.back());
  std::map<std::uint64_t, std::uint64_t> found;
  add_pointers(words, 0x700000, addresses, found);
  EXPECT_EQ(found.size(), 64u);
}

}  // namespace
}  // namespace oomw::go::retention
