/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: one pool of CPython's allocator (obmalloc): its head, and one of its blocks. Of the
 * slot's memory `header` holds an entry of the interpreter's table of arenas, and `body` the head,
 * the block, and a type. All of it is the victim's: a head counts only if it names the arena that
 * it was found by, so no pool counts twice, however the table is forged.
 */
#pragma once

#include "go_bucket.h"

/* An entry of the table of arenas, the same from 3.9 to 3.14: where the arena lies, where its next
 * pool would begin, and how many pools are free and there are. */
enum py_arena { PY_ARENA_BEGIN, PY_ARENA_NEXT_POOL, PY_ARENA_COUNTS, PY_ARENA_WORDS };
#define PY_ARENA_BYTES 48
#define PY_ARENA_POOLS 64
#define PY_ARENA_TRIES 4
#define PY_PAGE_MASK 4095

/* Words of the head of a pool, 48 bytes. */
enum py_head { PY_USED, PY_FIRST_FREE, PY_NEXT, PY_PREVIOUS, PY_ARENA_AND_CLASS, PY_LIMITS };
#define PY_HEAD_BYTES 48
#define PY_CLASSES 32
#define PY_STEP 16

/* Where in the body. */
#define PY_BLOCK 8
#define PY_BLOCK_WORDS 6
#define PY_TYPE 16 /* words 1 to 4 of a type: its type, a count, its name, the bytes of one */
#define PY_TYPE_BYTES 32
#define PY_META 20  /* the type of a metatype */
#define PY_FLAGS 21 /* of a type */
#define PY_FLAGS_AT 168
#define PY_MAX_OBJECT (1 << 20)

#define PY_PROBES 8

static __always_inline bool arena__read(struct oomw_go_slot *slot, __u32 number)
{
	return !bpf_probe_read_user(slot->header, PY_ARENA_WORDS * 8,
				    (void *)(slot->list + (__u64)PY_ARENA_BYTES * number));
}

/* Address of a pool of the arena that was read; 0: none was ever begun there. */
static __always_inline __u64 arena__pool(const struct oomw_go_slot *slot, __u32 number)
{
	__u64 bytes = slot->target.pools.pool_bytes;
	__u64 begin = slot->header[PY_ARENA_BEGIN];
	__u64 pool = ((begin + bytes - 1) & ~(bytes - 1)) + number * bytes;

	if (pool + bytes > begin + PY_ARENA_POOLS * bytes)
		return 0;
	return pool < slot->header[PY_ARENA_NEXT_POOL] ? pool : 0;
}

/* Behind the table's end may lie an older copy of it, from before it grew: a pool of an arena says
 * which entry is its own. If none of the first ones is there, the arena was given back since that
 * copy, or is swapped out: in both cases it holds no memory. */
static __always_inline bool arena__is_of(struct oomw_go_slot *slot, __u32 number)
{
	__u64 *word = slot->body + PY_ARENA_AND_CLASS;

	for (__u32 i = 0; i < PY_ARENA_TRIES; i++) {
		__u64 pool = arena__pool(slot, i);

		if (!pool)
			return false;
		if (!bpf_probe_read_user(word, 8, (void *)(pool + PY_ARENA_AND_CLASS * 8)))
			return (__u32)*word == number;
	}
	return false;
}

/* Pools in use of the arena that was read; 0 also where the entry is none. */
static __always_inline __u32 arena__used_pools(struct oomw_go_slot *slot, __u32 number)
{
	__u64 begin = slot->header[PY_ARENA_BEGIN];
	__u32 free = slot->header[PY_ARENA_COUNTS], all = slot->header[PY_ARENA_COUNTS] >> 32;

	if (!begin || begin & PY_PAGE_MASK || all > PY_ARENA_POOLS || free >= all)
		return 0;
	return arena__is_of(slot, number) ? all - free : 0;
}

