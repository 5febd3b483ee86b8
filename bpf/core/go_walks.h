/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layer 2: the current victims, and the pool that their buckets are copied into. */
#pragma once

#include "emit.h"
#include "go_targets.h"

/* tgid -> victim. User space deletes when it takes the chunks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oomw_go_slot);
} go_walks SEC(".maps");

/* Always zero: a new slot, which is too large for a stack, is a copy of it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oomw_go_slot);
} go_slot_zero SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oomw_go_chunk);
} go_chunks SEC(".maps");

/* Numbers of the free chunks. User space adds them, at start and when it has taken them. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} go_free_chunks SEC(".maps");

/* The same for the first chunk of each walk. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} go_first_chunks SEC(".maps");

struct go_budget {
	__u64 since_ns; /* CLOCK_MONOTONIC: when its second began */
	__u64 used_ns;	/* by walks that ended since then */
};

/* Payer -> what the walks of its victims took. A container that has its processes killed all the
 * time must not take a CPU that cannot be preempted, whatever cgroups it makes below its own. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct go_budget);
} go_budgets SEC(".maps");

#define GO_BUDGET_PERIOD_NS 1000000000ULL

static __always_inline __u64 go_walks__payer(const struct oomw_go_slot *slot)
{
	return slot->target.owner ? slot->target.owner : slot->walk.cgroup_id;
}

static __always_inline struct go_budget *go_walks__budget_of(__u64 payer)
{
	struct go_budget none = {};
	struct go_budget *budget = bpf_map_lookup_elem(&go_budgets, &payer);

	if (budget)
		return budget;
	bpf_map_update_elem(&go_budgets, &payer, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&go_budgets, &payer);
}

/* How long a walk may take. Walks that run on other CPUs meanwhile are not counted yet: each CPU is
 * held for walk_max_ns at most, and 16 processes of a container that die together are all walked.
 */
static __always_inline __u64 go_walks__allowed_ns(__u64 payer, __u64 now)
{
	struct go_budget *budget = go_walks__budget_of(payer);
	__u64 most = cfg_settings.walk_max_ns, all = cfg_settings.walk_cgroup_ns;
	__u64 used;

	if (!budget)
		return most;
	if (now - budget->since_ns >= GO_BUDGET_PERIOD_NS) {
		budget->since_ns = now;
		budget->used_ns = 0;
	}
	used = budget->used_ns;
	if (used >= all)
		return 0;
	return all - used < most ? all - used : most;
}

static __always_inline void go_walks__charge(__u64 payer, __u64 duration_ns)
{
	struct go_budget *budget = bpf_map_lookup_elem(&go_budgets, &payer);

	if (budget)
		__sync_fetch_and_add(&budget->used_ns, duration_ns);
}

/* Sets bits atomically and returns the state before. Needs 5.12; bpf_loop needs 5.17. */
static __always_inline __u32 go_walks__set(struct oomw_go_slot *slot, __u32 bits)
{
	return __sync_fetch_and_or(&slot->state, bits);
}

static __always_inline struct oomw_go_slot *go_walks__make(__u32 tgid,
							   const struct oomw_go_target *target)
{
	struct oomw_go_slot *slot;
	__u32 first = 0;
	void *zero = bpf_map_lookup_elem(&go_slot_zero, &first);

	/* Also fails while an earlier owner of the pid waits to be taken: its slot stays. */
	if (!zero || bpf_map_update_elem(&go_walks, &tgid, zero, BPF_NOEXIST)) {
		emit__count_lost(OOMW_LOST_WALK_SLOTS);
		return NULL;
	}
	slot = bpf_map_lookup_elem(&go_walks, &tgid);
	if (!slot)
		return NULL;
	slot->target = *target;
	slot->made_ns = bpf_ktime_get_ns();
	go_walks__set(slot, OOMW_GO_SLOT_READY);
	return slot;
}

/* A victim's slot, made if there is none. NULL if the victim is not registered or no slot is free.
 * start_boottime_ns 0: not readable here; the walk itself checks again. */
static __always_inline struct oomw_go_slot *go_walks__slot_of(__u32 tgid, __u64 start_boottime_ns)
{
	struct oomw_go_slot *slot = bpf_map_lookup_elem(&go_walks, &tgid);
	struct oomw_go_target *target;

	if (slot && (!start_boottime_ns || go_targets__is_of(&slot->target, start_boottime_ns)))
		return slot;
	target = bpf_map_lookup_elem(&go_targets, &tgid);
	if (!target || (start_boottime_ns && !go_targets__is_of(target, start_boottime_ns)))
		return NULL;
	return go_walks__make(tgid, target);
}

/* A report that does not fit the ring stays in the slot: user space reads slots once a second. */
static __always_inline void go_walks__report(struct oomw_go_slot *slot)
{
	if (!emit__leaves_room() ||
	    bpf_ringbuf_output(&ring, &slot->walk, sizeof(slot->walk), BPF_RB_FORCE_WAKEUP))
		emit__count_lost(OOMW_LOST_RINGBUF_WALK);
}

/* One clock read per 64 steps: 20 us of walk at 300 ns each. */
#define GO_CLOCK_MASK 63

struct walk_context {
	struct oomw_go_slot *slot;
};

/* What a step of bpf_loop returns to be the last. */
static __always_inline long walk__stop(struct oomw_go_slot *slot, enum oomw_go_stop why)
{
	slot->walk.stop = why;
	return 1;
}

static __always_inline bool walk__is_out_of_time(const struct oomw_go_slot *slot, __u32 index)
{
	return !(index & GO_CLOCK_MASK) &&
	       bpf_ktime_get_ns() - slot->walk.started_ns >= slot->allowed_ns;
}
