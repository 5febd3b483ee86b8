/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 3: goes over all pools of a CPython process. The arenas are found by the interpreter's own
 * table of them, so those of the last moment are among them. Each of the passes takes every eighth
 * pool of every arena: where time ends one, what was read is spread over all arenas.
 */
#pragma once

#include "py_pools.h"

#define PY_PASSES 8
/* More than there is time for: an entry and eight pools an arena and pass would be 294,912. */
#define PY_MAX_STEPS (1 << 19)

static long types__clear(__u32 index, struct walk_context *context)
{
	struct oomw_go_chunk *chunk = bpf_map_lookup_elem(&go_chunks, &context->slot->chunk);
	struct oomw_pool_type *type;

	if (!chunk)
		return 1;
	type = (void *)chunk->data;
	type += index & (OOMW_POOL_TYPES - 1);
	__builtin_memset(type, 0, sizeof(*type));
	return 0;
}

/* One entry of the table; 1 ends it. Where it ends is not known everywhere, but what is behind it
 * is no arena whose pools name it. */
static long arenas__step(__u32 index, struct walk_context *context)
{
	struct oomw_go_slot *slot = context->slot;
	__u32 used;

	if (walk__is_out_of_time(slot, index))
		return walk__stop(slot, OOMW_GO_STOP_TIME_LIMIT);
	if (!arena__read(slot, index))
		return 1;
	used = arena__used_pools(slot, index);
	if (!used)
		return 0;
	slot->at.arenas = index + 1;
	slot->walk.pools.arenas++;
	slot->walk.pools.used += used;
	return 0;
}

/* Passes begin at pools 0, 4, 2, 6, 1, 5, 3, 7: the first ones are the furthest apart. */
static __always_inline __u32 pass__first_pool(__u32 pass)
{
	return (pass & 1) << 2 | (pass & 2) | (pass & 4) >> 2;
}

/* True: there is no other. */
static __always_inline bool pools__next_arena(struct oomw_go_slot *slot)
{
	struct oomw_pool_cursor *at = &slot->at;

	if (++at->arena >= at->arenas) {
		at->arena = 0;
		at->pass++;
	}
	if (at->pass >= PY_PASSES || !at->arenas)
		return true;
	at->pool = pass__first_pool(at->pass);
	if (!arena__read(slot, at->arena) || !arena__used_pools(slot, at->arena))
		at->pool = PY_ARENA_POOLS;
	return false;
}

/* One pool, or the next arena's entry; 1 ends it. */
static long pools__step(__u32 index, struct walk_context *context)
{
	struct oomw_go_slot *slot = context->slot;

	if (walk__is_out_of_time(slot, index))
		return walk__stop(slot, OOMW_GO_STOP_TIME_LIMIT);
	if (slot->at.pool >= PY_ARENA_POOLS)
		return pools__next_arena(slot) ? walk__stop(slot, OOMW_GO_STOP_END) : 0;
	pool__visit(slot, slot->at.pool);
	slot->at.pool += PY_PASSES;
	return 0;
}

static __always_inline bool types__make(struct oomw_go_slot *slot)
{
	struct oomw_go_chunk *chunk = chunk__with_room(slot);

	if (!chunk)
		return false;
	chunk->used = OOMW_POOL_TYPES * sizeof(struct oomw_pool_type);
	slot->walk.bytes = chunk->used;
	return true;
}

static __always_inline void pools__run(struct oomw_go_slot *slot)
{
	struct walk_context context = {.slot = slot};

	slot->walk.flags |= OOMW_GO_WALK_HAS_POOLS;
	if (!types__make(slot)) {
		emit__count_lost(OOMW_LOST_WALK_POOL);
		slot->walk.stop = OOMW_GO_STOP_POOL_FULL;
		return;
	}
	bpf_loop(OOMW_POOL_TYPES, types__clear, &context, 0);
	slot->walk.stop = OOMW_GO_STOP_FAULT;
	if (bpf_probe_read_user(&slot->list, sizeof(slot->list), (void *)slot->target.pools.arenas))
		return;
	slot->walk.stop = OOMW_GO_STOP_BUCKET_LIMIT;
	bpf_loop(OOMW_POOL_MAX_ARENAS, arenas__step, &context, 0);
	if (slot->walk.stop == OOMW_GO_STOP_TIME_LIMIT)
		return;
	slot->at.arena = ~0U;
	slot->at.pool = PY_ARENA_POOLS;
	bpf_loop(PY_MAX_STEPS, pools__step, &context, 0);
	if (slot->walk.stop == OOMW_GO_STOP_END && slot->at.arenas == OOMW_POOL_MAX_ARENAS)
		slot->walk.stop = OOMW_GO_STOP_BUCKET_LIMIT;
}
