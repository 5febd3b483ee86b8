// SPDX-License-Identifier: Apache-2.0
#include "events/lost_stage.h"

#include <algorithm>

#include <oomwitness/events.h>

namespace oomw {
namespace {

constexpr std::array<std::string_view, kLostStages> kNames = {
    "ringbuf_kill",
    "ringbuf_watermark",
    "ringbuf_process",
    "ringbuf_cgroup",
    "reclaim_starts",
    "reclaim_totals",
    "memcg_states",
    "ringbuf_walk",
    "walk_slots",
    "walk_pool",
    "decode",
    "program_missed",
    "go_targets",
    "tracked_cgroups",
    "cgroup_walk_cut",
    "fast_sampling",
    "identify_queue",
    "process_arguments",
    "claimed_container_ids",
    "kmsg_overrun",
    "watched_limits",
    "watched_counts",
    "kubernetes_pods",
    "model",
    "go_looks",
    "go_processes",
    "hung_files",
    "collector_readings",
    "heap_analyses",
    "growth",
    "spool",
    "crossings",
    "incidents",
    "incident_amendments",
    "incident_details",
    "incidents_unbuilt",
    "incidents_closed_early",
    "held_kills",
    "kernel_log_backlog",
    "metrics_containers",
    "log",
    "recording",
    "event_queue",
};
static_assert(std::ranges::none_of(kNames, &std::string_view::empty), "a stage without a name");

// The BPF programs index their counts in this order.
static_assert(static_cast<int>(LostStage::kRingbufKill) == OOMW_LOST_RINGBUF_KILL);
static_assert(static_cast<int>(LostStage::kMemcgStates) == OOMW_LOST_MEMCG_STATES);
static_assert(static_cast<int>(LostStage::kDecode) == OOMW_LOST_MAX);

}  // namespace

std::string_view to_string(LostStage stage) { return kNames[static_cast<std::size_t>(stage)]; }

const std::array<std::string_view, kLostStages>& lost_stage_names() { return kNames; }

}  // namespace oomw