static __always_inline bool pool__is_sound(struct oomw_go_slot *slot)
{
	const __u64 *head = slot->body;
	__u32 class = head[PY_ARENA_AND_CLASS] >> 32, arena = head[PY_ARENA_AND_CLASS];
	__u32 next = head[PY_LIMITS], last = head[PY_LIMITS] >> 32;
	__u32 bytes = (class + 1) * PY_STEP;

	if (class >= PY_CLASSES || arena != slot->at.arena ||
	    last != slot->target.pools.pool_bytes - bytes)
		return false;
	if (next < PY_HEAD_BYTES + bytes || next > slot->target.pools.pool_bytes ||
	    (next - PY_HEAD_BYTES) % bytes)
		return false;
	slot->at.block_bytes = bytes;
	slot->at.carved = (next - PY_HEAD_BYTES) / bytes;
	return (__u32)head[PY_USED] <= slot->at.carved;
}

/* Any number, the same for the same pool: murmur's last steps. Of fewer the lowest bit stays that
 * of the address, and of blocks that alternate between two types one would be met alone. */
static __always_inline __u32 pool__random(__u64 pool)
{
	__u32 bits = pool >> 12;

	bits = (bits ^ bits >> 16) * 0x85ebca6bU;
	bits = (bits ^ bits >> 13) * 0xc2b2ae35U;
	return bits ^ bits >> 16;
}

/* The first words of a block. A block that was given out may lie on two pages, of which only the
 * first was ever written: its other words are 0. */
static __always_inline bool block__read(struct oomw_go_slot *slot, __u64 block, __u64 bytes)
{
	__u64 *words = slot->body + PY_BLOCK;

	for (__u32 i = 0; i < PY_BLOCK_WORDS; i++)
		words[i] = 0;
	hide(bytes);
	if (bytes > PY_BLOCK_WORDS * 8)
		bytes = PY_BLOCK_WORDS * 8;
	if (!bpf_probe_read_user(words, bytes, (void *)block))
		return true;
	/* What is not there leaves zeros. */
	if (bytes > 16)
		bpf_probe_read_user(words + 2, 16, (void *)(block + 16));
	if (bytes > 32)
		bpf_probe_read_user(words + 4, 16, (void *)(block + 32));
	return !bpf_probe_read_user(words, 16, (void *)block);
}

/* One block, but not the one that would be given out next. */
static __always_inline bool pool__read_block(struct oomw_go_slot *slot, __u64 pool)
{
	__u32 carved = slot->at.carved, size = slot->at.block_bytes;
	__u32 number = pool__random(pool) % carved;
	__u64 block = pool + PY_HEAD_BYTES + (__u64)number * size;

	if (block == slot->body[PY_FIRST_FREE])
		block = pool + PY_HEAD_BYTES + (__u64)((number + 1) % carved) * size;
	return block__read(slot, block, size);
}

static __always_inline bool type__is_type(struct oomw_go_slot *slot)
{
	__u64 *t = slot->body;

	if (t[PY_TYPE] == slot->target.pools.type_type)
		return true;
	/* That of a class with a metaclass. Deeper is not looked. */
	return !bpf_probe_read_user(t + PY_META, 8, (void *)(t[PY_TYPE] + 8)) &&
	       t[PY_META] == slot->target.pools.type_type;
}

/* Fills in what is known of the type at `address`; false: it is none. */
static __always_inline bool type__read(struct oomw_go_slot *slot, __u64 address,
				       struct oomw_pool_type *type)
{
	__u64 *t = slot->body;
	__u64 flags, bytes;

	if (address < PY_PAGE_MASK || address & 7 ||
	    bpf_probe_read_user(t + PY_TYPE, PY_TYPE_BYTES, (void *)(address + 8)) ||
	    !type__is_type(slot) ||
	    bpf_probe_read_user(t + PY_FLAGS, 8, (void *)(address + PY_FLAGS_AT)))
		return false;
	flags = t[PY_FLAGS];
	bytes = t[PY_TYPE + 3];
	if (!(flags >> 12 & 1) || bytes < 16 || bytes > PY_MAX_OBJECT)
		return false;
	/* Compact strings are smaller than their type says. */
	type->least_bytes = flags >> 28 & 1 ? 0 : bytes;
	type->head_words = (flags >> 14 & 1 ? 2 : 0) + (flags >> 3 & 3 ? 2 : 0);
	/* On a page that is not there the kernel leaves "". */
	bpf_probe_read_user_str(type->name, sizeof(type->name), (void *)t[PY_TYPE + 2]);
	type->type = address;
	return true;
}

