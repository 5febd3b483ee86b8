// SPDX-License-Identifier: Apache-2.0
#include "system/idle_cgroup.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "system/memory_files.h"

namespace oomw {
namespace {

// memory.events.local is 100 bytes, memory.oom_control 60.
using LineBuffer = std::array<char, 512>;

}  // namespace

Result<IdleCgroup> IdleCgroup::open(const CgroupFs& cgroups, const std::string& path, CgroupId id) {
  const MemoryFileNames names = memory_file_names(cgroups.version());
  ASSIGN_OR_RETURN(const UniqueFd dir, cgroups.open(path, id));
  IdleCgroup idle;
  idle.id_ = id;
  ASSIGN_OR_RETURN(idle.usage_, open_at(dir.get(), names.usage, O_RDONLY));
  ASSIGN_OR_RETURN(idle.limit_, open_at(dir.get(), names.limit, O_RDONLY));
  // Before 5.2 the file does not exist; then only the whole readings have the count.
  if (auto kills = open_at(dir.get(), names.kills, O_RDONLY); kills.has_value()) idle.kills_ = std::move(*kills);
  return idle;
}

void IdleCgroup::remember(const MemorySampled& whole) {
  whole_at_ = whole.time;
  whole_usage_bytes_ = whole.usage_bytes;
  reclaimable_bytes_.reset();
  if (whole.nonreclaimable_bytes) reclaimable_bytes_ = whole.usage_bytes - *whole.nonreclaimable_bytes;
}

bool IdleCgroup::has_moved(std::uint64_t usage_bytes) const {
  const auto [low, high] = std::minmax(usage_bytes, whole_usage_bytes_);
  return high - low > std::max(kMovedBytes, whole_usage_bytes_ / kMovedPart);
}

std::optional<MemorySampled> IdleCgroup::read(const Clock& clock) const {
  if (!whole_at_ || clock.now() - *whole_at_ >= kWholeEvery) return std::nullopt;
  LineBuffer buffer;
  MemorySampled sample;
  sample.cgroup = id_;
  const auto usage_text = read_again(usage_.get(), buffer);
  const auto usage = usage_text ? parse_u64(trim(*usage_text)) : std::nullopt;
  if (!usage || has_moved(*usage)) return std::nullopt;
  const auto limit_text = read_again(limit_.get(), buffer);
  const LimitText limit = limit_text ? parse_limit(*limit_text) : LimitText{};
  if (!limit.valid) return std::nullopt;
  if (kills_.is_valid()) {
    if (const auto text = read_again(kills_.get(), buffer)) sample.kernel_oom_kills = find_value(*text, "oom_kill");
  }
  sample.usage_bytes = *usage;
  sample.limit_bytes = limit.bytes;
  if (reclaimable_bytes_) sample.nonreclaimable_bytes = *usage - std::min(*usage, *reclaimable_bytes_);
  sample.time = clock.now();
  return sample;
}

}  // namespace oomw
