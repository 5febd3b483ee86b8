// SPDX-License-Identifier: Apache-2.0
// How to get from a place in a function to its caller, as the compiler wrote it down. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace oomw::elf {

// In DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, then the return address.
inline constexpr std::size_t kRegisters = 17;
inline constexpr std::size_t kBp = 6, kSp = 7, kIp = 16;
using Registers = std::array<std::uint64_t, kRegisters>;

enum class RuleKind : std::uint8_t {
  kSame,
  kOffset,
  kUndefined,
  kValueOffset,
  kExpression,
  kValueExpression,
  kRegister
};

// Where the caller's value of a register is. An expression lies in CfiRow::expressions, from `value`, `size` bytes.
struct RegisterRule {
  RuleKind kind = RuleKind::kSame;
  std::uint16_t size = 0;
  std::int64_t value = 0;
};

struct CfiRow {
  // The canonical frame address: a register plus an offset, or (is_expression) what an expression gives.
  bool is_expression = false;
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  RegisterRule cfa;
  std::array<RegisterRule, kRegisters> rules;
  std::vector<std::uint8_t> expressions;
  bool is_signal_frame = false;
  std::uint64_t function = 0;  // address of its first instruction
  std::uint64_t function_bytes = 0;

  [[nodiscard]] std::span<const std::uint8_t> expression(const RegisterRule& rule) const {
    return std::span(expressions).subspan(static_cast<std::size_t>(rule.value), rule.size);
  }
};

// The copied part of a thread's stack. Borrows the bytes.
struct StackCopy {
  std::uint64_t begin = 0;
  std::span<const std::byte> bytes;
  bool is_cut = false;  // the stack goes on behind it

  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t end() const { return begin + bytes.size(); }
};

// A DWARF expression over registers and the copied stack: the operations that PLTs, signal frames and hand-written
// assembly use, at most 128 of them. `first`: what is on the expression's stack to begin with.
[[nodiscard]] std::optional<std::uint64_t> evaluate(std::span<const std::uint8_t> expression,
                                                    const Registers& registers, const StackCopy& stack,
                                                    std::optional<std::uint64_t> first);

// The registers of the caller; nothing if the copied stack does not have them. Does not handle an undefined return
// address: that is the outermost frame.
[[nodiscard]] std::optional<Registers> caller_of(const CfiRow& row, const Registers& registers, const StackCopy& stack);

}  // namespace oomw::elf
