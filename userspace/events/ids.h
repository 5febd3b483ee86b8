// SPDX-License-Identifier: Apache-2.0
// Identity is never a path or a pid: both are recycled.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace oomw {

// st_ino of the memory cgroup's directory = kernfs node id. 64 bits with a generation on 64-bit
// kernels, so reuse within one boot does not happen in practice. 0 = none.
struct CgroupId {
  std::uint64_t value = 0;
  friend auto operator<=>(const CgroupId&, const CgroupId&) = default;
  explicit operator bool() const { return value != 0; }
};

// A process: host tgid and its start time in USER_HZ (1/100 s) ticks of CLOCK_BOOTTIME, field 22
// of /proc/PID/stat = task->start_boottime / 10 ms. start_ticks 0 = not known.
struct ProcessKey {
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;
  friend auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};

inline constexpr std::uint64_t kNanosecondsPerTick = 10'000'000;

}  // namespace oomw

template <>
struct std::hash<oomw::CgroupId> {
  std::size_t operator()(const oomw::CgroupId& id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};
template <>
struct std::hash<oomw::ProcessKey> {
  std::size_t operator()(const oomw::ProcessKey& key) const noexcept {
    return std::hash<std::uint64_t>{}(key.start_ticks * 0x9e3779b97f4a7c15ULL + static_cast<std::uint32_t>(key.pid));
  }
};
