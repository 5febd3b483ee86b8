// SPDX-License-Identifier: Apache-2.0
#include "events/decode.h"

#include <oomwitness/events.h>
#include <oomwitness/goheap.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr std::uint64_t kTimeNs = 123'456'789;

template <typename Struct>
Struct make_raw(std::uint32_t type) {
  Struct raw{};
  raw.header = {type, sizeof(Struct), kTimeNs};
  return raw;
}

template <typename Struct>
std::span<const std::byte> bytes_of(const Struct& raw) {
  return std::as_bytes(std::span(&raw, 1));
}

template <typename E, typename Struct>
E decoded(const Struct& raw) {
  auto event = decode(bytes_of(raw));
  EXPECT_TRUE(event.has_value()) << event.error().message;
  return std::get<E>(std::move(event).value());
}

template <std::size_t N>
void set(char (&to)[N], const std::string& from) {
  std::memcpy(to, from.data(), std::min(N, from.size()));
}

oomw_kill make_kill() {
  auto raw = make_raw<oomw_kill>(OOMW_EVENT_KILL);
  raw.flags = OOMW_KILL_VICTIM_READ | OOMW_KILL_OWNER_FOUND;
  raw.victim_pid = 101;
  raw.victim_tgid = 100;
  raw.victim_uid = 65534;
  raw.victim_start_boottime_ns = 98'765'432'100;
  raw.victim_cgroup_id = 7;
  raw.anon_bytes = 1000;
  raw.file_bytes = 2000;
  raw.shmem_bytes = 3000;
  raw.pgtables_bytes = 4000;
  raw.oom_score_adj = -997;
  raw.trigger_pid = 201;
  raw.trigger_tgid = 200;
  raw.trigger_cgroup_id = 8;
  raw.owner_cgroup_id = 9;
  raw.owner_usage_bytes = 256 << 20;
  raw.owner_limit_bytes = 256 << 20;
  raw.decision_ns = 123'000'000;
  raw.group_cgroup_id = 6;
  raw.total_bytes = 300 << 20;
  set(raw.victim_comm, "victim");
  set(raw.trigger_comm, "trigger");
  return raw;
}

TEST(DecodeKill, every_field_arrives) {
  const auto kill = decoded<OomKill>(make_kill());
  EXPECT_EQ(kill.time.ns, 123'456'789);
  EXPECT_EQ(kill.victim, (ProcessKey{100, 9876}));
  EXPECT_EQ(kill.victim_cgroup.value, 7u);
  EXPECT_EQ(kill.victim_comm, "victim");
  EXPECT_EQ(kill.victim_uid, 65534u);
  EXPECT_EQ(kill.victim_oom_score_adj, -997);
  ASSERT_TRUE(kill.victim_rss.has_value());
  EXPECT_EQ(kill.victim_rss->anon_bytes, 1000u);
  EXPECT_EQ(kill.victim_rss->file_bytes, 2000u);
  EXPECT_EQ(kill.victim_rss->shmem_bytes, 3000u);
  EXPECT_EQ(kill.victim_rss->pgtables_bytes, 4000u);
  EXPECT_EQ(kill.trigger_pid, 200);
  EXPECT_EQ(kill.trigger_comm, "trigger");
  EXPECT_EQ(kill.trigger_cgroup.value, 8u);
  EXPECT_EQ(kill.owner_cgroup.value, 9u);
  EXPECT_EQ(kill.owner_usage_bytes, 256u << 20);
  EXPECT_EQ(kill.owner_limit_bytes, 256u << 20);
  EXPECT_TRUE(kill.owner_known);
  EXPECT_FALSE(kill.owner_exact);
  EXPECT_EQ(kill.source, "bpf");
  ASSERT_TRUE(kill.decision.has_value());
  EXPECT_EQ(kill.decision->ns, 123'000'000);
  EXPECT_EQ(kill.group.value, 6u);
  EXPECT_EQ(kill.total_bytes, 300u << 20);
  EXPECT_FALSE(kill.is_node_wide_said);
}

TEST(DecodeKill, without_the_victims_task_its_fields_are_unknown_not_zero) {
  auto raw = make_kill();
  raw.flags &= ~OOMW_KILL_VICTIM_READ;
  raw.victim_tgid = 0;
  const auto kill = decoded<OomKill>(raw);
  EXPECT_EQ(kill.victim, (ProcessKey{101, 0}));
  EXPECT_FALSE(kill.victim_uid || kill.victim_oom_score_adj || kill.victim_rss);
  EXPECT_FALSE(kill.victim_cgroup);
}

