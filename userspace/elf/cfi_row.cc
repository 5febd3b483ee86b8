// SPDX-License-Identifier: Apache-2.0
#include "elf/cfi_row.h"

#include <cstring>

#include "elf/dwarf_cursor.h"

namespace oomw::elf {
namespace {

constexpr int kMaxOperations = 128;
constexpr std::size_t kMaxOperands = 32;

// The stack machine of one expression.
class StackMachine {
 public:
  StackMachine(const Registers& registers, const StackCopy& stack) : registers_(registers), stack_(stack) {}

  void push(std::uint64_t value) {
    is_good_ = is_good_ && depth_ < kMaxOperands;
    if (is_good_) values_[depth_++] = value;
  }
  std::uint64_t pop() {
    is_good_ = is_good_ && depth_ > 0;
    return is_good_ ? values_[--depth_] : 0;
  }
  [[nodiscard]] bool is_good() const { return is_good_; }

  void step(std::uint8_t operation, DwarfCursor& in) {
    if (operation >= 0x30 && operation <= 0x4f) return push(operation - 0x30u);
    if (operation >= 0x70 && operation <= 0x80) {
      return push(registers_[operation - 0x70u] + static_cast<std::uint64_t>(in.sleb()));
    }
    if (operation >= 0x08 && operation <= 0x11) return push(constant(operation, in));
    switch (operation) {
      case 0x06: {  // dereference
        const auto word = stack_.word(pop());
        is_good_ = is_good_ && word.has_value();
        return push(word.value_or(0));
      }
      case 0x12: {  // duplicate
        const std::uint64_t top = pop();
        push(top);
        return push(top);
      }
      case 0x23:
        return push(pop() + in.uleb());
      case 0x96:  // nothing
        return;
      default:
        return combine(operation);
    }
  }

 private:
  static std::uint64_t constant(std::uint8_t operation, DwarfCursor& in) {
    switch (operation) {
      case 0x08:
        return in.byte();
      case 0x09:
        return static_cast<std::uint64_t>(std::int64_t{in.number<std::int8_t>()});
      case 0x0a:
        return in.number<std::uint16_t>();
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{in.number<std::int16_t>()});
      case 0x0c:
        return in.number<std::uint32_t>();
      case 0x0d:
        return static_cast<std::uint64_t>(std::int64_t{in.number<std::int32_t>()});
      case 0x10:
        return in.uleb();
      case 0x11:
        return static_cast<std::uint64_t>(in.sleb());
      default:
        return in.number<std::uint64_t>();
    }
  }

  void combine(std::uint8_t operation) {
    const std::uint64_t right = pop(), left = pop();
    switch (operation) {
      case 0x1a:
        return push(left & right);
      case 0x1c:
        return push(left - right);
      case 0x21:
        return push(left | right);
      case 0x22:
        return push(left + right);
      case 0x24:
        return push(left << (right & 63));
      case 0x2a:
        return push(static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right) ? 1 : 0);
      default:
        is_good_ = false;
    }
  }

  const Registers& registers_;
  const StackCopy& stack_;
  std::array<std::uint64_t, kMaxOperands> values_{};
  std::size_t depth_ = 0;
  bool is_good_ = true;
};

std::optional<std::uint64_t> value_of(const CfiRow& row, std::size_t number, std::uint64_t cfa,
                                      const Registers& registers, const StackCopy& stack) {
  const RegisterRule& rule = row.rules[number];
  switch (rule.kind) {
    case RuleKind::kSame:
    case RuleKind::kUndefined:
      return registers[number];
    case RuleKind::kOffset:
      return stack.word(cfa + static_cast<std::uint64_t>(rule.value));
    case RuleKind::kValueOffset:
      return cfa + static_cast<std::uint64_t>(rule.value);
    case RuleKind::kRegister:
      return registers[static_cast<std::size_t>(rule.value)];
    case RuleKind::kExpression: {
      const auto place = evaluate(row.expression(rule), registers, stack, cfa);
      return place ? stack.word(*place) : std::nullopt;
    }
    case RuleKind::kValueExpression:
      return evaluate(row.expression(rule), registers, stack, cfa);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> StackCopy::word(std::uint64_t address) const {
  if (address < begin || bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
  const std::uint64_t offset = address - begin;
  if (offset > bytes.size() - sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::uint64_t> evaluate(std::span<const std::uint8_t> expression, const Registers& registers,
                                      const StackCopy& stack, std::optional<std::uint64_t> first) {
  DwarfCursor in(expression);
  StackMachine machine(registers, stack);
  if (first) machine.push(*first);
  for (int i = 0; i < kMaxOperations && machine.is_good() && !in.at_end(); ++i) machine.step(in.byte(), in);
  const std::uint64_t result = machine.pop();
  if (!machine.is_good() || !in.is_good() || !in.at_end()) return std::nullopt;
  return result;
}

std::optional<Registers> caller_of(const CfiRow& row, const Registers& registers, const StackCopy& stack) {
  std::optional<std::uint64_t> cfa;
  if (row.is_expression) {
    cfa = evaluate(row.expression(row.cfa), registers, stack, std::nullopt);
  } else if (row.cfa_register < kRegisters) {
    cfa = registers[row.cfa_register] + static_cast<std::uint64_t>(row.cfa_offset);
  }
  // Without a rule for the return address there is no way on.
  if (!cfa || row.rules[kIp].kind == RuleKind::kSame) return std::nullopt;
  Registers caller = registers;
  for (std::size_t i = 0; i < kRegisters; ++i) {
    const auto value = value_of(row, i, *cfa, registers, stack);
    if (!value && i == kIp) return std::nullopt;
    // A saved register outside of the copy: only a frame that needs it fails.
    caller[i] = value.value_or(0);
  }
  if (row.rules[kSp].kind == RuleKind::kSame) caller[kSp] = *cfa;
  return caller;
}

}  // namespace oomw::elf
