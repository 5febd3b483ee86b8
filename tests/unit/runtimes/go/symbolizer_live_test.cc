// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/symbolizer.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/runtimes/go/go_program.h"

namespace oomw::go {
namespace {

using test::GoProcess;

// "function file line" of each program counter, as the runtime itself resolves it.
std::map<std::uint64_t, std::string> own_symbols(GoProcess& process) {
  std::map<std::uint64_t, std::string> symbols;
  std::istringstream in(process.ask("symbols"));
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    symbols[std::stoull(line.substr(2, space - 2), nullptr, 16)] = line.substr(space + 1);
  }
  return symbols;
}

// "main.(*box[go.shape.uint8]).fill" -> "main.(*box[...]).fill": the runtime prints names so.
std::string as_printed(std::string name) {
  const std::size_t open = name.find('['), close = name.rfind(']');
  if (open == std::string::npos || close == std::string::npos || close <= open) return name;
  return name.replace(open, close - open + 1, "[...]");
}

class GoRuntimeMatrixSymbols : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(GoRuntimeMatrixSymbols, frames_equal_what_the_runtime_says) {
  OOMW_BUILD_OR_SKIP(program, std::get<0>(GetParam()), std::get<1>(GetParam()));
  GoProcess process(program.path, "1");
  process.ask("leak 3");
  process.ask("inline 3");
  process.ask("gc");
  const auto own = own_symbols(process);
  const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));
  const FdSource file(fd.get());
  const auto symbolizer = Symbolizer::open(file);
  ASSERT_TRUE(symbolizer.has_value()) << symbolizer.error().message;
  EXPECT_TRUE((*symbolizer)->has_inlining());
  const std::uint64_t bias = test::target_of(process.pid())->load_bias;
  EXPECT_GT(own.size(), 30U);
  for (const auto& [pc, expected] : own) {
    const Frame frame = (*symbolizer)->frame(pc - bias);
    const TextPool& texts = (*symbolizer)->texts();
    EXPECT_EQ(as_printed(texts.text(frame.function)) + " " + texts.text(frame.file) + " " + std::to_string(frame.line),
              expected);
  }
}

TEST_P(GoRuntimeMatrixSymbols, lookups_when_their_steps_are_used_up_give_nothing) {
  OOMW_BUILD_OR_SKIP(program, std::get<0>(GetParam()), std::get<1>(GetParam()));
  GoProcess process(program.path, "1");
  process.ask("leak 3");
  process.ask("gc");
  const auto own = own_symbols(process);
  ASSERT_FALSE(own.empty());
  const std::uint64_t code = own.begin()->first - test::target_of(process.pid())->load_bias - 1;
  const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));
  const FdSource file(fd.get());
  const auto all = Symbolizer::open(file), few = Symbolizer::open(file, {std::uint64_t{64} << 20, 2000});
  ASSERT_TRUE(all.has_value() && few.has_value());
  EXPECT_TRUE((*all)->stack_place(code));
  std::size_t found = 0;
  for (int i = 0; i < 5000; ++i) found += (*few)->stack_place(code) ? 1u : 0u;
  EXPECT_LT(found, 2000u);
  EXPECT_FALSE((*few)->stack_place(code));
}

TEST_P(GoRuntimeMatrixSymbols, leaking_stacks_begin_at_the_programs_own_code) {
  OOMW_BUILD_OR_SKIP(program, std::get<0>(GetParam()), std::get<1>(GetParam()));
  GoProcess process(program.path, "1");
  process.ask("inline 3");
  process.ask("gc");
  const auto snapshot = read_heap(*test::target_of(process.pid()));
  const UniqueFd fd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));
  const FdSource file(fd.get());
  FrameTable table;
  for (const Bucket& bucket : snapshot->buckets) table.want(snapshot->pcs_of(bucket), snapshot->load_bias);
  const auto named = name_frames(file, table.wanted());
  ASSERT_TRUE(named.has_value()) << named.error().message;
  table.add(*named);
  std::vector<std::vector<std::string>> stacks;
  for (const Bucket& bucket : snapshot->buckets) {
    if (bucket.size != (1 << 20)) continue;
    std::vector<std::string>& names = stacks.emplace_back();
    for (const Frame& frame : table.stack(snapshot->pcs_of(bucket), snapshot->load_bias)) {
      names.push_back(as_printed(table.text(frame.function)));
    }
  }
  using testing::ElementsAre;
  EXPECT_THAT(stacks,
              testing::IsSupersetOf(
                  {ElementsAre("main.inlined", "main.leakInlined", "main.run", "main.main", "runtime.main"),
                   ElementsAre("main.(*box[...]).fill", "main.leakInlined", "main.run", "main.main", "runtime.main")}));
}

INSTANTIATE_TEST_SUITE_P(All, GoRuntimeMatrixSymbols,
                         testing::Combine(testing::Values("1.19", "1.26", "1.27"),
                                          testing::Values("plain", "strip", "pie-strip", "ext-strip", "ext-pie-strip")),
                         test::name_of_program);

}  // namespace
}  // namespace oomw::go
