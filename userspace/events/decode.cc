// SPDX-License-Identifier: Apache-2.0
#include "events/decode.h"

#include <oomwitness/events.h>
#include <oomwitness/goheap.h>

#include <cstring>
#include <limits>
#include <string>

namespace oomw {
namespace {

using Record = std::span<const std::byte>;

// The structs are memcpy'd, never cast in place: the ring buffer aligns to 8, but the bytes of a test or a
// fuzzer may have any alignment.
template <typename Struct>
Result<Struct> read_struct(Record record) {
  if (record.size() != sizeof(Struct)) {
    return fail(ErrorCode::kInvalid, "record of " + std::to_string(record.size()) + " bytes, its type has " +
                                         std::to_string(sizeof(Struct)));
  }
  Struct value;
  std::memcpy(&value, record.data(), sizeof(value));
  return value;
}

template <std::size_t N>
std::string bounded_string(const char (&bytes)[N]) {
  return std::string(bytes, strnlen(bytes, N));
}

std::optional<std::uint64_t> known(std::uint64_t value) {
  if (value == OOMW_UNKNOWN_U64) return std::nullopt;
  return value;
}

// Kernel pids end at 2^22. A value that cannot be a pid becomes 0, "not known", never a negative number that
// kill(2) and waitpid(2) would take for a group.
std::int32_t to_pid(std::uint32_t pid) {
  constexpr std::uint32_t kLargest = std::numeric_limits<std::int32_t>::max();
  return pid <= kLargest ? static_cast<std::int32_t>(pid) : 0;
}

MonotonicTime time_of(const oomw_header& header) { return {static_cast<std::int64_t>(header.time_ns)}; }

ProcessKey to_key(std::uint32_t pid, std::uint64_t start_boottime_ns) {
  return {to_pid(pid), start_boottime_ns / kNanosecondsPerTick};
}

std::optional<RssSplit> to_rss(const oomw_kill& raw) {
  const auto anon = known(raw.anon_bytes), file = known(raw.file_bytes), shmem = known(raw.shmem_bytes);
  if (!anon || !file || !shmem) return std::nullopt;
  return RssSplit{*anon, *file, *shmem, known(raw.pgtables_bytes)};
}

void set_victim(const oomw_kill& raw, OomKill& kill) {
  const std::uint32_t pid = raw.victim_tgid != 0 ? raw.victim_tgid : raw.victim_pid;
  kill.victim = to_key(pid, 0);
  kill.victim_comm = bounded_string(raw.victim_comm);
  if ((raw.flags & OOMW_KILL_VICTIM_READ) == 0) return;
  kill.victim = to_key(pid, raw.victim_start_boottime_ns);
  kill.victim_cgroup = {raw.victim_cgroup_id};
  kill.victim_uid = raw.victim_uid;
  kill.victim_oom_score_adj = raw.oom_score_adj;
  kill.victim_rss = to_rss(raw);
}

// The BPF programs write 0 for "not known". A time beyond MonotonicTime's range is not known either.
std::optional<MonotonicTime> decision_of(const oomw_kill& raw) {
  constexpr std::uint64_t kLatest = std::numeric_limits<std::int64_t>::max();
  if (raw.decision_ns == 0 || raw.decision_ns > kLatest) return std::nullopt;
  return MonotonicTime{static_cast<std::int64_t>(raw.decision_ns)};
}

// The program resolves an owner for every kill; if there is none, the node ran out of memory.
void set_owner(const oomw_kill& raw, OomKill& kill) {
  kill.owner_known = true;
  kill.owner_exact = (raw.flags & OOMW_KILL_OWNER_EXACT) != 0;
  kill.is_node_wide_said = (raw.flags & OOMW_KILL_NODE_WIDE) != 0;
  if ((raw.flags & OOMW_KILL_OWNER_FOUND) == 0) return;
  kill.owner_cgroup = {raw.owner_cgroup_id};
  kill.owner_usage_bytes = known(raw.owner_usage_bytes);
  kill.owner_limit_bytes = known(raw.owner_limit_bytes);
}

Result<Event> to_event(const oomw_kill& raw) {
  OomKill kill;
  kill.time = time_of(raw.header);
  set_victim(raw, kill);
  set_owner(raw, kill);
  kill.trigger_pid = to_pid(raw.trigger_tgid != 0 ? raw.trigger_tgid : raw.trigger_pid);
  kill.trigger_comm = bounded_string(raw.trigger_comm);
  kill.trigger_cgroup = {raw.trigger_cgroup_id};
  kill.decision = decision_of(raw);
  kill.group = {raw.group_cgroup_id};
  kill.total_bytes = known(raw.total_bytes);
  kill.source = "bpf";
  return kill;
}

Result<Event> to_event(const oomw_watermark& raw) {
  if (raw.reason != OOMW_WATERMARK_LEVEL && raw.reason != OOMW_WATERMARK_TIME_TO_LIMIT) {
    return fail(ErrorCode::kInvalid, "watermark reason " + std::to_string(raw.reason));
  }
  constexpr std::uint64_t kLongest = std::numeric_limits<std::int64_t>::max();
  WatermarkCrossed crossed;
  crossed.time = time_of(raw.header);
  crossed.cgroup = {raw.cgroup_id};
  crossed.leaf_cgroup = {raw.leaf_cgroup_id};
  crossed.reason = raw.reason == OOMW_WATERMARK_LEVEL ? WatermarkReason::kLevel : WatermarkReason::kTimeToLimit;
  crossed.level_percent = raw.level_percent;
  crossed.usage_bytes = raw.usage_bytes;
  crossed.limit_bytes = raw.limit_bytes;
  if (raw.growth_bytes_per_second != 0) {
    crossed.growth_bytes_per_second = static_cast<double>(raw.growth_bytes_per_second);
  }
  if (raw.time_to_limit_ns <= kLongest) crossed.time_to_limit = Nanoseconds(raw.time_to_limit_ns);
  crossed.pid = to_pid(raw.tgid);
  return crossed;
}

Result<Event> to_event(const oomw_exec& raw) {
  return ProcessExec{.time = time_of(raw.header),
                     .process = to_key(raw.pid, raw.start_boottime_ns),
                     .uid = raw.uid,
                     .cgroup = {raw.cgroup_id},
                     .comm = bounded_string(raw.comm)};
}

Result<Event> to_event(const oomw_exit& raw) {
  return ProcessExit{.time = time_of(raw.header), .process = to_key(raw.tgid, raw.start_boottime_ns)};
}

Result<Event> to_event(const oomw_cgroup& raw) {
  if (raw.header.type == OOMW_EVENT_CGROUP_RMDIR) {
    return CgroupRemoved{.time = time_of(raw.header), .cgroup = {raw.cgroup_id}};
  }
  if (raw.path_len >= OOMW_PATH_LEN) {
    return fail(ErrorCode::kInvalid, "cgroup path of " + std::to_string(raw.path_len) + " bytes");
  }
  return CgroupCreated{.time = time_of(raw.header),
                       .cgroup = {raw.cgroup_id},
                       .parent = {raw.parent_cgroup_id},
                       .path = bounded_string(raw.path),
                       .path_complete = raw.path_len < OOMW_PATH_LEN - 1};
}

Result<WalkStop> to_stop(std::uint32_t stop) {
  constexpr WalkStop kStops[] = {WalkStop::kEnd,      WalkStop::kFault,       WalkStop::kMalformed, WalkStop::kLoop,
                                 WalkStop::kPoolFull, WalkStop::kBucketLimit, WalkStop::kTimeLimit};
  static_assert(std::size(kStops) == OOMW_GO_STOP_MAX);
  if (stop >= std::size(kStops)) return fail(ErrorCode::kInvalid, "walk stopped for " + std::to_string(stop));
  return kStops[stop];
}

Result<Event> to_event(const oomw_go_walk& raw) {
  if (raw.started_ns > raw.header.time_ns) return fail(ErrorCode::kInvalid, "walk ended before it began");
  HeapWalked walk;
  ASSIGN_OR_RETURN(walk.stop, to_stop(raw.stop));
  walk.time = time_of(raw.header);
  walk.started = {static_cast<std::int64_t>(raw.started_ns)};
  walk.process = to_key(raw.tgid, raw.start_boottime_ns);
  walk.cgroup = {raw.cgroup_id};
  walk.text_address = raw.text;
  walk.has_rate = (raw.flags & OOMW_GO_WALK_HAS_RATE) != 0;
  walk.rate = walk.has_rate ? raw.rate : 0;
  walk.has_cycle = (raw.flags & OOMW_GO_WALK_HAS_CYCLE) != 0;
  walk.cycle_before = raw.cycle_before;
  walk.cycle_after = raw.cycle_after;
  walk.walked = raw.walked;
  walk.clipped = raw.clipped;
  walk.absent = raw.absent;
  walk.bytes = raw.bytes;
  walk.first_chunk = raw.first_chunk;
  walk.chunk_count = raw.chunk_count;
  if ((raw.flags & OOMW_GO_WALK_HAS_GOROUTINES) != 0) {
    ASSIGN_OR_RETURN(walk.goroutines_stop, to_stop(raw.goroutines_stop));
    walk.goroutine_states.assign(std::begin(raw.states), std::end(raw.states));
    walk.goroutine_waits.assign(std::begin(raw.waits), std::end(raw.waits));
    walk.goroutines = raw.goroutines;
    walk.goroutines_absent = raw.goroutines_absent;
  }
  if ((raw.flags & OOMW_GO_WALK_HAS_POOLS) != 0) {
    const oomw_pool_counts& pools = raw.pools;
    walk.pools = PoolCounts{pools.arenas, pools.used, pools.read, pools.absent, pools.malformed, pools.bytes};
  }
  return walk;
}

template <typename Struct>
Result<Event> decode_as(Record record) {
  ASSIGN_OR_RETURN(const Struct raw, read_struct<Struct>(record));
  return to_event(raw);
}

Result<oomw_header> read_header(Record record) {
  if (record.size() < sizeof(oomw_header)) {
    return fail(ErrorCode::kInvalid, "record of " + std::to_string(record.size()) + " bytes has no header");
  }
  ASSIGN_OR_RETURN(const oomw_header header, read_struct<oomw_header>(record.first(sizeof(oomw_header))));
  if (header.size != record.size()) {
    return fail(ErrorCode::kInvalid,
                "record of " + std::to_string(record.size()) + " bytes says it has " + std::to_string(header.size));
  }
  if (header.time_ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(ErrorCode::kInvalid, "record from after the end of time");
  }
  return header;
}

}  // namespace

Result<Event> decode(std::span<const std::byte> record) {
  ASSIGN_OR_RETURN(const oomw_header header, read_header(record));
  switch (header.type) {
    case OOMW_EVENT_KILL:
      return decode_as<oomw_kill>(record);
    case OOMW_EVENT_WATERMARK:
      return decode_as<oomw_watermark>(record);
    case OOMW_EVENT_EXEC:
      return decode_as<oomw_exec>(record);
    case OOMW_EVENT_EXIT:
      return decode_as<oomw_exit>(record);
    case OOMW_EVENT_CGROUP_MKDIR:
    case OOMW_EVENT_CGROUP_RMDIR:
      return decode_as<oomw_cgroup>(record);
    case OOMW_EVENT_GO_WALK:
      return decode_as<oomw_go_walk>(record);
    default:
      return fail(ErrorCode::kInvalid, "record of unknown type " + std::to_string(header.type));
  }
}

}  // namespace oomw
