// SPDX-License-Identifier: Apache-2.0
#include "kernel/missed_runs.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace oomw {
namespace {

std::vector<LoadedProgram> programs(const std::vector<std::string>& names) {
  std::vector<LoadedProgram> made;
  for (const std::string& name : names) made.push_back({name, {}, {}});
  return made;
}

TEST(MissedRunsTest, each_call_asks_a_few_and_all_are_asked_in_turn) {
  std::map<std::string, std::uint64_t> asked;
  MissedRuns runs([&](const LoadedProgram& program) { return ++asked[program.name], 10; });
  const auto loaded = programs({"a", "b", "c", "d", "e"});
  EXPECT_EQ(runs.total(loaded), 20u);
  EXPECT_EQ(asked.size(), MissedRuns::kPerCall);
  (void)runs.total(loaded);
  EXPECT_EQ(runs.total(loaded), 50u);
  EXPECT_EQ(asked.size(), 5u);
  (void)runs.total(loaded);
  (void)runs.total(loaded);
  for (const auto& [name, times] : asked) EXPECT_EQ(times, 2u) << name;
}

TEST(MissedRunsTest, without_or_with_one_program_asks_no_program_twice) {
  int asked = 0;
  MissedRuns runs([&](const LoadedProgram&) { return ++asked, 7; });
  EXPECT_EQ(runs.total({}), 0u);
  EXPECT_EQ(runs.total(programs({"a"})), 7u);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace oomw
