// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "events/event.h"
#include "system/cgroup_fs.h"

namespace oomw {

// Cheap readings (2 us) of a cgroup far from its limit, between its whole readings (25 us, of which opening files takes
// 14 and memory.stat 9). Its small files stay open, and its reclaimable part is assumed to be unchanged.
//   - usage, limit and the kernel's count of kills are read each time;
//   - read() returns nothing and a whole reading is due when the last one is kWholeEvery old, when usage has moved by
//     more than 1/kMovedPart of it, or when a file can no longer be read;
//   - three descriptors, 14 KiB in the kernel. They do not delay the cgroup's removal.
// Core thread.
class IdleCgroup {
 public:
  static constexpr Nanoseconds kWholeEvery = std::chrono::seconds(60);
  static constexpr std::uint64_t kMovedPart = 64;
  static constexpr std::uint64_t kMovedBytes = 256u << 10;  // less does not count as movement, however small the cgroup

  // Reads nothing before the first remember().
  [[nodiscard]] static Result<IdleCgroup> open(const CgroupFs& cgroups, const std::string& path, CgroupId id);
  void remember(const MemorySampled& whole);
  [[nodiscard]] std::optional<MemorySampled> read(const Clock& clock) const;

 private:
  [[nodiscard]] bool has_moved(std::uint64_t usage_bytes) const;

  UniqueFd usage_, limit_, kills_;  // kills_ may be invalid
  CgroupId id_;
  std::optional<MonotonicTime> whole_at_;
  std::uint64_t whole_usage_bytes_ = 0;
  std::optional<std::uint64_t> reclaimable_bytes_;
};

}  // namespace oomw
