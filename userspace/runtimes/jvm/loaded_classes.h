// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/jvm/jvm.h"

namespace oomw::jvm {

// What java.nio.Bits counts: every direct buffer that the JDK made, and no other memory outside of the heap.
struct DirectBuffers {
  std::uint64_t reserved_bytes = 0, capacity_bytes = 0, count = 0;
};

// The classes of all loaders, read once and bounded.
struct LoadedClasses {
  static constexpr std::uint64_t kMaxClasses = 40'000, kMaxLoaders = 10'000;
  // Metaspace takes memory in blocks of this size, aligned to it (16 and later): one that holds a class's data belongs
  // to metaspace as a whole.
  static constexpr std::uint64_t kMetaspaceBlock = 4u << 20;

  std::uint64_t count = 0, loaders = 0;
  bool is_complete = true;
  std::set<std::uint64_t> metaspace_blocks;  // their starts
  std::vector<std::uint64_t> own;            // not the JDK's, with static fields for objects; bounded
  // All 0 where the JDK never made one.
  std::optional<DirectBuffers> direct_buffers;
};

[[nodiscard]] Result<LoadedClasses> read_loaded_classes(const Jvm& jvm);

}  // namespace oomw::jvm
