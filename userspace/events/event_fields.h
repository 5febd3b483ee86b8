// SPDX-License-Identifier: Apache-2.0
// The recorded form of every event, said once for both directions: describe(archive, event) names
// each member to `archive`, which writes or reads it. Names here are the file format.
// Private to events/.
#pragma once

#include <type_traits>

#include "events/event.h"

namespace oomw::record {

// `const E` for an archive that only looks.
template <typename Archive, typename E>
using Seen = std::conditional_t<Archive::kReadsIntoEvents, E, const E>;

template <typename E>
inline constexpr const char* kTypeName = nullptr;
template <>
inline constexpr const char* kTypeName<OomKill> = "oom_kill";
template <>
inline constexpr const char* kTypeName<WatermarkCrossed> = "watermark";
template <>
inline constexpr const char* kTypeName<ProcessExec> = "exec";
template <>
inline constexpr const char* kTypeName<ProcessExit> = "exit";
template <>
inline constexpr const char* kTypeName<CgroupCreated> = "cgroup_created";
template <>
inline constexpr const char* kTypeName<CgroupRemoved> = "cgroup_removed";
template <>
inline constexpr const char* kTypeName<ReclaimSampled> = "reclaim";
template <>
inline constexpr const char* kTypeName<EventsLost> = "lost";
template <>
inline constexpr const char* kTypeName<MemorySampled> = "memory";
template <>
inline constexpr const char* kTypeName<ProcessSeen> = "process";
template <>
inline constexpr const char* kTypeName<ContainerIdentified> = "container";
template <>
inline constexpr const char* kTypeName<CaptureFinished> = "capture";
template <>
inline constexpr const char* kTypeName<HeapWalked> = "heap_walked";
template <>
inline constexpr const char* kTypeName<CollectorSampled> = "collector";
template <>
inline constexpr const char* kTypeName<PodSeen> = "pod";
template <>
inline constexpr const char* kTypeName<PodGone> = "pod_gone";
template <>
inline constexpr const char* kTypeName<PodsCurrent> = "pods_current";
template <>
inline constexpr const char* kTypeName<TrendJudged> = "trend";

// Parts of events that are objects of their own.
template <typename T>
inline constexpr bool kIsPart = false;
template <>
inline constexpr bool kIsPart<RssSplit> = true;
template <>
inline constexpr bool kIsPart<Unwatched> = true;
template <>
inline constexpr bool kIsPart<PodTermination> = true;
template <>
inline constexpr bool kIsPart<PodContainer> = true;
template <>
inline constexpr bool kIsPart<TrendFigures> = true;
template <>
inline constexpr bool kIsPart<TrendSite> = true;
template <>
inline constexpr bool kIsPart<TrendPoint> = true;

template <typename A>
void describe(A& a, Seen<A, RssSplit>& e) {
  a("anon_bytes", e.anon_bytes);
  a("file_bytes", e.file_bytes);
  a("shmem_bytes", e.shmem_bytes);
  a("pgtables_bytes", e.pgtables_bytes);
}

template <typename A>
void describe(A& a, Seen<A, Unwatched>& e) {
  a("from", e.from);
  a("until", e.until);
}

template <typename A>
void describe(A& a, Seen<A, OomKill>& e) {
  a("pid", e.victim.pid);
  a("start_ticks", e.victim.start_ticks);
  a("cgroup", e.victim_cgroup.value);
  a("comm", e.victim_comm);
  a("uid", e.victim_uid);
  a("oom_score_adj", e.victim_oom_score_adj);
  a("rss", e.victim_rss);
  a("trigger_pid", e.trigger_pid);
  a("trigger_comm", e.trigger_comm);
  a("trigger_cgroup", e.trigger_cgroup.value);
  a("owner_cgroup", e.owner_cgroup.value);
  a("owner_known", e.owner_known);
  a("owner_exact", e.owner_exact);
  a("owner_usage_bytes", e.owner_usage_bytes);
  a("owner_limit_bytes", e.owner_limit_bytes);
  a("source", e.source);
  a("decision_ns", e.decision);
  a("group_cgroup", e.group.value);
  a("total_bytes", e.total_bytes);
  a("node_wide_said", e.is_node_wide_said);
  a("unwatched", e.unwatched);
}

template <typename A>
void describe(A& a, Seen<A, WatermarkCrossed>& e) {
  a("cgroup", e.cgroup.value);
  a("leaf_cgroup", e.leaf_cgroup.value);
  a("reason", e.reason);
  a("level_percent", e.level_percent);
  a("usage_bytes", e.usage_bytes);
  a("limit_bytes", e.limit_bytes);
  a("growth_bytes_per_second", e.growth_bytes_per_second);
  a("time_to_limit_ns", e.time_to_limit);
  a("pid", e.pid);
}

template <typename A>
void describe(A& a, Seen<A, ProcessExec>& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("uid", e.uid);
  a("cgroup", e.cgroup.value);
  a("comm", e.comm);
}

template <typename A>
void describe(A& a, Seen<A, ProcessExit>& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
}

template <typename A>
void describe(A& a, Seen<A, CgroupCreated>& e) {
  a("cgroup", e.cgroup.value);
  a("parent", e.parent.value);
  a("path", e.path);
  a("path_complete", e.path_complete);
  a("existed", e.existed);
}

template <typename A>
void describe(A& a, Seen<A, CgroupRemoved>& e) {
  a("cgroup", e.cgroup.value);
}

template <typename A>
void describe(A& a, Seen<A, ReclaimSampled>& e) {
  a("cgroup", e.cgroup.value);
  a("calls", e.calls);
  a("zero_yield_calls", e.zero_yield_calls);
  a("reclaimed_bytes", e.reclaimed_bytes);
  a("stall_ns", e.stall_ns);
}

template <typename A>
void describe(A& a, Seen<A, EventsLost>& e) {
  a("stage", e.stage);
  a("total", e.total);
}

template <typename A>
void describe(A& a, Seen<A, MemorySampled>& e) {
  a("cgroup", e.cgroup.value);
  a("usage_bytes", e.usage_bytes);
  a("limit_bytes", e.limit_bytes);
  a("nonreclaimable_bytes", e.nonreclaimable_bytes);
  a("kernel_oom_kills", e.kernel_oom_kills);
  a("detailed", e.detailed);
  a("memory_stat", e.memory_stat);
}

template <typename A>
void describe(A& a, Seen<A, ProcessSeen>& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("comm", e.comm);
  a("exe", e.exe);
  a("cmdline", e.cmdline);
  a("uid", e.uid);
  a("oom_score_adj", e.oom_score_adj);
  a("go_gogc_percent", e.go.gogc_percent);
  a("go_memory_limit_bytes", e.go.memory_limit_bytes);
}

template <typename A>
void describe(A& a, Seen<A, ContainerIdentified>& e) {
  a("cgroup", e.cgroup.value);
  a("runtime", e.identity.runtime);
  a("id", e.identity.id);
  a("name", e.identity.name);
  a("image", e.identity.image);
  a("unit", e.identity.unit);
  a("pod_name", e.identity.pod_name);
  a("pod_namespace", e.identity.pod_namespace);
  a("pod_uid", e.identity.pod_uid);
  a("labels", e.identity.labels);
  a("sandbox", e.identity.is_sandbox);
  a("from_bundle", e.from_bundle);
}

template <typename A>
void describe(A& a, Seen<A, CaptureFinished>& e) {
  a("started_ns", e.started.ns);
  a("capture_id", e.capture_id);
  a("cgroup", e.cgroup.value);
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("method", e.method);
  a("trigger", e.trigger);
  a("result", e.result);
  a("reason", e.reason);
  a("detail", e.detail);
  a("usage_bytes", e.usage_bytes);
  a("limit_bytes", e.limit_bytes);
  a("inuse_bytes", e.inuse_bytes);
  a("live_bytes", e.live_bytes);
  a("sample_count", e.sample_count);
  a("complete", e.complete);
  a("memstats", e.memstats);
  a("spool_file", e.spool_file);
}

template <typename A>
void describe(A& a, Seen<A, HeapWalked>& e) {
  a("started_ns", e.started.ns);
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("stop", e.stop);
  a("text_address", e.text_address);
  a("rate", e.rate);
  a("walked", e.walked);
  a("clipped", e.clipped);
  a("absent", e.absent);
  a("bytes", e.bytes);
  a("has_rate", e.has_rate);
  a("has_cycle", e.has_cycle);
  a("cycle_before", e.cycle_before);
  a("cycle_after", e.cycle_after);
  a("first_chunk", e.first_chunk);
  a("chunk_count", e.chunk_count);
}

template <typename A>
void describe(A& a, Seen<A, CollectorSampled>& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("queue_sizes", e.queue_sizes);
  a("queue_capacities", e.queue_capacities);
  a("receiver_refused", e.receiver_refused);
  a("limiter_accepted", e.limiter_accepted);
  a("limiter_refused", e.limiter_refused);
}

template <typename A>
void describe(A& a, Seen<A, PodTermination>& e) {
  a("container_id", e.container_id);
  a("reason", e.reason);
  a("exit_code", e.exit_code);
  a("finished_ns", e.finished);
}

template <typename A>
void describe(A& a, Seen<A, PodContainer>& e) {
  a("name", e.name);
  a("id", e.id);
  a("image", e.image);
  a("restart_count", e.restart_count);
  a("memory_limit_bytes", e.memory_limit_bytes);
  a("is_running", e.is_running);
  a("last_termination", e.last_termination);
  a("earlier_termination", e.earlier_termination);
}

template <typename A>
void describe(A& a, Seen<A, PodSeen>& e) {
  a("uid", e.uid);
  a("static_uid", e.static_uid);
  a("namespace", e.name_space);
  a("name", e.name);
  a("node", e.node);
  a("owner_kind", e.owner_kind);
  a("owner_name", e.owner_name);
  a("containers", e.containers);
  a("labels", e.labels);
  a("annotations", e.annotations);
  a("is_cut", e.is_cut);
  a("wall_offset_ns", e.wall_offset_ns);
}

template <typename A>
void describe(A& a, Seen<A, PodGone>& e) {
  a("uid", e.uid);
}

template <typename A>
void describe(A& a, Seen<A, PodsCurrent>& e) {
  a("is_current", e.is_current);
}

template <typename A>
void describe(A& a, Seen<A, TrendFigures>& e) {
  a("judgement", e.judgement);
  a("readings", e.readings);
  a("growth_share", e.growth_share);
  a("slope_bytes_per_second", e.slope_bytes_per_second);
  a("slope_low_bytes_per_second", e.slope_low_bytes_per_second);
  a("slope_high_bytes_per_second", e.slope_high_bytes_per_second);
  a("gained_bytes", e.gained_bytes);
  a("first_live_bytes", e.first_live_bytes);
  a("last_live_bytes", e.last_live_bytes);
  a("first_held_bytes", e.first_held_bytes);
  a("last_held_bytes", e.last_held_bytes);
}

template <typename A>
void describe(A& a, Seen<A, TrendSite>& e) {
  a("frames", e.frames);
  a("component", e.component);
  a("figures", e.figures);
}

template <typename A>
void describe(A& a, Seen<A, TrendPoint>& e) {
  a("time_ns", e.time.ns);
  a("origin", e.origin);
  a("gc_cycle", e.gc_cycle);
  a("is_complete", e.is_complete);
  a("is_baseline", e.is_baseline);
  a("live_bytes", e.live_bytes);
  a("held_bytes", e.held_bytes);
  a("file", e.file);
}

template <typename A>
void describe(A& a, Seen<A, TrendJudged>& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("span_seconds", e.span_seconds);
  a("suspects", e.suspects);
  a("whole", e.whole);
  a("sites", e.sites);
  a("points", e.points);
}

}  // namespace oomw::record
