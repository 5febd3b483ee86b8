// SPDX-License-Identifier: Apache-2.0
// Stacks of Java programs, interpreted and compiled, against what Java itself says of its callers.
#include <algorithm>
#include <regex>

#include <gtest/gtest.h>

#include "base/text.h"
#include "growth/unwound.h"
#include "reader/reader.h"
#include "support/source_tree.h"
#include "unit/growth/sampled_program.h"

#if defined(__x86_64__)
namespace oomw {
namespace {

// The system's own; OOMW_TEST_JAVA names another.
std::string java() {
  const char* given = std::getenv("OOMW_TEST_JAVA");
  return given != nullptr ? given : "/usr/bin/java";
}

struct JavaMode {
  const char* name;
  const char* option;
};

class JavaStackMatrix : public testing::TestWithParam<JavaMode> {};

// Of the program's own and the JDK's functions, from Callers.stop on.
std::vector<std::string> functions_of(const UnwoundSamples& unwound) {
  std::vector<std::string> functions;
  if (unwound.stacks.empty()) return functions;
  for (const std::uint32_t number : unwound.stacks.front().frames) {
    const GrowthFrame& frame = unwound.frames[number];
    if (frame.is_managed) functions.push_back(frame.function.substr(0, frame.function.find('(')));
  }
  functions.erase(functions.begin(), std::ranges::find(functions, "Callers.stop"));
  return functions;
}

TEST_P(JavaStackMatrix, frames_are_those_that_java_itself_says) {
  const test::ProgramDirectory directory;
  const std::string source = test::source_tree() + "/tests/workloads/java/Callers.java";
  if (!directory.run("command -v javac && test -x " + java())) GTEST_SKIP() << "there is no JDK: " << directory.log();
  ASSERT_TRUE(directory.run("javac --release 8 -nowarn -d . " + source)) << directory.log();
  const std::string script =
      directory.write("start", "#!/bin/sh\nexec " + java() +
                                   " -Xmx64m -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames " +
                                   GetParam().option + " -cp " + directory.path("") + " Callers \"$1\"\n");
  ASSERT_TRUE(directory.run("chmod +x start"));
  const SystemClock clock;
  reader::Reader reader(clock);
  test::SampledProgram program(script, directory.path("callers"));
  ASSERT_TRUE(program.is_ready());
  std::vector<std::string> expected;
  const std::string text = read_file(directory.path("callers"), 1u << 16).value_or("");
  for (const std::string_view line : split(text, '\n')) {
    // Without the address that tells classes of lambdas apart.
    if (!line.empty())
      expected.push_back(std::regex_replace(std::string(line), std::regex("[/+](0x)?[0-9a-f]+[.]"), "."));
  }
  ASSERT_GT(expected.size(), 12u);
  const int thread = std::atoi(expected.front().c_str());
  expected.erase(expected.begin(), std::ranges::find(expected, "Callers.stop"));
  ASSERT_FALSE(expected.empty());
  const std::vector<std::byte> records = program.sample(OOMW_GROWTH_STACK_MAX, thread);
  ASSERT_FALSE(records.empty()) << "no sample could be taken";
  auto process = SampledProcess::open("/proc", {program.pid(), 0});
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const auto unwound = process->unwind(records, reader, nullptr);
  ASSERT_TRUE(unwound.has_value()) << unwound.error().message;
  EXPECT_EQ(functions_of(*unwound), expected);
  EXPECT_TRUE(unwound->stacks.front().is_complete);
  program.end();
  const auto afterwards = process->unwind(records, reader, nullptr);
  ASSERT_TRUE(afterwards.has_value()) << afterwards.error().message;
  EXPECT_EQ(functions_of(*afterwards), expected) << "by what was known of it";
  EXPECT_TRUE(afterwards->stacks.front().is_complete);
}

INSTANTIATE_TEST_SUITE_P(All, JavaStackMatrix,
                         testing::Values(JavaMode{"interpreted", "-Xint"},
                                         JavaMode{"first_compiler", "-XX:TieredStopAtLevel=1"},
                                         JavaMode{"both_compilers", "-XX:+TieredCompilation"},
                                         JavaMode{"no_archive", "-Xshare:off"}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oomw
#endif
