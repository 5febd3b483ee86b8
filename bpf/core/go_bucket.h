/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: copies one bucket of a Go process's heap profile from the process to a chunk. The slot's
 * cursor is its address; two reads fetch it, and zeros and repetitions are not stored.
 */
#pragma once

#include "go_walks.h"

#define GO_MEM_PROFILE 1 /* bucket.typ */
#define GO_HEADER_BYTES 48
#define GO_SHORT_WORDS 8 /* of a record from Go 1.27 on */
#define GO_MAX_BUCKET_BYTES                                                                        \
	(sizeof(struct oomw_go_bucket) + 8 * (OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS))

enum go_header { GO_NEXT, GO_ALLNEXT, GO_TYPE, GO_HASH, GO_SIZE, GO_DEPTH };

/* Keeps the compiler from reasoning about a bound whose test the verifier must see. */
#define hide(value) asm volatile("" : "+r"(value))

static __always_inline bool bucket__read_header(struct oomw_go_slot *slot)
{
	return !bpf_probe_read_user(slot->header, sizeof(slot->header), (void *)slot->cursor);
}

static __always_inline bool bucket__is_plausible(const struct oomw_go_slot *slot)
{
	__u64 depth = slot->header[GO_DEPTH];

	return slot->header[GO_TYPE] == GO_MEM_PROFILE && depth <= OOMW_GO_MAX_DEPTH &&
	       !(slot->header[GO_ALLNEXT] & 7);
}

static __always_inline bool bucket__read_range(struct oomw_go_slot *slot, __u32 at_word,
					       __u64 words, __u64 offset)
{
	hide(words);
	if (at_word > OOMW_GO_MAX_PCS || words > OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS)
		return false;
	if (at_word + words > OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS)
		return false;
	return !bpf_probe_read_user(slot->body + at_word, words * 8,
				    (void *)(slot->cursor + GO_HEADER_BYTES + offset));
}

/* The stack and the record behind it, in one read unless the stack is clipped. */
static __always_inline bool bucket__read_words(struct oomw_go_slot *slot, __u64 record_words)
{
	__u64 depth = slot->header[GO_DEPTH];

	slot->record_words = record_words;
	if (depth <= OOMW_GO_MAX_PCS) {
		slot->pc_count = depth;
		return bucket__read_range(slot, 0, depth + record_words, 0);
	}
	slot->pc_count = OOMW_GO_MAX_PCS;
	return bucket__read_range(slot, 0, OOMW_GO_MAX_PCS, 0) &&
	       bucket__read_range(slot, OOMW_GO_MAX_PCS, record_words, depth * 8);
}

static __noinline void bucket__clear_record(struct oomw_go_slot *slot)
{
	__u32 first = slot->pc_count;

	for (__u32 i = 0; i < OOMW_GO_MAX_RECORD_WORDS; i++) {
		hide(first);
		if (first > OOMW_GO_MAX_PCS)
			break;
		slot->body[first + i] = 0;
	}
}

/*
 * Header and stack are present and only the record is not: its words are then 0. The runtime takes
 * buckets from fresh pages and writes a record only where it counts, so the newest bucket of each
 * of its chunks may reach into a page that was never touched (1 in 11 kills with 72,000 stacks).
 * Counted, since a page that was swapped out looks the same.
 */
static __always_inline bool bucket__read_present(struct oomw_go_slot *slot, __u64 record_words)
{
	__u64 stack_bytes = slot->header[GO_DEPTH] * 8;
	__u64 record = slot->cursor + GO_HEADER_BYTES + stack_bytes;
	__u64 in_page = (cfg_settings.page_size - (record & (cfg_settings.page_size - 1))) / 8;

	if (!bucket__read_range(slot, 0, slot->pc_count, 0))
		return false;
	bucket__clear_record(slot);
	if (in_page < record_words)
		bucket__read_range(slot, slot->pc_count, in_page, stack_bytes);
	slot->walk.absent++;
	return true;
}

static __always_inline bool bucket__read_body(struct oomw_go_slot *slot)
{
	__u64 words = OOMW_GO_MAX_RECORD_WORDS;

	if (slot->target.record_words == GO_SHORT_WORDS)
		words = GO_SHORT_WORDS;
	return bucket__read_words(slot, words) || bucket__read_present(slot, words);
}

/* Counts in memory: a scalar that differs between the exits of a loop would make the verifier
 * follow each of them to the end, 128 times. */
static __noinline __u32 bucket__stored_words(struct oomw_go_slot *slot)
{
	__u32 first = slot->pc_count, stored = 0;

	for (__u32 i = 0; i < OOMW_GO_MAX_RECORD_WORDS; i++) {
		hide(first);
		if (i >= slot->record_words || first > OOMW_GO_MAX_PCS)
			break;
		if (slot->body[first + i])
			stored = i + 1;
	}
	return stored;
}

