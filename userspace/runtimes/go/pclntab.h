// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "elf/elf_file.h"

namespace oomw::go {

// One function of the table. Code offsets count from the start of Go's text.
struct FunctionRecord {
  std::uint32_t entry = 0, end = 0;  // code offsets; end = the next function's entry
  std::uint64_t record_offset = 0;   // of its _func, in the table
  std::uint32_t name_offset = 0;
  std::uint32_t stack_table = 0, file_table = 0, line_table = 0;  // of pc-value programs, in pctab
  std::uint32_t unit_offset = 0;                                  // of its compilation unit's files, in cutab
  std::uint32_t pcdata_count = 0;
  std::uint8_t funcdata_count = 0;
  bool is_outermost = false;    // begins a stack: runtime.goexit, runtime.mstart
  bool switches_stack = false;  // writes the stack pointer: the caller is on another stack, or was
};

// Go's function table (.gopclntab), Go 1.18 to the newest: names, files and lines of all functions,
// present in stripped binaries too.
//
// - Nothing is decoded ahead: each call reads what it needs through the file's reader.
// - Two record shapes: magic 0xfffffff0 (Go 1.18, 1.19) and 0xfffffff1 (1.20 on, one field more).
//   Older tables are kUnsupported.
// - A table can be made so that each value takes a million steps of 10 ns: limit_steps() bounds them.
// - Text start is not part of it: the header's copy is 0 in PIE files and unused from Go 1.26.
//   module_data.h finds it.
// Borrows the elf::File, which must outlive it.
class Pclntab {
 public:
  static constexpr std::uint32_t kMaxFunctions = 4U << 20;
  static constexpr std::size_t kMaxName = 4096;  // generic names run to hundreds of bytes

  // Found by section name, else by a bounded search for the magic. kNotFound: not a Go binary.
  [[nodiscard]] static Result<Pclntab> find(const elf::File& elf);
  // The table at a known link-time address; size = what may belong to it.
  [[nodiscard]] static Result<Pclntab> parse(const elf::File& elf, std::uint64_t address, std::uint64_t size);

  // From now on, of all values together; past that each is kLimit.
  void limit_steps(std::uint64_t steps) { steps_left_ = steps; }

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] std::uint32_t function_count() const { return function_count_; }
  [[nodiscard]] std::uint64_t header_text_start() const { return text_start_; }
  [[nodiscard]] std::uint64_t name_table_address() const { return address_ + names_; }
  [[nodiscard]] std::uint32_t min_instruction_bytes() const { return min_instruction_bytes_; }

  [[nodiscard]] Result<FunctionRecord> function(std::uint32_t index) const;
  // The function that holds a code offset.
  [[nodiscard]] Result<FunctionRecord> function_at(std::uint64_t code_offset) const;
  // For each name its function, if there is one; stops as soon as all are found. The runtime comes
  // first in the text, so the usual case reads a small part of the table.
  [[nodiscard]] Result<std::vector<std::optional<FunctionRecord>>> find_functions(
      std::span<const std::string_view> names) const;

  [[nodiscard]] Result<std::string> name_at(std::uint32_t name_offset) const;
  // True if a name begins there: the byte before ends another.
  [[nodiscard]] bool is_name_start(std::uint32_t name_offset) const;
  [[nodiscard]] Result<std::string> file_at(const FunctionRecord& function, std::uint64_t code_offset) const;
  [[nodiscard]] Result<std::int32_t> line_at(const FunctionRecord& function, std::uint64_t code_offset) const;

  // Bytes between the stack pointer and the return address.
  [[nodiscard]] Result<std::uint32_t> stack_bytes_at(const FunctionRecord& function, std::uint64_t code_offset) const;

  // Value of pcdata table `table` at a code offset; -1 where the function has none.
  [[nodiscard]] Result<std::int32_t> pcdata_at(const FunctionRecord& function, std::uint32_t table,
                                               std::uint64_t code_offset) const;
  // Offset of funcdata `table` from the module's gofunc base; nothing if the function has none.
  [[nodiscard]] std::optional<std::uint32_t> funcdata(const FunctionRecord& function, std::uint32_t table) const;

 private:
  explicit Pclntab(const elf::File& elf) : elf_(&elf) {}

  template <typename T>
  [[nodiscard]] Result<T> get(std::uint64_t offset) const;
  [[nodiscard]] Result<> check_offsets() const;
  [[nodiscard]] Result<std::uint32_t> entry_of(std::uint32_t index) const;
  [[nodiscard]] Result<std::vector<std::optional<std::uint32_t>>> find_name_offsets(
      std::span<const std::string_view> names) const;
  [[nodiscard]] Result<std::int32_t> pc_value(std::uint32_t program, const FunctionRecord& function,
                                              std::uint64_t code_offset) const;

  const elf::File* elf_;
  std::uint64_t address_ = 0, file_offset_ = 0, size_ = 0;
  bool has_start_line_ = false;
  std::uint32_t min_instruction_bytes_ = 1;
  std::uint32_t function_count_ = 0;
  std::uint64_t text_start_ = 0;
  mutable std::uint64_t steps_left_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t names_ = 0, units_ = 0, files_ = 0, pc_values_ = 0, functions_ = 0;  // offsets in the table
};

}  // namespace oomw::go
