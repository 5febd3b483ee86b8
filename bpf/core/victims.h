/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: tells user space at once, by a word in memory, that a process is being killed for its
 * memory, so that nobody holds that memory by reading it.
 */
#pragma once

#include "maps.h"

#include <oomwitness/victims.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct oomw_victims);
} victims SEC(".maps");

static __always_inline void victims__note(__u32 tgid)
{
	struct oomw_victims *noted = bpf_map_lookup_elem(&victims, &(__u32){0});
	__u64 time = bpf_ktime_get_ns() >> OOMW_VICTIM_TIME_SHIFT;

	if (noted)
		*(volatile __u64 *)&noted->marks[tgid % OOMW_VICTIM_SLOTS] =
		    (__u64)tgid << 32 | (__u32)time;
}
