// SPDX-License-Identifier: Apache-2.0
// Stacks of Go programs, stripped and not, against what Go itself says of its callers.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "growth/unwound.h"
#include "reader/reader.h"
#include "unit/growth/sampled_program.h"
#include "unit/runtimes/go/go_program.h"

#if defined(__x86_64__)
namespace oomw {
namespace {

class GoStackMatrix : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

// "main.(*store).take main.go 58", without the line of the innermost: it went on since.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (!lines.empty()) lines.front() = lines.front().substr(0, lines.front().rfind(' '));
  return lines;
}

// "main.each[...] main.go 61": so Go prints type arguments.
std::string as_printed(std::string frame) {
  const std::size_t open = frame.find('['), close = frame.rfind(']');
  return open < close && close != std::string::npos ? frame.replace(open, close - open + 1, "[...]") : frame;
}

TEST_P(GoStackMatrix, frames_are_those_that_go_itself_says) {
  const auto built = go::test::go_program(std::get<0>(GetParam()), std::get<1>(GetParam()), "go-stack");
  if (built.path.empty()) GTEST_SKIP() << built.reason;
  const test::ProgramDirectory directory;
  const SystemClock clock;
  reader::Reader reader(clock);
  test::SampledProgram program(built.path, directory.path("callers"));
  const std::vector<std::byte> records = program.sample();
  ASSERT_FALSE(records.empty()) << "no sample could be taken";
  auto process = SampledProcess::open("/proc", {program.pid(), 0});
  ASSERT_TRUE(process.has_value()) << process.error().message;
  program.end();
  const auto unwound = process->unwind(records, reader, nullptr);
  ASSERT_TRUE(unwound.has_value()) << unwound.error().message;
  ASSERT_FALSE(unwound->stacks.empty());
  std::vector<std::string> frames;
  for (const std::uint32_t number : unwound->stacks.front().frames) {
    const GrowthFrame& frame = unwound->frames[number];
    frames.push_back(as_printed(frame.function + " " + frame.file + " " + std::to_string(frame.line)));
    EXPECT_EQ(frame.module, built.path.substr(built.path.rfind('/') + 1));
    EXPECT_FALSE(frame.is_managed);
  }
  frames.erase(frames.begin(),
               std::ranges::find_if(frames, [](const std::string& frame) { return frame.starts_with("main.stop "); }));
  ASSERT_FALSE(frames.empty());
  frames.front() = frames.front().substr(0, frames.front().rfind(' '));
  const std::vector<std::string> expected = lines_of(read_file(directory.path("callers"), 1u << 16).value_or(""));
  EXPECT_GT(expected.size(), 28u);
  EXPECT_EQ(frames, expected);
  EXPECT_TRUE(unwound->stacks.front().is_complete);
}

std::string name_of(const testing::TestParamInfo<GoStackMatrix::ParamType>& info) {
  std::string name = std::string("go") + std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GoStackMatrix,
                         testing::Combine(testing::Values("1.19", "1.26", "1.27"),
                                          testing::Values("plain", "strip", "pie-strip", "ext-strip")),
                         name_of);

}  // namespace
}  // namespace oomw
#endif
