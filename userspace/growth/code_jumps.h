// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "elf/elf_file.h"

namespace oomw::growth {

inline constexpr std::uint64_t kMaxJumpingCode = 256u << 10;  // bytes

// Where jumps lead to that leave a piece of code, by link-time addresses, each once: jumps with an offset of four
// bytes, and whatever looks like one. Parts of one function jump into the middle of each other, which functions do not.
// Bounded.
[[nodiscard]] std::vector<std::uint64_t> jumps_out_of(const elf::File& file, elf::AddressRange code);

}  // namespace oomw::growth
