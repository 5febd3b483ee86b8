// SPDX-License-Identifier: Apache-2.0
// Stacks of JavaScript, interpreted and compiled, against what V8 itself says of its callers.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "growth/unwound.h"
#include "reader/reader.h"
#include "support/source_tree.h"
#include "unit/growth/sampled_program.h"

#if defined(__x86_64__)
namespace oomw {
namespace {

struct V8Mode {
  const char* name;
  const char* options;
  bool may_inline = false;
};

class V8StackMatrix : public testing::TestWithParam<V8Mode> {};

constexpr const char* kFile = "callers.js";

// Those of the program, innermost first.
std::vector<std::string> functions_of_file(const UnwoundSamples& unwound) {
  std::vector<std::string> functions;
  if (unwound.stacks.empty()) return functions;
  for (const std::uint32_t number : unwound.stacks.front().frames) {
    const GrowthFrame& frame = unwound.frames[number];
    if (frame.is_managed && frame.file == kFile) functions.push_back(frame.function);
    EXPECT_EQ(frame.is_library, frame.file.starts_with("node:")) << frame.function;
  }
  return functions;
}

// "    at Shelf.take (/srv/callers.js:18:27)": "take".
std::vector<std::string> functions_in(const std::string& text) {
  std::vector<std::string> functions;
  for (const std::string_view line : split(text, '\n')) {
    if (line.find(kFile) == std::string_view::npos) continue;
    const std::size_t end = line.find(" (");
    std::string_view name = end == std::string_view::npos ? "<anonymous>" : line.substr(0, end);
    name = name.substr(name.find_last_of(". ") + 1);
    functions.emplace_back(name);
  }
  return functions;
}

bool is_part_of(const std::vector<std::string>& part, const std::vector<std::string>& whole) {
  auto at = whole.begin();
  for (const std::string& one : part) {
    at = std::find(at, whole.end(), one);
    if (at == whole.end()) return false;
    ++at;
  }
  return true;
}

TEST_P(V8StackMatrix, frames_are_those_that_v8_itself_says) {
  const test::ProgramDirectory directory;
  if (!directory.run("command -v node")) GTEST_SKIP() << "there is no node";
  const std::string source = test::source_tree() + "/tests/workloads/node/" + kFile;
  // Which compilers there are depends on the version.
  const std::string script = directory.write(
      "start", std::string("#!/bin/sh\ncase \"$(node --v8-options)\" in *'--maglev ('*) maglev=--no-maglev ;; esac\n") +
                   (GetParam().may_inline ? "exec node " : "exec node $maglev ") + GetParam().options + " " + source +
                   " \"$1\"\n");
  ASSERT_TRUE(directory.run("chmod +x start"));
  const SystemClock clock;
  reader::Reader reader(clock);
  test::SampledProgram program(script, directory.path("callers"));
  const std::vector<std::byte> records = program.sample();
  ASSERT_FALSE(records.empty()) << "no sample could be taken";
  const std::vector<std::string> expected = functions_in(read_file(directory.path("callers"), 1u << 16).value_or(""));
  ASSERT_GT(expected.size(), 12u);
  auto process = SampledProcess::open("/proc", {program.pid(), 0});
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const auto check = [&] {
    const auto unwound = process->unwind(records, reader, nullptr);
    ASSERT_TRUE(unwound.has_value()) << unwound.error().message;
    const std::vector<std::string> functions = functions_of_file(*unwound);
    if (GetParam().may_inline) {
      ASSERT_GT(functions.size(), 3u);
      EXPECT_EQ(functions.front(), "stop") << "it ran once, so nothing inlined it";
      EXPECT_TRUE(is_part_of(functions, expected)) << testing::PrintToString(functions);
    } else {
      EXPECT_EQ(functions, expected);
    }
    EXPECT_TRUE(unwound->stacks.front().is_complete);
  };
  check();
  program.end();
  check();  // by what was known of it
}

INSTANTIATE_TEST_SUITE_P(All, V8StackMatrix,
                         testing::Values(V8Mode{"interpreted", "--no-opt --no-sparkplug"},
                                         V8Mode{"baseline", "--no-opt --always-sparkplug"},
                                         V8Mode{"not_inlined", "--no-turbo-inlining"}, V8Mode{"default", "", true}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oomw
#endif
