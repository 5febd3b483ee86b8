// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "elf/elf_file.h"
#include "runtimes/go/pclntab.h"

namespace oomw::go {

// Which calls were inlined where. A function's tree lies at the module's gofunc base plus its FUNCDATA_InlTree offset;
// PCDATA_InlTreeIndex gives the entry in force at a pc.
//
// The base is a word of moduledata that moved in 1.20 and 1.27, and the records shrank from 20 to 16 bytes in 1.20.
// Both are chosen by a test on this file's own trees: names begin where names begin, call sites lie inside their
// function. If nothing passes, there is no InlineTree and frames carry the name of the function they were inlined into.
class InlineTree {
 public:
  struct Call {
    std::uint32_t name_offset = 0;
    std::uint32_t parent_pc = 0;  // of the call site, from the function's entry
  };

  [[nodiscard]] static std::optional<InlineTree> find(const elf::File& elf, const Pclntab& table);

  // The innermost inlined call at a code offset; nothing if the code is the function's own.
  [[nodiscard]] std::optional<Call> call_at(const FunctionRecord& function, std::uint64_t code_offset) const;

 private:
  enum class Shape { k20, k16 };

  InlineTree(const elf::File& elf, const Pclntab& table, std::uint64_t base, Shape shape)
      : elf_(&elf), table_(&table), base_(base), shape_(shape) {}

  [[nodiscard]] std::optional<Call> record(const FunctionRecord& function, std::uint32_t index) const;
  [[nodiscard]] std::size_t count_sensible(const std::vector<FunctionRecord>& sample) const;

  const elf::File* elf_;
  const Pclntab* table_;
  std::uint64_t base_;
  Shape shape_;
};

}  // namespace oomw::go
