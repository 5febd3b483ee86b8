// SPDX-License-Identifier: Apache-2.0
// The recorded form of every event (events/json_fields.h): names are the file's, bounds the reader's. For .cc files.
#pragma once

#include <array>
#include <variant>

#include "events/event.h"
#include "events/json_fields.h"
#include "events/jvm_figures_fields.h"
#include "events/pools_at_kill_fields.h"

namespace oomw::record {

struct Format {
  static constexpr bool kWritesNull = false;
  static constexpr bool kTimesAsText = false;
};

// In the order of Event.
inline constexpr std::array<const char*, std::variant_size_v<AnyEvent>> kTypeNames = {
    "oom_kill", "watermark", "exec",         "exit",      "cgroup_created", "cgroup_removed", "reclaim",
    "lost",     "memory",    "process",      "container", "capture",        "heap_walked",    "collector",
    "pod",      "pod_gone",  "pods_current", "trend",     "files_unplaced", "heap_analysed",  "growth"};

void describe(auto& a, Of<RssSplit> auto& e) {
  a("anon_bytes", e.anon_bytes);
  a("file_bytes", e.file_bytes);
  a("shmem_bytes", e.shmem_bytes);
  a("pgtables_bytes", e.pgtables_bytes);
}

void describe(auto& a, Of<Unwatched> auto& e) {
  a("from", e.from);
  a("until", e.until);
}

void describe(auto& a, Of<OomKill> auto& e) {
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

void describe(auto& a, Of<WatermarkCrossed> auto& e) {
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

void describe(auto& a, Of<ProcessExec> auto& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("uid", e.uid);
  a("cgroup", e.cgroup.value);
  a("comm", e.comm);
}

void describe(auto& a, Of<ProcessExit> auto& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
}

void describe(auto& a, Of<CgroupCreated> auto& e) {
  a("cgroup", e.cgroup.value);
  a("parent", e.parent.value);
  a("path", e.path);
  a("path_complete", e.path_complete);
  a("existed", e.existed);
}

void describe(auto& a, Of<CgroupRemoved> auto& e) { a("cgroup", e.cgroup.value); }

void describe(auto& a, Of<ReclaimSampled> auto& e) {
  a("cgroup", e.cgroup.value);
  a("calls", e.calls);
  a("zero_yield_calls", e.zero_yield_calls);
  a("reclaimed_bytes", e.reclaimed_bytes);
  a("stall_ns", e.stall_ns);
}

void describe(auto& a, Of<EventsLost> auto& e) {
  a("stage", e.stage);
  a("total", e.total);
}

void describe(auto& a, Of<MemorySampled> auto& e) {
  a("cgroup", e.cgroup.value);
  a("usage_bytes", e.usage_bytes);
  a("limit_bytes", e.limit_bytes);
  a("nonreclaimable_bytes", e.nonreclaimable_bytes);
  a("kernel_oom_kills", e.kernel_oom_kills);
  a("detailed", e.detailed);
  a("memory_stat", e.memory_stat);
  a("resident_bytes", e.resident_bytes);
}

void describe(auto& a, Of<ProcessSeen> auto& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("comm", e.comm);
  a("exe", e.exe);
  a("cmdline", e.cmdline);
  a("uid", e.uid);
  a("is_init", e.is_init);
  a("oom_score_adj", e.oom_score_adj);
  a("go_gogc_percent", e.go.gogc_percent);
  a("go_memory_limit_bytes", e.go.memory_limit_bytes);
}

void describe(auto& a, Of<ContainerIdentified> auto& e) {
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

void describe(auto& a, Of<CollectorComponent> auto& e) {
  a("kind", e.kind, Chars{CollectorComponent::kMaxText});
  a("id", e.id, Chars{CollectorComponent::kMaxText});
  a("module", e.module, Chars{CollectorComponent::kMaxText});
  a("held_bytes", e.held_bytes);
  a("ratio", e.ratio, Ratio{});
}

void describe(auto& a, Of<HeapSite> auto& e) {
  a("code", e.code, Chars{HeapSites::kMaxText});
  a("path", e.path, Items{HeapSites::kMaxPath, HeapSites::kMaxText});
  a("bytes", e.bytes);
  a("share", e.share, Ratio{});
  a("operation_kind", e.operation_kind, Chars{HeapSites::kMaxText});
  a("operation", e.operation, Chars{HeapSites::kMaxText});
}

void describe(auto& a, Of<HeapOperation> auto& e) {
  a("kind", e.kind, Chars{HeapSites::kMaxText});
  a("name", e.name, Chars{HeapSites::kMaxText});
  a("bytes", e.bytes);
  a("share", e.share, Ratio{});
}

void describe(auto& a, Of<GoroutineTally> auto& e) {
  a("count", e.count);
  a("state", e.state);
  a("reason", e.reason, Presence::kOmitted);
}

void describe(auto& a, Of<CaptureFinished> auto& e) {
  a("started_ns", e.started.ns);
  a("capture_id", e.capture_id);
  a("cgroup", e.cgroup.value);
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("method", e.method);
  a("of", e.of);
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
  a("components", e.components, Presence::kOmitted);
  a("sites", e.sites.sites, Presence::kOmitted);
  a("operations", e.sites.operations, Presence::kOmitted);
  a("spool_file", e.spool_file);
  a("goroutines", e.goroutines, Presence::kOmitted);
  a("goroutines_cut", e.goroutines_cut, Presence::kOmitted);
}

void describe(auto& a, Of<HeapWalked> auto& e) {
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
  if (kReads<decltype(a)> || !e.goroutine_states.empty()) {
    a("goroutine_states", e.goroutine_states, Presence::kOmitted);
    a("goroutine_waits", e.goroutine_waits, Presence::kOmitted);
    a("goroutines", e.goroutines, Presence::kOmitted);
    a("goroutines_absent", e.goroutines_absent, Presence::kOmitted);
    a("goroutines_stop", e.goroutines_stop);
  }
  a("pools", e.pools);
}

void describe(auto& a, Of<CollectorSampled> auto& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("queue_sizes", e.queue_sizes);
  a("queue_capacities", e.queue_capacities);
  a("receiver_refused", e.receiver_refused);
  a("limiter_accepted", e.limiter_accepted);
  a("limiter_refused", e.limiter_refused);
}

void describe(auto& a, Of<PodTermination> auto& e) {
  a("container_id", e.container_id);
  a("reason", e.reason);
  a("exit_code", e.exit_code);
  a("finished_ns", e.finished);
}

void describe(auto& a, Of<PodContainer> auto& e) {
  a("name", e.name);
  a("id", e.id);
  a("image", e.image);
  a("restart_count", e.restart_count);
  a("memory_limit_bytes", e.memory_limit_bytes);
  a("is_running", e.is_running);
  a("last_termination", e.last_termination);
  a("earlier_termination", e.earlier_termination);
}

void describe(auto& a, Of<PodSeen> auto& e) {
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

void describe(auto& a, Of<PodGone> auto& e) { a("uid", e.uid); }

void describe(auto& a, Of<PodsCurrent> auto& e) { a("is_current", e.is_current); }

void describe(auto& a, Of<TrendFigures> auto& e) {
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

void describe(auto& a, Of<TrendSite> auto& e) {
  a("frames", e.frames);
  a("component", e.component);
  a("figures", e.figures);
}

void describe(auto& a, Of<TrendPoint> auto& e) {
  a("time_ns", e.time.ns);
  a("origin", e.origin);
  a("gc_cycle", e.gc_cycle);
  a("is_complete", e.is_complete);
  a("is_baseline", e.is_baseline);
  a("live_bytes", e.live_bytes);
  a("held_bytes", e.held_bytes);
  a("file", e.file);
  a("spool_file", e.spool_file, Presence::kOmitted);
}

void describe(auto& a, Of<TrendJudged> auto& e) {
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("of", e.of);
  a("span_seconds", e.span_seconds);
  a("suspects", e.suspects);
  a("whole", e.whole);
  a("sites", e.sites);
  a("points", e.points);
  a("components", e.components, Presence::kOmitted);
  a("spool_file", e.spool_file, Presence::kOmitted);
}

void describe(auto& a, Of<FilesUnplaced::File> auto& e) {
  a("name", e.name);
  a("why", e.why);
}

void describe(auto& a, Of<FilesUnplaced> auto& e) {
  a("incident", e.incident);
  a("files", e.files);
}

void describe(auto& a, Of<HeapHolder> auto& e) {
  a("share", e.share, Ratio{});
  a("bytes", e.bytes);
  a("samples", e.samples);
  a("is_owner", e.is_owner);
  a("component", e.component, Chars{HeapAnalysed::kMaxText}, Presence::kOmitted);
  a("chain", e.chain, Items{HeapAnalysed::kMaxChain, HeapAnalysed::kMaxText});
}

void describe(auto& a, Of<GoroutineStack> auto& e) {
  a("count", e.count);
  a("state", e.state, Chars{HeapAnalysed::kMaxText});
  a("stack", e.stack, Items{HeapAnalysed::kMaxStack, HeapAnalysed::kMaxText});
  a("created_by", e.created_by, Chars{HeapAnalysed::kMaxText}, Presence::kOmitted);
  a("component", e.component, Chars{HeapAnalysed::kMaxText}, Presence::kOmitted);
}

void describe(auto& a, Of<HeapFiller> auto& e) {
  a("kind", e.kind, Chars{HeapAnalysed::kMaxText});
  a("name", e.name, Chars{HeapAnalysed::kMaxText});
  a("held_as", e.held_as, Chars{HeapAnalysed::kMaxText}, Presence::kOmitted);
  a("bytes", e.bytes);
  a("count", e.count);
  a("share", e.share, Ratio{});
  a("error_bytes", e.error_bytes, Presence::kOmitted);
}

void describe(auto& a, Of<MemoryShare> auto& e) {
  a("name", e.name, Chars{HeapAnalysed::kMaxText});
  a("runtime", e.runtime, Chars{HeapAnalysed::kMaxText});
  a("bytes", e.bytes);
  a("source", e.source, Chars{HeapAnalysed::kMaxText});
}

void describe(auto& a, Of<GoroutineList> auto& e) {
  a("address", e.address);
  a("status_offset", e.status_offset);
  a("reason_offset", e.reason_offset);
  a("wait_reasons", e.wait_reasons, Items{GoroutineList::kMaxReasons, GoroutineList::kMaxReasonChars});
}

void describe(auto& a, Of<HeapAnalysed::File> auto& e) {
  a("name", e.name, Chars{HeapAnalysed::kMaxText});
  a("spool_file", e.spool_file, Chars{HeapAnalysed::kMaxText});
}

void describe(auto& a, Of<HeapAnalysed> auto& e) {
  a("started_ns", e.started.ns);
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("of", e.of);
  a("trigger", e.trigger);
  a("result", e.result);
  a("reason", e.reason);
  a("detail", e.detail, Chars{HeapAnalysed::kMaxText});
  a("usage_bytes", e.usage_bytes);
  a("limit_bytes", e.limit_bytes);
  a("holders", e.holders, Items{HeapAnalysed::kMaxHolders}, Presence::kOmitted);
  a("rooted_ratio", e.rooted_ratio, Ratio{});
  a("samples", e.samples, Presence::kOmitted);
  a("why_no_owner", e.why_no_owner, Chars{HeapAnalysed::kMaxText}, Presence::kOmitted);
  a("goroutines", e.goroutines, Items{HeapAnalysed::kMaxGoroutines}, Presence::kOmitted);
  a("goroutine_count", e.goroutine_count, Presence::kOmitted);
  a("goroutine_list", e.goroutine_list, Items{1}, Presence::kOmitted);
  a("pool_table", e.pool_table, Items{1}, Presence::kOmitted);
  a("pools", e.pools, Items{0}, Presence::kOmitted);
  a("fillers", e.fillers, Items{HeapAnalysed::kMaxFillers}, Presence::kOmitted);
  a("parts", e.parts, Items{HeapAnalysed::kMaxParts}, Presence::kOmitted);
  a("named_ratio", e.named_ratio, Ratio{});
  a("sampled_ratio", e.sampled_ratio, Ratio{}, Presence::kOmitted);
  a("max_heap_bytes", e.max_heap_bytes);
  a("jvm", e.jvm, Items{1}, Presence::kOmitted);
  a("notes", e.notes, Items{HeapAnalysed::kMaxNotes, HeapAnalysed::kMaxText}, Presence::kOmitted);
  a("files", e.files, Items{HeapAnalysed::kMaxFiles}, Presence::kOmitted);
}

void describe(auto& a, Of<GrowthFrame> auto& e) {
  a("function", e.function);
  a("file", e.file, Presence::kOmitted);
  a("module", e.module, Presence::kOmitted);
  a("line", e.line, Presence::kOmitted);
  a("managed", e.is_managed);
  a("allocator", e.is_allocator);
  a("library", e.is_library, Presence::kOmitted);
  a("uses", e.uses, Presence::kOmitted);
}

void describe(auto& a, Of<GrowthStack> auto& e) {
  a("bytes", e.bytes);
  a("complete", e.is_complete);
  a("frames", e.frames);
  a("parts", e.parts, Presence::kOmitted);
  a("late_bytes", e.late_bytes, Presence::kOmitted);
}

void describe(auto& a, Of<GrowthProfile> auto& e) {
  a("started_ns", e.started.ns);
  a("pid", e.process.pid);
  a("start_ticks", e.process.start_ticks);
  a("cgroup", e.cgroup.value);
  a("slot_bytes", e.slot_bytes);
  a("grown_bytes", e.grown_bytes);
  a("samples", e.samples);
  a("lost", e.lost);
  a("stacks", e.stacks);
  a("notes", e.notes, Presence::kOmitted);
  a("builds", e.builds, Presence::kOmitted);
  a("spool_file", e.spool_file, Presence::kOmitted);
  a("sampled_ms", e.sampled_ms, Presence::kOmitted);
}

}  // namespace oomw::record
