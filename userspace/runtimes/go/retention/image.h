// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "elf/elf_file.h"
#include "memory/cached_reader.h"
#include "runtimes/go/module_data.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go::retention {

// A slice's head, as Go keeps it.
struct Slice {
  std::uint64_t data = 0, length = 0, capacity = 0;
};

// What stands at a place of bytes that reach beyond it.
template <typename T>
[[nodiscard]] T value_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

// A physical function; addresses are those of the process.
struct Function {
  FunctionRecord record;
  std::uint64_t entry = 0, end = 0;
  std::string name;
  bool is_runtime = false;  // what programs call but did not write: the runtime and its hooks in sync and poll
};

// A Go executable as one process has it loaded: code, function table, module data. Everything from the file; addresses
// in and out are the process's. Only amd64, only one module (a plugin's globals would be roots that are not seen).
class Image {
 public:
  static constexpr std::size_t kMaxFunctions = 64U << 10, kMaxNameBytes = 8U << 20;

  [[nodiscard]] static Result<std::unique_ptr<Image>> open(const ByteSource& file, std::uint64_t load_bias);

  [[nodiscard]] const elf::File& elf() const { return *elf_; }
  [[nodiscard]] std::uint64_t load_bias() const { return load_bias_; }
  [[nodiscard]] elf::AddressRange text() const { return text_; }
  // Where globals with pointers lie.
  [[nodiscard]] elf::AddressRange data() const { return data_; }
  [[nodiscard]] elf::AddressRange bss() const { return bss_; }
  // Word of the module data, as a process address.
  [[nodiscard]] std::uint64_t module_word(std::size_t index) const { return module_->word(index) + load_bias_; }

  // The function that holds a pc; null outside Go's text. Pointers stay valid.
  [[nodiscard]] const Function* find(std::uint64_t pc);
  // The function that begins exactly there.
  [[nodiscard]] const Function* find_entry(std::uint64_t pc);
  // By name; asks the table once for each new name.
  [[nodiscard]] const Function* named(std::string_view name);
  [[nodiscard]] std::vector<std::byte> code(const Function& function) const;  // at most 64 KiB
  // Addresses of data that the code of a function refers to, in order of appearance.
  [[nodiscard]] std::vector<std::uint64_t> references(const Function& function) const;

  // Bytes between the stack pointer and the return address at this pc.
  [[nodiscard]] std::optional<std::uint32_t> frame_bytes(const Function& function, std::uint64_t pc) const;
  // PCDATA value, -1 if the function has none.
  [[nodiscard]] std::int32_t pcdata(const Function& function, std::uint32_t table, std::uint64_t pc) const;
  [[nodiscard]] std::optional<std::uint32_t> funcdata(const Function& function, std::uint32_t table) const {
    return table_->funcdata(function.record, table);
  }
  [[nodiscard]] std::uint32_t function_count() const { return table_->function_count(); }
  [[nodiscard]] const Function* function_number(std::uint32_t index);

 private:
  Image(const ByteSource& file, std::uint64_t load_bias) : reader_(file, kMaxFileBytes), load_bias_(load_bias) {}
  static constexpr std::uint64_t kMaxFileBytes = 1U << 30;

  [[nodiscard]] const Function* keep(const FunctionRecord& record);

  CachedReader reader_;
  std::uint64_t load_bias_;
  std::optional<elf::File> elf_;
  std::optional<Pclntab> table_;
  std::optional<ModuleData> module_;
  elf::AddressRange text_, data_, bss_;
  std::size_t name_bytes_ = 0;
  std::unordered_map<std::uint32_t, std::unique_ptr<Function>> functions_;  // by entry offset
  std::unordered_map<std::uint64_t, const Function*> by_pc_;
};

// Part of Go's own machinery, by name: never the owner of anything.
[[nodiscard]] bool is_runtime_function(std::string_view name);
// Runs another function as a goroutine: made by the compiler for `go f(x)`, or a library's way to wait for its end.
[[nodiscard]] bool is_goroutine_wrapper(std::string_view name);
// "pkg.List[int]" -> "pkg.List": type arguments repeat whole package paths. "map[K]V" and "[]T" stay.
[[nodiscard]] std::string without_type_arguments(std::string_view name);

}  // namespace oomw::go::retention
