/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layer 2: puts records into the ring buffer and counts those that did not fit. */
#pragma once

#include "maps.h"

static __always_inline void emit__count_lost(__u32 what)
{
	__u64 *count = bpf_map_lookup_elem(&lost, &what);

	if (count)
		*count += 1;
}

/* Whether the ring may take a record that is not a kill. Its last quarter, 600 kills of 512 KiB, is
 * kept for kills: 1,200 new cgroups while the daemon could not run have pushed every kill out. Two
 * CPUs may both see the last bytes before it free; it is then a few records smaller. */
static __always_inline bool emit__leaves_room(void)
{
	__u64 taken = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	return taken <= bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 4 * 3;
}

/* Zeroed except for the header; NULL when the ring is full, then counted under `what`. A macro,
 * since the verifier needs a constant size. */
#define emit__reserve(record_type, event_type, what)                                               \
	({                                                                                         \
		record_type *record_ = NULL;                                                       \
		if ((event_type) == OOMW_EVENT_KILL || emit__leaves_room())                        \
			record_ = bpf_ringbuf_reserve(&ring, sizeof(record_type), 0);              \
		if (record_) {                                                                     \
			__builtin_memset(record_, 0, sizeof(record_type));                         \
			record_->header.type = event_type;                                         \
			record_->header.size = sizeof(record_type);                                \
			record_->header.time_ns = bpf_ktime_get_ns();                              \
		} else {                                                                           \
			emit__count_lost(what);                                                    \
		}                                                                                  \
		record_;                                                                           \
	})

/* Wakes user space. Forced: behind records that did not wake it, no other record would either. */
static __always_inline void emit__submit(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

/* For records that can wait and may come in storms. A wake-up is an interrupt to this CPU and one
 * to the reader's, 5 to 30 us in a virtual machine. On a quiet machine, where the reader's CPU
 * sleeps, an exit took 85 us and an exec 55 us on average: more than all else a program does.
 */
static __always_inline void emit__submit_lazily(void *record, __u64 time_ns)
{
	__u64 *read_ns = bpf_map_lookup_elem(&next_reads, &(__u32){0});

	if (read_ns && time_ns < *read_ns) {
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
		return;
	}
	/* A late reader is not woken by every record. */
	if (read_ns)
		*read_ns = time_ns + OOMW_LAZY_WAKE_NS;
	emit__submit(record);
}
