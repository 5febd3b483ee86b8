// SPDX-License-Identifier: Apache-2.0
#include "elf/cfi_row.h"

#include <gtest/gtest.h>

#include "elf/cfi_program.h"

namespace oomw::elf {
namespace {

constexpr std::uint64_t kStack = 0x7000;

class CfiRowTest : public ::testing::Test {
 protected:
  CfiRowTest() {
    registers_[kSp] = kStack;
    registers_[kIp] = 0x40100b;
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = 0x100 + i;
  }
  [[nodiscard]] StackCopy stack() const { return {kStack, std::as_bytes(std::span(words_)), false}; }

  Registers registers_{};
  std::array<std::uint64_t, 8> words_{};
};

// As the linker writes it for a procedure linkage table: rsp + 8 + ((rip & 15) >= 11) << 3.
TEST_F(CfiRowTest, expression_of_a_plt_gives_what_was_pushed_by_then) {
  const std::vector<std::uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  EXPECT_EQ(evaluate(plt, registers_, stack(), std::nullopt), kStack + 16);
  registers_[kIp] = 0x401006;
  EXPECT_EQ(evaluate(plt, registers_, stack(), std::nullopt), kStack + 8);
}

TEST_F(CfiRowTest, expression_when_not_sound_gives_nothing) {
  const std::vector<std::uint8_t> unknown = {0xff}, too_few = {0x31, 0x22}, cut = {0x0a, 1}, elsewhere = {0x31, 0x06};
  for (const auto& one : {unknown, too_few, cut, elsewhere}) {
    EXPECT_FALSE(evaluate(one, registers_, stack(), std::nullopt).has_value());
  }
  EXPECT_FALSE(evaluate(std::vector<std::uint8_t>(200, 0x31), registers_, stack(), std::nullopt).has_value());
}

TEST_F(CfiRowTest, saved_registers_when_restored_are_the_callers) {
  // cfa = rsp + 16; the return address at cfa - 8, rbp at cfa - 16.
  const std::vector<std::uint8_t> instructions = {0x0c, 7, 16, 0x90, 1, 0x86, 2};
  CfiProgram program(1, -8);
  ASSERT_TRUE(program.run(instructions, 0x1000, 0x1004));
  const auto caller = caller_of(program.row, registers_, stack());
  ASSERT_TRUE(caller.has_value());
  EXPECT_EQ((*caller)[kIp], 0x101U);
  EXPECT_EQ((*caller)[kBp], 0x100U);
  EXPECT_EQ((*caller)[kSp], kStack + 16);
}

TEST_F(CfiRowTest, instructions_when_for_a_later_address_are_not_run) {
  // cfa = rsp + 8, return address at cfa - 8; four bytes on: cfa = rsp + 16.
  const std::vector<std::uint8_t> instructions = {0x0c, 7, 8, 0x90, 1, 0x44, 0x0e, 16};
  CfiProgram before(1, -8), after(1, -8);
  ASSERT_TRUE(before.run(instructions, 0x1000, 0x1003));
  ASSERT_TRUE(after.run(instructions, 0x1000, 0x1004));
  EXPECT_EQ((*caller_of(before.row, registers_, stack()))[kIp], 0x100U);
  EXPECT_EQ((*caller_of(after.row, registers_, stack()))[kIp], 0x101U);
}

TEST_F(CfiRowTest, program_when_it_remembers_without_end_or_recalls_nothing_is_refused) {
  EXPECT_FALSE(CfiProgram(1, -8).run(std::vector<std::uint8_t>(20, 0x0a), 0, 1));
  EXPECT_FALSE(CfiProgram(1, -8).run(std::vector<std::uint8_t>{0x0b}, 0, 1));
}

TEST_F(CfiRowTest, return_address_when_outside_of_the_copy_gives_no_caller) {
  CfiProgram program(1, -8);
  ASSERT_TRUE(program.run(std::vector<std::uint8_t>{0x0c, 7, 80, 0x90, 1}, 0x1000, 0x1004));
  EXPECT_FALSE(caller_of(program.row, registers_, stack()).has_value());
}

}  // namespace
}  // namespace oomw::elf
