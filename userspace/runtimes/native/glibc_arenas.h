// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "memory/address_space.h"
#include "memory/cached_reader.h"

namespace oomw::native {

// An arena of glibc's malloc, as it was when it was found.
struct Arena {
  std::uint64_t address = 0;
  std::uint64_t top = 0;           // the chunk that borders on what was never used
  std::uint64_t system_bytes = 0;  // what it took from the kernel
  bool is_main = false;
};

// All arenas of a process, the main one first.
struct Arenas {
  std::uint64_t bins_offset = 0;  // in an arena; differs by version
  std::uint64_t state_bytes = 0;  // of the structure
  PageRange brk;                  // brk's memory in the picture, maybe several mappings; empty: none
  std::vector<Arena> arenas;
};

constexpr std::size_t kMaxArenas = 1024;
// What a program may add to an arena's memory between the picture of its mappings and the reading of its arenas.
constexpr std::uint64_t kMaxGrowth = 64u << 20;

// Finds main_arena without symbols: in libc's data lie 127 bins that point to themselves or into mapped memory, 32 of
// them to themselves or to chunks that point back, and the ring of arenas closes. kNotFound: no glibc (2.31 to 2.43),
// or not as expected.
[[nodiscard]] Result<Arenas> find_arenas(const AddressSpace& space);
// Reads one again; kNotFound if it is not sound.
[[nodiscard]] Result<Arena> read_arena(const AddressSpace& space, const Arenas& layout, std::uint64_t address);

}  // namespace oomw::native