TEST(DecodeKill, no_owner_found_means_node_wide) {
  auto raw = make_kill();
  raw.flags &= ~OOMW_KILL_OWNER_FOUND;
  const auto kill = decoded<OomKill>(raw);
  EXPECT_TRUE(kill.owner_known);
  EXPECT_FALSE(kill.owner_cgroup);
  EXPECT_FALSE(kill.owner_usage_bytes || kill.owner_limit_bytes);
}

TEST(DecodeKill, node_wide_said_by_the_kernel_is_told_from_no_owner_found) {
  auto raw = make_kill();
  raw.flags = OOMW_KILL_OWNER_EXACT | OOMW_KILL_NODE_WIDE;
  const auto kill = decoded<OomKill>(raw);
  EXPECT_TRUE(kill.is_node_wide_said && kill.owner_exact && kill.owner_known);
  EXPECT_FALSE(kill.owner_cgroup);
}

TEST(DecodeKill, decision_of_a_tracepoint_rung_is_not_known) {
  auto raw = make_kill();
  raw.decision_ns = 0;
  EXPECT_FALSE(decoded<OomKill>(raw).decision.has_value());
  raw.decision_ns = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(decoded<OomKill>(raw).decision.has_value());
}

TEST(DecodeKill, owner_said_by_the_kernel_is_exact) {
  auto raw = make_kill();
  raw.flags |= OOMW_KILL_OWNER_EXACT;
  EXPECT_TRUE(decoded<OomKill>(raw).owner_exact);
}

TEST(DecodeKill, unknown_sizes_become_none) {
  auto raw = make_kill();
  raw.owner_limit_bytes = raw.pgtables_bytes = raw.total_bytes = OOMW_UNKNOWN_U64;
  const auto kill = decoded<OomKill>(raw);
  EXPECT_EQ(kill.owner_limit_bytes, std::nullopt);
  EXPECT_EQ(kill.total_bytes, std::nullopt);
  EXPECT_EQ(kill.victim_rss->pgtables_bytes, std::nullopt);
  raw.anon_bytes = OOMW_UNKNOWN_U64;
  EXPECT_FALSE(decoded<OomKill>(raw).victim_rss.has_value());
}

TEST(DecodeKill, comm_without_a_nul_ends_with_its_field) {
  auto raw = make_kill();
  set(raw.victim_comm, std::string(16, 'c'));
  EXPECT_EQ(decoded<OomKill>(raw).victim_comm, std::string(16, 'c'));
}

TEST(DecodeKill, impossible_pid_is_not_known_never_negative) {
  auto raw = make_kill();
  raw.victim_tgid = raw.trigger_tgid = 0xffff'ffff;
  const auto kill = decoded<OomKill>(raw);
  EXPECT_EQ(kill.victim.pid, 0);
  EXPECT_EQ(kill.trigger_pid, 0);
}

oomw_watermark make_watermark() {
  auto raw = make_raw<oomw_watermark>(OOMW_EVENT_WATERMARK);
  raw.reason = OOMW_WATERMARK_TIME_TO_LIMIT;
  raw.level_percent = 85;
  raw.cgroup_id = 5;
  raw.leaf_cgroup_id = 6;
  raw.usage_bytes = 850;
  raw.limit_bytes = 1000;
  raw.growth_bytes_per_second = -12;
  raw.time_to_limit_ns = 42;
  raw.pid = 11;
  raw.tgid = 10;
  return raw;
}

TEST(DecodeWatermark, every_field_arrives) {
  const auto crossed = decoded<WatermarkCrossed>(make_watermark());
  EXPECT_EQ(crossed.time.ns, 123'456'789);
  EXPECT_EQ(crossed.reason, WatermarkReason::kTimeToLimit);
  EXPECT_EQ(crossed.level_percent, 85u);
  EXPECT_EQ(crossed.cgroup.value, 5u);
  EXPECT_EQ(crossed.leaf_cgroup.value, 6u);
  EXPECT_EQ(crossed.usage_bytes, 850u);
  EXPECT_EQ(crossed.limit_bytes, 1000u);
  EXPECT_EQ(crossed.growth_bytes_per_second, -12.0);
  EXPECT_EQ(crossed.time_to_limit, Nanoseconds(42));
  EXPECT_EQ(crossed.pid, 10);
}

TEST(DecodeWatermark, unknown_growth_and_time_are_none) {
  auto raw = make_watermark();
  raw.growth_bytes_per_second = 0;
  raw.time_to_limit_ns = OOMW_UNKNOWN_U64;
  const auto crossed = decoded<WatermarkCrossed>(raw);
  EXPECT_FALSE(crossed.growth_bytes_per_second || crossed.time_to_limit);
}

