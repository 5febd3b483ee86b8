/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: counts one goroutine of the runtime's list by its status and what it waits for. The
 * slot's body holds the pointers that are next and, behind them, one g.
 */
#pragma once

#include "go_bucket.h"

#define GO_G_WAITING 4
#define GO_G_IDLE 0
#define GO_G_DEAD 6
#define GO_G_STATUS_MASK 0xfff /* a bit above is set while its stack is scanned */
#define GO_G_SELF 9	       /* word of a g: sched.g, its own address; so in all versions */
#define GO_G_BATCH 64	       /* pointers in one read */
#define GO_G_WORDS (OOMW_GO_G_BYTES / 8)

/* The next pointers of the list into the body. */
static __always_inline bool goroutine__read_batch(struct oomw_go_slot *slot, __u32 index)
{
	__u64 count = slot->walk.goroutines - index;

	if (count > GO_G_BATCH)
		count = GO_G_BATCH;
	hide(count);
	if (count > GO_G_BATCH)
		return false;
	return !bpf_probe_read_user(slot->body, count * 8, (void *)(slot->list + 8ULL * index));
}

/* Up to its reason, the last that is wanted: what is behind may be in a page never touched. */
static __always_inline bool goroutine__read(struct oomw_go_slot *slot, __u64 address)
{
	__u64 bytes = slot->target.goroutine_reason + 1;

	hide(bytes);
	if (bytes > OOMW_GO_G_BYTES)
		return false;
	return !bpf_probe_read_user(slot->body + GO_G_BATCH, bytes, (void *)address);
}

/* Of the g that was read. A g names itself; one that is made or has ended need not. */
static __always_inline bool goroutine__count(struct oomw_go_slot *slot, __u64 address)
{
	const __u64 *g = slot->body + GO_G_BATCH;
	const __u32 *halves = (const void *)g;
	const __u8 *bytes = (const void *)g;
	__u32 status_at = slot->target.goroutine_status / 4 & (OOMW_GO_G_BYTES / 4 - 1);
	__u32 reason_at = slot->target.goroutine_reason & (OOMW_GO_G_BYTES - 1);
	__u32 status, reason;

	hide(status_at);
	hide(reason_at);
	status = halves[status_at & (OOMW_GO_G_BYTES / 4 - 1)] & GO_G_STATUS_MASK;
	reason = bytes[reason_at & (OOMW_GO_G_BYTES - 1)];
	if (status >= OOMW_GO_STATES)
		return false;
	if (g[GO_G_SELF] != address && status != GO_G_IDLE && status != GO_G_DEAD)
		return false;
	hide(status);
	slot->walk.states[status & (OOMW_GO_STATES - 1)]++;
	if (status != GO_G_WAITING)
		return true;
	if (reason >= OOMW_GO_REASONS)
		reason = OOMW_GO_REASONS - 1;
	hide(reason);
	slot->walk.waits[reason & (OOMW_GO_REASONS - 1)]++;
	return true;
}
