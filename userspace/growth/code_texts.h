// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "elf/elf_file.h"

namespace oomw::growth {

inline constexpr std::uint64_t kMaxCodeWithTexts = 16u << 10;  // bytes of one function
inline constexpr std::size_t kMaxTexts = 2;

// Constant texts of the file that a piece of code refers to, the longest first, by which its source can be found where
// no symbol names it. Messages of the C++ library's own templates are left out. Whatever looks like an instruction that
// takes an address is taken as one: a text counts if a NUL stands before and behind it in data that is only read.
// Printable, bounded.
[[nodiscard]] std::vector<std::string> texts_used_by(const elf::File& file, elf::AddressRange code);

}  // namespace oomw::growth
