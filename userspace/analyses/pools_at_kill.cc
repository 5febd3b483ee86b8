// SPDX-License-Identifier: Apache-2.0
#include "analyses/pools_at_kill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <oomwitness/pools.h>

#include "base/text.h"
#include "runtimes/cpython/type_table.h"

namespace oomw {
namespace {

constexpr std::string_view kUnknown = "unknown";

std::string name_of(const oomw_pool_type& type, const PoolTable& known) {
  if (type.type == OOMW_POOL_KEY_TABLE) return "key tables of dicts";
  if (type.type == OOMW_POOL_UNTYPED) return "memory without a type";
  const std::string name(type.name, ::strnlen(type.name, sizeof type.name));
  if (name.empty()) {
    const auto found = std::ranges::find(known.types, type.type, &PoolTable::Type::address);
    return found == known.types.end() ? std::string(kUnknown) : found->name;
  }
  // One that fills its place was cut.
  const bool is_whole = name.size() + 1 < sizeof type.name;
  return is_whole && cpython::is_identifier(name, true) ? name : std::string(kUnknown);
}

// Twice sqrt(p (1 - p / n)) pools.
std::uint64_t error_of(std::uint64_t pools, std::uint64_t all, std::uint64_t pool_bytes) {
  if (all == 0 || pools > all) return 0;
  const auto count = static_cast<double>(pools);
  const double deviation = std::sqrt(count * (1 - count / static_cast<double>(all)));
  return static_cast<std::uint64_t>(2 * deviation * static_cast<double>(pool_bytes));
}

std::vector<PoolsAtKill::Type> types_of(std::span<const std::byte> records, const PoolTable& known) {
  std::map<std::string, PoolsAtKill::Type> by_name;
  for (std::size_t at = 0; at + sizeof(oomw_pool_type) <= records.size(); at += sizeof(oomw_pool_type)) {
    oomw_pool_type type;
    std::memcpy(&type, records.data() + at, sizeof type);
    if (type.type == 0 || type.pools == 0) continue;
    const std::string name = name_of(type, known);
    PoolsAtKill::Type& sum = by_name[name];
    sum.name = name;
    sum.bytes += type.bytes;
    sum.count += type.blocks;
    sum.pools += type.pools;
  }
  std::vector<PoolsAtKill::Type> types;
  for (auto& [name, type] : by_name) types.push_back(std::move(type));
  std::ranges::stable_sort(types, std::greater(), &PoolsAtKill::Type::bytes);
  return types;
}

PoolsAtKill sums_of(const HeapWalked& walk, std::span<const std::byte> records, const PoolTable& known) {
  PoolsAtKill found;
  found.bytes = walk.pools->bytes;
  found.pools = std::max(walk.pools->used, walk.pools->read);
  found.pools_read = walk.pools->read;
  found.types = types_of(records, known);
  if (found.types.size() > PoolsAtKill::kMaxTypes) found.types.resize(PoolsAtKill::kMaxTypes);
  for (PoolsAtKill::Type& type : found.types) {
    type.error_bytes = std::min(error_of(type.pools, found.pools_read, known.pool_bytes), found.bytes);
  }
  if (walk.stop != WalkStop::kEnd) {
    found.cut = to_string(walk.stop);
  } else if (walk.pools->absent > 0) {
    found.cut = "absent";
  } else if (walk.pools->malformed > 0) {
    found.cut = "malformed";
  }
  return found;
}

}  // namespace

HeapAnalysed pools_not_counted(ProcessKey process, CgroupId cgroup, MonotonicTime at, CaptureReason reason,
                               const std::string& why) {
  HeapAnalysed event;
  event.time = event.started = at;
  event.process = process;
  event.cgroup = cgroup;
  event.of = RuntimeKind::kCpython;
  event.trigger.kind = CaptureTrigger::Kind::kOomKill;
  event.reason = reason;
  event.detail = printable("objects at the kill: " + why, HeapAnalysed::kMaxText);
  return event;
}

HeapAnalysed pools_at_kill(const HeapWalked& walk, std::span<const std::byte> records, const PoolTable& known) {
  HeapAnalysed event = pools_not_counted(walk.process, walk.cgroup, walk.time, CaptureReason::kUnreadable,
                                         fmt::format("no pool was read ({})", to_string(walk.stop)));
  event.started = walk.started;
  if (walk.pools->read == 0) return event;
  event.result = CaptureResult::kOk;
  event.reason = CaptureReason::kNone;
  event.detail.clear();
  event.pools = {sums_of(walk, records, known)};
  return event;
}

}  // namespace oomw
