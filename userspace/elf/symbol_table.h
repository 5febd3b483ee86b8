// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_file.h"

namespace oomw::elf {

inline constexpr std::size_t kSymbolChunk = 512;  // symbols that are read at once

struct FoundSymbol {
  std::string name;  // as the linker has it; hostile
  std::uint64_t begin = 0;
};

// The functions of an executable by their names: .symtab, else .dynsym and .gnu_debugdata (a small symbol table that
// some distributions pack into stripped files). Bounded; names are read when they are asked for. Borrows the file.
class SymbolTable {
 public:
  static constexpr std::size_t kMaxSymbols = 512u << 10, kMaxName = 1024;
  static constexpr std::size_t kMaxPacked = 4u << 20, kMaxUnpacked = 8u << 20;

  explicit SymbolTable(const File& file);
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;
  ~SymbolTable();

  // The function at a link-time address. `function`: where unwinding tables say that it begins, 0 if they do not; a
  // symbol of another function is none.
  [[nodiscard]] std::optional<FoundSymbol> at(std::uint64_t address, std::uint64_t function) const;
  [[nodiscard]] std::size_t size() const { return symbols_.size(); }
  [[nodiscard]] std::uint64_t own_bytes() const;

 private:
  struct Unpacked;
  struct Symbol {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t name = 0;  // offset in its string table
    bool is_unpacked = false;
  };
  void add(const File& file, const Section& section, bool is_unpacked);
  void unpack(const File& file);
  [[nodiscard]] std::string name_of(const Symbol& symbol) const;

  const File& file_;
  std::uint64_t names_ = 0, unpacked_names_ = 0;  // file offsets of the string tables
  std::unique_ptr<Unpacked> unpacked_;
  std::vector<Symbol> symbols_;  // by their begin
};

}  // namespace oomw::elf