/* Writes 4-byte offsets, padded to 8. Returns the bits above 31, which are left out: if any is set,
 * the offsets do not fit.
 */
static __noinline __u64 bucket__write_offsets(struct oomw_go_slot *slot, __u32 *to)
{
	__u64 text = slot->target.text, high = 0;
	__u32 count = slot->pc_count;

	/* The padding, if there is any; otherwise the loop or the record overwrites it. */
	to[count & (OOMW_GO_MAX_PCS - 1)] = 0;
	hide(high);
	for (__u32 i = 0; i < OOMW_GO_MAX_PCS; i++) {
		__u64 offset;

		if (i >= count)
			break;
		offset = slot->body[i] - text;
		high |= offset;
		to[i] = offset;
	}
	return high >> 32;
}

/* Words [from, from + count) of the body. */
static __noinline void bucket__write_words(struct oomw_go_slot *slot, __u64 *to, __u32 from,
					   __u32 count)
{
	if (from > OOMW_GO_MAX_PCS)
		return;
	for (__u32 i = 0; i < OOMW_GO_MAX_PCS; i++) {
		if (i >= count || from + i >= OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS)
			break;
		to[i] = slot->body[from + i];
	}
}

/* A walk's first chunk comes from a pool of its own: however much one victim holds, the next has
 * room for some 300 stacks. */
static __always_inline bool chunk__take(bool is_first, __u32 *number)
{
	if (is_first && !bpf_map_pop_elem(&go_first_chunks, number))
		return true;
	return !bpf_map_pop_elem(&go_free_chunks, number);
}

/* The chunk being filled if it has room for the largest bucket, else the next one; NULL: none. */
static __noinline struct oomw_go_chunk *chunk__with_room(struct oomw_go_slot *slot)
{
	struct oomw_go_chunk *last = bpf_map_lookup_elem(&go_chunks, &slot->chunk);
	struct oomw_go_chunk *chunk;
	__u32 number;

	if (last && last->used <= OOMW_GO_CHUNK_DATA_BYTES - GO_MAX_BUCKET_BYTES)
		return last;
	if (!chunk__take(!last, &number))
		return NULL;
	chunk = bpf_map_lookup_elem(&go_chunks, &number);
	if (!chunk)
		return NULL;
	chunk->next = OOMW_GO_NO_CHUNK;
	chunk->used = 0;
	chunk->started_ns = slot->walk.started_ns;
	if (last)
		last->next = number;
	else
		slot->walk.first_chunk = number;
	slot->chunk = number;
	slot->walk.chunk_count++;
	return chunk;
}

static __always_inline void bucket__fill_header(struct oomw_go_bucket *to,
						const struct oomw_go_slot *slot)
{
	to->address = slot->cursor;
	to->hash = slot->header[GO_HASH];
	to->size = slot->header[GO_SIZE];
	to->stack_depth = slot->header[GO_DEPTH];
	to->pc_count = slot->pc_count;
	to->record_words = slot->record_words;
	to->reserved = 0;
}

/* Bytes of the stack as stored, a multiple of 8. */
static __always_inline __u32 bucket__write_stack(struct oomw_go_bucket *to,
						 struct oomw_go_slot *slot)
{
	__u32 *pcs = (void *)(to + 1);
	__u32 count = slot->pc_count;

	to->pc_bytes = 4;
	if (!bucket__write_offsets(slot, pcs))
		return (count * 4 + 7) & ~7U;
	to->pc_bytes = 8;
	bucket__write_words(slot, (void *)pcs, 0, count);
	return count * 8;
}

static __always_inline bool bucket__store(struct oomw_go_slot *slot)
{
	struct oomw_go_chunk *chunk = chunk__with_room(slot);
	struct oomw_go_bucket *to;
	__u32 used, stack_bytes, stored;

	if (!chunk)
		return false;
	used = chunk->used;
	hide(used);
	if (used > OOMW_GO_CHUNK_DATA_BYTES - GO_MAX_BUCKET_BYTES)
		return false;
	to = (void *)(chunk->data + used);
	bucket__fill_header(to, slot);
	stack_bytes = bucket__write_stack(to, slot);
	stored = bucket__stored_words(slot);
	to->stored_words = stored;
	hide(stack_bytes);
	if (stack_bytes > 8 * OOMW_GO_MAX_PCS)
		return false;
	bucket__write_words(slot, (void *)(to + 1) + stack_bytes, slot->pc_count, stored);
	used += sizeof(*to) + stack_bytes + stored * 8;
	slot->walk.bytes += used - chunk->used;
	chunk->used = used;
	slot->walk.walked++;
	slot->walk.clipped += slot->header[GO_DEPTH] > OOMW_GO_MAX_PCS;
	return true;
}
