/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: the processes that may be walked at the kill. Apart from maps.h, as the other maps of
 * the walk are: where its feature is not served, a pool would be memory for nothing.
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

/* Absent is the common case and costs one failed lookup. */
static __always_inline void go_targets__forget(__u32 tgid)
{
	bpf_map_delete_elem(&go_targets, &tgid);
}

static __always_inline bool go_targets__is_of(const struct oomw_go_target *target,
					      __u64 start_boottime_ns)
{
	return target->start_ticks == start_boottime_ns / GO_TICK_NS;
}
