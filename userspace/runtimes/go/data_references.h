// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elf/elf_file.h"

namespace oomw::go {

// A load from, or the address of, a global variable found in machine code.
struct DataReference {
  std::uint64_t target = 0;  // link-time address
  std::uint8_t bytes = 0;    // width of the load: 4 or 8
};

// Globals that a piece of code loads, in order of appearance.
//
// Not a disassembler. amd64: MOV r32/r64, [RIP+disp32] wherever those bytes occur, so constants inside other
// instructions may yield false targets: the caller filters by section and alignment. arm64: ADRP of a page, then LDR,
// LDAR (with the ADD before it) of the same register.
[[nodiscard]] std::vector<DataReference> find_loads(elf::Machine machine, std::span<const std::byte> code,
                                                    std::uint64_t code_address);

}  // namespace oomw::go
