// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oomw {

// Where the kernel can count the pools of one CPython process, as its own memory proved it.
struct PoolTable {
  static constexpr std::size_t kMaxTypes = 64, kMaxNameChars = 100;
  struct Type {
    std::uint64_t address = 0;
    std::string name;  // an identifier with dots
    friend bool operator==(const Type&, const Type&) = default;
  };
  std::uint64_t arenas = 0;      // address of the interpreter's pointer to its table of arenas
  std::uint64_t type_type = 0;   // address of the type of types
  std::uint32_t pool_bytes = 0;  // 16 KiB, before 3.10 4 KiB
  // Types that are part of a program or library, so never another one at the same address: their names are in pages of
  // files, which may be gone at the kill.
  std::vector<Type> types;
  friend bool operator==(const PoolTable&, const PoolTable&) = default;
};

// What a walk over them counted.
struct PoolCounts {
  std::uint64_t arenas = 0, used = 0;                 // used: pools, by the interpreter's own table
  std::uint64_t read = 0, absent = 0, malformed = 0;  // of these
  std::uint64_t bytes = 0;                            // of blocks in use in the pools that were read
  friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

// What filled the small objects of a Python process at its kill. An estimate: one block of each pool decides for all
// of them. Objects above 512 bytes are elsewhere.
struct PoolsAtKill {
  static constexpr std::size_t kMaxTypes = 12;
  struct Type {
    std::string name;  // "unknown": no name was found that is sure
    std::uint64_t bytes = 0, count = 0, pools = 0;
    std::uint64_t error_bytes = 0;  // two standard deviations, if the blocks of all pools were mixed at random
    friend bool operator==(const Type&, const Type&) = default;
  };
  std::uint64_t bytes = 0;  // in use in the pools that were read
  std::uint64_t pools = 0, pools_read = 0;
  std::vector<Type> types;  // most bytes first
  std::string cut;          // why pools were not read: "time_limit", "absent"; "" = all were
  friend bool operator==(const PoolsAtKill&, const PoolsAtKill&) = default;
};

}  // namespace oomw