TEST(DecodeWatermark, unknown_reason_is_invalid) {
  auto raw = make_watermark();
  raw.reason = 3;
  EXPECT_EQ(decode(bytes_of(raw)).error().code, ErrorCode::kInvalid);
}

TEST(DecodeExec, every_field_arrives) {
  auto raw = make_raw<oomw_exec>(OOMW_EVENT_EXEC);
  raw.pid = 3;
  raw.uid = 1000;
  raw.start_boottime_ns = 50'000'000;
  raw.cgroup_id = 4;
  set(raw.comm, "otelcol");
  const auto exec = decoded<ProcessExec>(raw);
  EXPECT_EQ(exec.process, (ProcessKey{3, 5}));
  EXPECT_EQ(exec.uid, 1000u);
  EXPECT_EQ(exec.cgroup.value, 4u);
  EXPECT_EQ(exec.comm, "otelcol");
}

TEST(DecodeExit, every_field_arrives) {
  auto raw = make_raw<oomw_exit>(OOMW_EVENT_EXIT);
  raw.tgid = 3;
  raw.start_boottime_ns = 59'999'999;
  const auto exit = decoded<ProcessExit>(raw);
  EXPECT_EQ(exit.process, (ProcessKey{3, 5}));
}

oomw_cgroup make_cgroup(const std::string& path, std::uint32_t type = OOMW_EVENT_CGROUP_MKDIR) {
  auto raw = make_raw<oomw_cgroup>(type);
  raw.cgroup_id = 12;
  raw.parent_cgroup_id = 11;
  raw.path_len = static_cast<std::uint32_t>(path.size());
  set(raw.path, path);
  return raw;
}

TEST(DecodeCgroup, made_one_has_its_path_and_parent) {
  const auto created = decoded<CgroupCreated>(make_cgroup("/a/b"));
  EXPECT_EQ(created.cgroup.value, 12u);
  EXPECT_EQ(created.parent.value, 11u);
  EXPECT_EQ(created.path, "/a/b");
  EXPECT_TRUE(created.path_complete);
}

TEST(DecodeCgroup, path_as_long_as_its_field_may_be_cut) {
  const auto created = decoded<CgroupCreated>(make_cgroup("/" + std::string(OOMW_PATH_LEN - 2, 'a')));
  EXPECT_EQ(created.path.size(), OOMW_PATH_LEN - 1u);
  EXPECT_FALSE(created.path_complete);
}

TEST(DecodeCgroup, path_length_beyond_the_field_is_invalid) {
  auto raw = make_cgroup("/a");
  raw.path_len = OOMW_PATH_LEN;
  EXPECT_EQ(decode(bytes_of(raw)).error().code, ErrorCode::kInvalid);
}

TEST(DecodeCgroup, removed_one_has_its_id) {
  EXPECT_EQ(decoded<CgroupRemoved>(make_cgroup("/a", OOMW_EVENT_CGROUP_RMDIR)).cgroup.value, 12u);
}

oomw_go_walk make_walk() {
  auto raw = make_raw<oomw_go_walk>(OOMW_EVENT_GO_WALK);
  raw.tgid = 100;
  raw.stop = OOMW_GO_STOP_POOL_FULL;
  raw.flags = OOMW_GO_WALK_HAS_RATE | OOMW_GO_WALK_HAS_CYCLE;
  raw.chunk_count = 3;
  raw.first_chunk = 17;
  raw.cycle_before = 40;
  raw.cycle_after = 41;
  raw.start_boottime_ns = 98'765'432'100;
  raw.cgroup_id = 7;
  raw.started_ns = kTimeNs - 1000;
  raw.text = 0x401000;
  raw.rate = 524288;
  raw.walked = 60'000;
  raw.clipped = 5;
  raw.absent = 2;
  raw.bytes = 180'000;
  return raw;
}

