/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: the processes that may be walked at the kill. Not in maps.h, like the walk's other maps:
 * where the feature is not served, a pool would waste memory.
 */
#pragma once

#include "kernel_types.h"

#include <oomwitness/goheap.h>

/* tgid -> where its heap profile lies. User space adds; exec, exit and the walk itself remove. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oomw_go_target);
} go_targets SEC(".maps");

#define GO_TICK_NS 10000000ULL

/* Most processes have no entry: that costs one failed lookup. */
static __always_inline void go_targets__forget(__u32 tgid)
{
	bpf_map_delete_elem(&go_targets, &tgid);
}

static __always_inline bool go_targets__is_of(const struct oomw_go_target *target,
					      __u64 start_boottime_ns)
{
	return target->start_ticks == start_boottime_ns / GO_TICK_NS;
}
