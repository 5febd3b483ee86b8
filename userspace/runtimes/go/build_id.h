// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/go/elf_file.h"

namespace oomw::go {

inline constexpr std::size_t kMaxNote = 128;

// The description of a note section that holds one note, at most kMaxNote bytes.
[[nodiscard]] std::optional<std::vector<std::byte>> note_of(const ElfFile& elf, const char* section_name);
// What the linker calls this very build, in lower-case hex, by which debuggers and debuginfod find its symbols; "" if
// it has none.
[[nodiscard]] std::string gnu_build_id(const ElfFile& elf);

}  // namespace oomw::go
