// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "elf/elf_file.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

// The runtime's first moduledata: where Go's text and function data lie. Its layout changes with Go's version, so only
// words that have not moved since 1.18 are read by position (pcHeader is word 0, funcnametab word 1, text word 22); the
// others are found by testing candidates against the data.
//
// In a PIE file the words are relocations: those of .rela are applied, in memory, to the requested words.
class ModuleData {
 public:
  static constexpr std::size_t kWords = 64;

  // Found by section .go.module (Go 1.26 on), else by searching writable data, or its relocations, for the address of
  // the function table followed by that of its names. Reads at most those sections.
  [[nodiscard]] static Result<ModuleData> find(const elf::File& elf, const Pclntab& table);

  [[nodiscard]] std::uint64_t text_start() const { return words_[kTextWord]; }
  [[nodiscard]] std::uint64_t word(std::size_t index) const { return words_[index]; }

 private:
  static constexpr std::size_t kTextWord = 22;
  std::uint64_t words_[kWords] = {};

  friend class ModuleDataSearch;
};

// Start of Go's text, to which the function table's offsets belong: with Go's own linker the start of .text, proved by
// the entry point; with the system's linker it comes from the module data.
[[nodiscard]] Result<std::uint64_t> find_text_start(const elf::File& elf, const Pclntab& table);

}  // namespace oomw::go
