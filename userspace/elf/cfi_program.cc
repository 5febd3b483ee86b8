// SPDX-License-Identifier: Apache-2.0
#include "elf/cfi_program.h"

namespace oomw::elf {

void CfiProgram::set(std::uint64_t number, RuleKind kind, std::int64_t value) {
  // Vector registers and the like are not followed.
  if (number < kRegisters) row.rules[number] = {kind, 0, value};
}

void CfiProgram::restore(std::uint64_t number) {
  if (number < kRegisters) row.rules[number] = common_[number];
}

void CfiProgram::set_expression(RegisterRule& rule, RuleKind kind, DwarfCursor& in) {
  const std::span<const std::uint8_t> bytes = in.take(in.uleb());
  is_good_ = is_good_ && in.is_good() && row.expressions.size() + bytes.size() <= kMaxExpressions;
  if (!is_good_) return;
  rule = {kind, static_cast<std::uint16_t>(bytes.size()), static_cast<std::int64_t>(row.expressions.size())};
  row.expressions.insert(row.expressions.end(), bytes.begin(), bytes.end());
}

void CfiProgram::remember() {
  is_good_ = is_good_ && remembered_.size() < kMaxRemembered;
  if (is_good_) remembered_.push_back({row.is_expression, row.cfa_register, row.cfa_offset, row.cfa, row.rules});
}

void CfiProgram::recall() {
  is_good_ = is_good_ && !remembered_.empty();
  if (!is_good_) return;
  const State& state = remembered_.back();
  row.is_expression = state.is_expression;
  row.cfa_register = state.cfa_register;
  row.cfa_offset = state.cfa_offset;
  row.cfa = state.cfa;
  row.rules = state.rules;
  remembered_.pop_back();
}

void CfiProgram::define_cfa(std::uint8_t operation, DwarfCursor& in) {
  if (operation == 0x0f) {
    row.is_expression = true;
    return set_expression(row.cfa, RuleKind::kValueExpression, in);
  }
  const bool has_register = operation == 0x0c || operation == 0x0d || operation == 0x12;
  if (has_register) {
    row.is_expression = false;
    row.cfa_register = in.uleb();
  }
  if (operation == 0x0c || operation == 0x0e) row.cfa_offset = static_cast<std::int64_t>(in.uleb());
  if (operation == 0x12 || operation == 0x13) row.cfa_offset = scaled(static_cast<std::uint64_t>(in.sleb()));
}

// DW_CFA_*, those without an operand in the first byte.
void CfiProgram::step(std::uint8_t operation, DwarfCursor& in) {
  switch (operation) {
    case 0x00:
      return;
    case 0x01:
      location_ = in.number<std::uint64_t>();
      return;
    case 0x02:
      return advance(in.byte());
    case 0x03:
      return advance(in.number<std::uint16_t>());
    case 0x04:
      return advance(in.number<std::uint32_t>());
    case 0x0a:
      return remember();
    case 0x0b:
      return recall();
    case 0x0c:
    case 0x0d:
    case 0x0e:
    case 0x0f:
    case 0x12:
    case 0x13:
      return define_cfa(operation, in);
    case 0x2e:  // the size of arguments: only exceptions need it
      (void)in.uleb();
      return;
    default:
      break;
  }
  const std::uint64_t number = in.uleb();
  switch (operation) {
    case 0x05:
      return set(number, RuleKind::kOffset, scaled(in.uleb()));
    case 0x06:
      return restore(number);
    case 0x07:
      return set(number, RuleKind::kUndefined, 0);
    case 0x08:
      return set(number, RuleKind::kSame, 0);
    case 0x09: {
      const std::uint64_t other = in.uleb();
      if (other < kRegisters) set(number, RuleKind::kRegister, static_cast<std::int64_t>(other));
      return;
    }
    case 0x10:
    case 0x16: {
      RegisterRule unused;
      RegisterRule& rule = number < kRegisters ? row.rules[number] : unused;
      return set_expression(rule, operation == 0x10 ? RuleKind::kExpression : RuleKind::kValueExpression, in);
    }
    case 0x11:
      return set(number, RuleKind::kOffset, scaled(static_cast<std::uint64_t>(in.sleb())));
    case 0x14:
      return set(number, RuleKind::kValueOffset, scaled(in.uleb()));
    case 0x15:
      return set(number, RuleKind::kValueOffset, scaled(static_cast<std::uint64_t>(in.sleb())));
    default:
      is_good_ = false;
  }
}

bool CfiProgram::run(std::span<const std::uint8_t> instructions, std::uint64_t begin, std::uint64_t until) {
  DwarfCursor in(instructions);
  location_ = begin;
  while (is_good_ && !in.at_end() && location_ <= until) {
    const std::uint8_t operation = in.byte();
    const std::uint8_t operand = operation & 0x3f;
    switch (operation >> 6) {
      case 1:
        advance(operand);
        break;
      case 2:
        set(operand, RuleKind::kOffset, scaled(in.uleb()));
        break;
      case 3:
        restore(operand);
        break;
      default:
        step(operation, in);
    }
  }
  return is_good_ && in.is_good();
}

}  // namespace oomw::elf
