// SPDX-License-Identifier: Apache-2.0
#include "verdict/victim_language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verdict/next_steps.h"

namespace oomw {
namespace {

Incident killed(const std::string& exe, const std::string& comm) {
  Incident incident;
  incident.victims.resize(1);
  incident.victims.front().exe = exe;
  incident.victims.front().comm = comm;
  return incident;
}

TEST(VictimLanguageTest, is_known_by_the_programs_name_alone) {
  EXPECT_EQ(language_of(killed("/usr/bin/python3.11", "gunicorn")), Language::kPython);
  EXPECT_EQ(language_of(killed("", "java")), Language::kJava);
  EXPECT_EQ(language_of(killed("/usr/local/bin/node", "node")), Language::kNode);
  EXPECT_EQ(language_of(killed("/bin/node_exporter", "node_exporter")), Language::kUnknown);
  EXPECT_EQ(language_of(Incident{}), Language::kUnknown);
}

TEST(VictimLanguageTest, what_was_read_of_it_says_more_than_a_name) {
  Incident incident = killed("/usr/bin/python3", "python3");
  incident.captures.resize(1);
  incident.captures.front().of = "jvm";
  EXPECT_EQ(language_of(incident), Language::kJava);
}

TEST(VictimLanguageTest, nobody_else_gets_the_advice_for_go) {
  for (const char* comm : {"memhog", "python3", "java", "node"}) {
    for (const NextStep& step : next_steps(killed("", comm))) {
      EXPECT_THAT(step.what, ::testing::Not(::testing::HasSubstr("net/http/pprof"))) << comm;
      EXPECT_THAT(step.what, ::testing::Not(::testing::HasSubstr("Go "))) << comm;
    }
  }
}

TEST(VictimLanguageTest, each_language_gets_a_command_of_its_own) {
  const auto command = [](const char* comm) { return next_steps(killed("", comm)).front().commands.front(); };
  EXPECT_EQ(command("python3"), "PYTHONTRACEMALLOC=10");
  EXPECT_THAT(command("java"), ::testing::HasSubstr("GC.class_histogram"));
  EXPECT_THAT(command("node"), ::testing::HasSubstr("--heapsnapshot-signal"));
}

}  // namespace
}  // namespace oomw
