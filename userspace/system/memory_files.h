// SPDX-License-Identifier: Apache-2.0
// Text of the memory controller's files, both versions, as numbers. Pure and fuzzed: the kernel
// writes them, but a container may mount anything in their place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "system/cgroup_fs.h"

namespace oomw {

struct MemoryFileNames {
  const char* usage;
  const char* limit;
  // v2: this cgroup's own kills, from 5.2 on; plain memory.events also counts those in its descendants.
  const char* kills;
};
[[nodiscard]] constexpr MemoryFileNames memory_file_names(CgroupVersion version) {
  if (version == CgroupVersion::kV1) return {"memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control"};
  return {"memory.current", "memory.max", "memory.events.local"};
}

// "max", or v1's page-rounded LONG_MAX and anything above it, mean no limit: `bytes` is nullopt. Text that is not a
// number: `valid` is false.
struct LimitText {
  bool valid = false;
  std::optional<std::uint64_t> bytes;
};
[[nodiscard]] LimitText parse_limit(std::string_view text);

// The value of `key` in lines of "key value"; keys are matched whole.
[[nodiscard]] std::optional<std::uint64_t> find_value(std::string_view text, std::string_view key);

// memory.stat as a map, at most kMaxStatKeys. v1: the hierarchical total_* values under their v2
// names, so that readers of the map need no version.
inline constexpr std::size_t kMaxStatKeys = 256;
[[nodiscard]] std::map<std::string, std::uint64_t> parse_stat(std::string_view text, CgroupVersion version);

// The most that reclaim could give back: the file LRUs and, where the kernel has the figure (v2), slab.
[[nodiscard]] std::optional<std::uint64_t> reclaimable(std::string_view stat_text, CgroupVersion version);

}  // namespace oomw
