// SPDX-License-Identifier: Apache-2.0
// What was known of a Node.js process before: for one that died, and for no other.
#include <fcntl.h>

#include <cstdint>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "growth/v8_stack.h"
#include "memory/byte_source.h"
#include "support/source_tree.h"
#include "unit/growth/sampled_code.h"
#include "unit/growth/sampled_program.h"

#if defined(__x86_64__)
namespace oomw::growth {
namespace {

// By the function's address.
using Names = std::map<std::uint64_t, std::string>;

class KnownV8Test : public testing::Test {
 protected:
  void SetUp() override {
    if (!directory_.run("command -v node")) GTEST_SKIP() << "there is no node";
    const std::string script =
        directory_.write("start", "#!/bin/sh\nexec node --no-opt --no-sparkplug " + test::source_tree() +
                                      "/tests/workloads/node/callers.js \"$1\"\n");
    ASSERT_TRUE(directory_.run("chmod +x start"));
    program_.emplace(script, directory_.path("callers"));
    record_ = program_->sample();
    ASSERT_FALSE(record_.empty()) << "no sample could be taken";
    code_.emplace(program_->pid());
    node_ = find_v8(code_->map().ranges());
    if (node_ == nullptr) GTEST_SKIP() << "this node does not describe itself";
    memory_.reset(::open(("/proc/" + std::to_string(program_->pid()) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(memory_.is_valid());
  }
  // In a batch of its own; those without a name are left out.
  [[nodiscard]] Names names_in(const ByteSource& memory) {
    V8Stack stack(known_, code_->map(), *node_, memory);
    Names names;
    for (const NativeFrame& native : code_->unwind(record_, &stack).frames) {
      for (const GrowthFrame& frame : stack.frames_at(native.pc, native.is_exact, native.method)) {
        names[native.method] = frame.function;
      }
    }
    return names;
  }
  [[nodiscard]] Names names_now() { return names_in(FdSource(memory_.get())); }
  [[nodiscard]] Names names_when_gone() { return names_in(SpanSource({}, 0)); }

  test::ProgramDirectory directory_;
  std::optional<test::SampledProgram> program_;
  std::optional<test::SampledCode> code_;
  std::vector<std::byte> record_;
  CodeFile* node_ = nullptr;
  UniqueFd memory_;
  KnownV8 known_;
};

TEST_F(KnownV8Test, a_process_that_died_is_told_by_what_was_read) {
  EXPECT_THAT(names_when_gone(), testing::IsEmpty());
  const Names names = names_now();
  EXPECT_GT(names.size(), 8u);
  EXPECT_EQ(names_when_gone(), names);
}

TEST_F(KnownV8Test, one_that_lives_is_told_as_it_is_now) {
  const Names names = names_now();
  for (auto& [address, frame] : known_.functions) frame.function = "earlier";
  EXPECT_EQ(names_now(), names);
}

// The collector moves functions, and puts others there.
TEST_F(KnownV8Test, an_address_that_was_two_functions_names_neither) {
  const Names names = names_now();
  ASSERT_FALSE(names.empty());
  known_.functions.at(names.begin()->first).function = "earlier";
  EXPECT_EQ(names_now(), names);
  Names without_it = names;
  without_it.erase(names.begin()->first);
  EXPECT_EQ(names_when_gone(), without_it);
}

TEST_F(KnownV8Test, of_another_program_nothing_is_known) {
  EXPECT_THAT(names_now(), testing::Not(testing::IsEmpty()));
  known_.begin += 4096;
  EXPECT_THAT(names_when_gone(), testing::IsEmpty());
}

}  // namespace
}  // namespace oomw::growth
#endif
