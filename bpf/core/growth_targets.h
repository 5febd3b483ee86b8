/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: the processes whose growth is sampled, and their slots. Not in maps.h: these maps exist
 * only while the feature is switched on. A ring of their own, so that no kill ever waits behind a
 * sample.
 */
#pragma once

#include "kernel_types.h"

#include <oomwitness/events.h>
#include <oomwitness/growth_target.h>

#include "compat.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} growth_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oomw_growth_target);
} growth_targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oomw_growth_python);
} growth_python SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct oomw_growth_budget);
} growth_budgets SEC(".maps");

/* What the last event on this CPU saw. From 6.2 on 30 of 32 events find it unchanged. */
struct growth_seen {
	__u64 mm; /* address: only ever compared */
	__u64 pages;
	__u64 countdown; /* events until the next threshold, which lies within the batch; 0 = it
			    does not */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct growth_seen);
} growth_seens SEC(".maps");

/* A threshold is somewhere within its N pages: a program that allocates with a period of its own
 * would otherwise meet all of them in the same place (seen: 63/30/6 instead of 52/37/11, each
 * time). */
static __always_inline __u64 growth_targets__threshold(__u64 level, __u32 slot_pages)
{
	__u64 hash = level * 0x9E3779B97F4A7C15ULL;

	hash ^= hash >> 29;
	hash *= 0xBF58476D1CE4E5B9ULL;
	hash >>= 32;
	return level * slot_pages + hash % slot_pages;
}

/* The highest level whose threshold is at or below `pages`. */
static __always_inline __u32 growth_targets__level(__u64 pages, __u32 slot_pages)
{
	__u64 level = pages / slot_pages;

	if (level && pages < growth_targets__threshold(level, slot_pages))
		level--;
	return level;
}

#define GROWTH_TARGETS_TICK_NS 10000000ULL
#define GROWTH_TARGETS_SECOND_NS 1000000000ULL

static __always_inline bool growth_targets__is_of(const struct oomw_growth_target *target,
						  __u64 start_boottime_ns)
{
	return target->start_ticks == start_boottime_ns / GROWTH_TARGETS_TICK_NS;
}

/* No budget: nothing may be sent. */
static __always_inline bool growth_targets__may_send(__u64 cgroup_id, __u64 bytes, __u64 now)
{
	struct oomw_growth_budget *budget = bpf_map_lookup_elem(&growth_budgets, &cgroup_id);

	if (!budget)
		return false;
	if (now - budget->since_ns >= GROWTH_TARGETS_SECOND_NS) {
		budget->since_ns = now;
		budget->bytes = 0;
	}
	if (budget->bytes + bytes > budget->bytes_per_second)
		return false;
	__sync_fetch_and_add(&budget->bytes, bytes);
	return true;
}