TEST(DecodeWalk, every_field_arrives) {
  const auto walk = decoded<HeapWalked>(make_walk());
  EXPECT_EQ(walk.time.ns, 123'456'789);
  EXPECT_EQ(walk.started.ns, 123'455'789);
  EXPECT_EQ(walk.process, (ProcessKey{100, 9876}));
  EXPECT_EQ(walk.cgroup.value, 7u);
  EXPECT_EQ(walk.stop, WalkStop::kPoolFull);
  EXPECT_EQ(walk.text_address, 0x401000u);
  EXPECT_TRUE(walk.has_rate);
  EXPECT_EQ(walk.rate, 524288u);
  EXPECT_TRUE(walk.has_cycle);
  EXPECT_EQ(walk.cycle_before, 40u);
  EXPECT_EQ(walk.cycle_after, 41u);
  EXPECT_EQ(walk.walked, 60'000u);
  EXPECT_EQ(walk.clipped, 5u);
  EXPECT_EQ(walk.absent, 2u);
  EXPECT_EQ(walk.bytes, 180'000u);
  EXPECT_EQ(walk.first_chunk, 17u);
  EXPECT_EQ(walk.chunk_count, 3u);
}

TEST(DecodeWalk, what_could_not_be_read_is_not_there) {
  auto raw = make_walk();
  raw.flags = 0;
  const auto walk = decoded<HeapWalked>(raw);
  EXPECT_FALSE(walk.has_rate);
  EXPECT_EQ(walk.rate, 0u);
  EXPECT_FALSE(walk.has_cycle);
}

TEST(DecodeWalk, goroutines_arrive_where_they_were_counted) {
  auto raw = make_walk();
  EXPECT_TRUE(decoded<HeapWalked>(raw).goroutine_states.empty());
  raw.flags |= OOMW_GO_WALK_HAS_GOROUTINES;
  raw.goroutines_stop = OOMW_GO_STOP_TIME_LIMIT;
  raw.goroutines = 5000;
  raw.goroutines_absent = 3;
  raw.states[4] = 4000;
  raw.waits[14] = 3990;
  const auto walk = decoded<HeapWalked>(raw);
  EXPECT_EQ(walk.goroutines_stop, WalkStop::kTimeLimit);
  EXPECT_EQ(walk.goroutines, 5000u);
  EXPECT_EQ(walk.goroutines_absent, 3u);
  EXPECT_EQ(walk.goroutine_states.at(4), 4000u);
  EXPECT_EQ(walk.goroutine_waits.at(14), 3990u);
  raw.goroutines_stop = OOMW_GO_STOP_MAX;
  EXPECT_FALSE(decode(bytes_of(raw)).has_value());
}

TEST(DecodeWalk, pools_arrive_where_they_were_counted) {
  auto raw = make_walk();
  raw.pools = {7, 448, 440, 5, 3, 7'000'000};
  EXPECT_EQ(decoded<HeapWalked>(raw).pools, std::nullopt);
  raw.flags |= OOMW_GO_WALK_HAS_POOLS;
  EXPECT_EQ(decoded<HeapWalked>(raw).pools, (PoolCounts{7, 448, 440, 5, 3, 7'000'000}));
}

TEST(DecodeWalk, every_stop_has_its_word_and_others_are_invalid) {
  const std::vector<std::string> words = {"end",       "fault",        "malformed", "loop",
                                          "pool_full", "bucket_limit", "time_limit"};
  auto raw = make_walk();
  for (raw.stop = 0; raw.stop < OOMW_GO_STOP_MAX; ++raw.stop) {
    EXPECT_EQ(to_string(decoded<HeapWalked>(raw).stop), words.at(raw.stop));
  }
  EXPECT_FALSE(decode(bytes_of(raw)).has_value());
}

TEST(DecodeWalk, walk_that_ends_before_it_begins_is_invalid) {
  auto raw = make_walk();
  raw.started_ns = kTimeNs + 1;
  EXPECT_FALSE(decode(bytes_of(raw)).has_value());
}

TEST(Decode, every_shorter_and_longer_record_is_invalid) {
  auto raw = make_kill();
  std::vector<std::byte> bytes(sizeof(raw) + 8);
  for (std::uint32_t size = 0; size <= bytes.size(); ++size) {
    if (size == sizeof(raw)) continue;
    raw.header.size = size;  // honest: only the type's own size can be wrong
    std::memcpy(bytes.data(), &raw, sizeof(raw));
    EXPECT_EQ(decode(std::span(bytes).first(size)).error().code, ErrorCode::kInvalid) << size;
  }
}

TEST(Decode, size_field_that_lies_is_invalid) {
  auto raw = make_kill();
  raw.header.size += 8;
  EXPECT_EQ(decode(bytes_of(raw)).error().code, ErrorCode::kInvalid);
}

TEST(Decode, unknown_type_is_invalid_and_named) {
  auto raw = make_kill();
  raw.header.type = 99;
  EXPECT_EQ(decode(bytes_of(raw)).error().message, "record of unknown type 99");
}

TEST(Decode, time_that_no_clock_reaches_is_invalid) {
  auto raw = make_kill();
  raw.header.time_ns = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(decode(bytes_of(raw)).error().code, ErrorCode::kInvalid);
}

TEST(Decode, unaligned_record_is_read) {
  const auto raw = make_kill();
  std::vector<std::byte> bytes(sizeof(raw) + 1);
  std::memcpy(bytes.data() + 1, &raw, sizeof(raw));
  EXPECT_TRUE(decode(std::span(bytes).subspan(1)).has_value());
}

}  // namespace
}  // namespace oomw
