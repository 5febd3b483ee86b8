// SPDX-License-Identifier: Apache-2.0
#include "kernel/settings.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <vector>

#include <oomwitness/goheap.h>

namespace oomw {

namespace {

// Tasks inside memcg reclaim at the same time. 24 bytes each.
constexpr std::uint32_t kReclaimStarts = 4096;
// Only levels that were reached hold a gate: an average of two per memcg already means a node in trouble.
constexpr std::uint32_t kGatesPerCgroup = 2;

// Victims whose chunks were not taken yet; 1.5 KiB each. memory.oom.group may kill dozens at once.
constexpr std::uint32_t kWalkSlots = 128;
constexpr std::uint32_t kWalkBudgets = 1024;  // cgroups with victims within a second; the least recent makes room
// The most that bpf_loop() allows, less the step that finds the list's end.
constexpr std::uint32_t kMaxLoopSteps = (1u << 23) - 1;
constexpr std::uint64_t kMaxPoolBytes = 1u << 30;

std::vector<std::uint32_t> effective_levels(std::vector<std::uint32_t> levels) {
  std::erase(levels, 0u);
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  if (levels.size() > OOMW_MAX_LEVELS) levels.erase(levels.begin(), levels.end() - OOMW_MAX_LEVELS);
  return levels;
}

}  // namespace

oomw_settings make_settings(const KernelConfig& config) {
  oomw_settings settings{};
  settings.page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  settings.own_tgid = static_cast<std::uint32_t>(::getpid());
  auto levels = effective_levels(config.levels_percent);
  settings.level_count = static_cast<std::uint32_t>(levels.size());
  std::copy(levels.begin(), levels.end(), settings.levels_percent);
  std::uint32_t lowest = levels.empty() ? 1 : levels.front();
  settings.rearm_percent = std::min(config.rearm_percent, lowest - 1);
  settings.growth_interval_ns = static_cast<std::uint64_t>(config.growth_interval.count());
  settings.time_to_limit_ns = static_cast<std::uint64_t>(config.time_to_limit.count());
  settings.walk_max_ns = static_cast<std::uint64_t>(config.walk_max_time.count());
  const Nanoseconds cgroup_time = std::max(config.walk_cgroup_time, config.walk_max_time);
  settings.walk_cgroup_ns = static_cast<std::uint64_t>(cgroup_time.count());
  settings.walk_max_buckets = std::min(config.walk_max_buckets, kMaxLoopSteps);
  return settings;
}

std::uint32_t walk_chunks(const KernelConfig& config) {
  auto bytes = std::min(config.walk_pool_bytes, kMaxPoolBytes);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(bytes / OOMW_GO_CHUNK_BYTES, 1));
}

std::map<std::string, std::uint32_t> make_map_entries(const KernelConfig& config) {
  auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto ring_bytes = std::bit_ceil(std::max(config.ring_bytes, page_size));
  std::uint32_t cgroups = std::max(config.max_cgroups, 1u);
  return {
      {"ring", static_cast<std::uint32_t>(ring_bytes)},
      {"memcg_states", cgroups},
      {"level_gates", cgroups * kGatesPerCgroup},
      {"reclaims", cgroups},
      {"reclaim_starts", kReclaimStarts},
      {"go_targets", std::max(config.max_go_processes, 1u)},
      {"go_walks", kWalkSlots},
      {"go_budgets", kWalkBudgets},
      {"go_chunks", walk_chunks(config)},
      {"go_free_chunks", walk_chunks(config)},
      {"go_first_chunks", walk_chunks(config)},
  };
}

}  // namespace oomw
