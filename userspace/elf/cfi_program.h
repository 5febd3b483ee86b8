// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elf/cfi_row.h"
#include "elf/dwarf_cursor.h"

namespace oomw::elf {

// Runs the instructions of a CIE and of an FDE up to one address. Bounded by their bytes, kMaxRemembered saved states
// and kMaxExpressions bytes.
class CfiProgram {
 public:
  static constexpr std::size_t kMaxRemembered = 16, kMaxExpressions = 4096;

  CfiProgram(std::uint64_t code_factor, std::int64_t data_factor) : code_(code_factor), data_(data_factor) {}

  // False: not sound. `until`: the address that is looked up; instructions for later ones are not run.
  [[nodiscard]] bool run(std::span<const std::uint8_t> instructions, std::uint64_t begin, std::uint64_t until);
  // What a CIE has set is what "restore" restores.
  void end_of_common() { common_ = row.rules; }

  CfiRow row;

 private:
  struct State {
    bool is_expression;
    std::uint64_t cfa_register;
    std::int64_t cfa_offset;
    RegisterRule cfa;
    std::array<RegisterRule, kRegisters> rules;
  };
  void step(std::uint8_t operation, DwarfCursor& in);
  void define_cfa(std::uint8_t operation, DwarfCursor& in);
  void set(std::uint64_t number, RuleKind kind, std::int64_t value);
  void restore(std::uint64_t number);
  void set_expression(RegisterRule& rule, RuleKind kind, DwarfCursor& in);
  void advance(std::uint64_t by) { location_ += by * code_; }
  void remember();
  void recall();
  [[nodiscard]] std::int64_t scaled(std::uint64_t value) const {
    return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(data_));
  }

  std::uint64_t code_;
  std::int64_t data_;
  std::uint64_t location_ = 0;
  std::array<RegisterRule, kRegisters> common_;
  std::vector<State> remembered_;
  bool is_good_ = true;
};

}  // namespace oomw::elf