/* The record of a type, or the free one where it belongs; NULL: no room. */
static __noinline struct oomw_pool_type *types__find(struct oomw_go_slot *slot, __u64 address)
{
	struct oomw_go_chunk *chunk = bpf_map_lookup_elem(&go_chunks, &slot->chunk);
	__u32 first = (__u32)(address >> 4) * 2654435761U >> 16;

	if (!chunk)
		return NULL;
	for (__u32 i = 0; i < PY_PROBES; i++) {
		struct oomw_pool_type *type = (void *)chunk->data;
		__u32 at = first + i;

		hide(at);
		type += at & (OOMW_POOL_TYPES - 1);
		if (!type->type || type->type == address)
			return type;
	}
	return NULL;
}

/* The type of the object whose head is at this word of the block, if it is one. */
static __always_inline struct oomw_pool_type *block__type_at(struct oomw_go_slot *slot, __u32 word)
{
	__u64 address = slot->body[PY_BLOCK + word + 1];
	struct oomw_pool_type *type;

	/* A count of references, and what is not a small number. */
	if (!(__u32)slot->body[PY_BLOCK + word] || address < PY_PAGE_MASK)
		return NULL;
	type = types__find(slot, address);
	if (!type || (!type->type && !type__read(slot, address, type)))
		return NULL;
	if (word > type->head_words || type->least_bytes + word * 8 > slot->at.block_bytes)
		return NULL;
	return type;
}

/* Sizes of the table and of its index as logarithms (3.11 on), or a size and the places used and
 * free in it. */
static __always_inline bool block__is_key_table(const struct oomw_go_slot *slot)
{
	const __u64 *w = slot->body + PY_BLOCK;
	__u64 size = w[1] & 0xff, index = w[1] >> 8 & 0xff;

	if (slot->at.block_bytes < 64 || !w[0] || w[0] > PY_MAX_OBJECT)
		return false;
	if (size >= 3 && size < 30 && index >= size && index <= size + 3 &&
	    (w[1] >> 16 & 0xff) <= 2 && !(w[1] >> 24 & 0xff))
		return true;
	return w[1] >= 8 && w[1] < (1 << 30) && !(w[1] & (w[1] - 1)) && w[3] + w[4] == w[1] * 2 / 3;
}

static __always_inline struct oomw_pool_type *block__type(struct oomw_go_slot *slot)
{
	struct oomw_pool_type *type = block__type_at(slot, 0);
	__u64 other = OOMW_POOL_UNTYPED;

	/* Behind what the collector keeps in front of an object, and since 3.11 its attributes. */
	if (!type && slot->at.block_bytes >= 32)
		type = block__type_at(slot, 2);
	if (!type && slot->at.block_bytes >= 48)
		type = block__type_at(slot, 4);
	if (type)
		return type;
	if (block__is_key_table(slot))
		other = OOMW_POOL_KEY_TABLE;
	type = types__find(slot, other);
	if (type)
		type->type = other;
	return type;
}

static __always_inline void pool__count(struct oomw_go_slot *slot)
{
	__u64 blocks = (__u32)slot->body[PY_USED];
	__u64 bytes = blocks * slot->at.block_bytes;
	struct oomw_pool_type *type = block__type(slot);

	slot->walk.pools.read++;
	slot->walk.pools.bytes += bytes;
	/* Without a record it is in the sum only. */
	if (!type)
		return;
	type->pools++;
	type->blocks += blocks;
	type->bytes += bytes;
}

/* One pool of the arena that was read. */
static __always_inline void pool__visit(struct oomw_go_slot *slot, __u32 number)
{
	__u64 pool = arena__pool(slot, number);

	if (!pool)
		return;
	if (bpf_probe_read_user(slot->body, PY_HEAD_BYTES, (void *)pool)) {
		slot->walk.pools.absent++;
		return;
	}
	if (!(__u32)slot->body[PY_USED])
		return;
	if (!pool__is_sound(slot))
		slot->walk.pools.malformed++;
	else if (!pool__read_block(slot, pool))
		slot->walk.pools.absent++;
	else
		pool__count(slot);
}
