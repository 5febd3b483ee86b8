/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps that growth sampling is steered by, see growth.h. Times are CLOCK_MONOTONIC. */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include <oomwitness/growth.h>

/* growth_targets: tgid -> a process that is sampled. User space inserts and deletes; the program
 * keeps its state here, with plain stores: two CPUs may both sample one slot, which user space
 * counts once. */
struct oomw_growth_target {
	__u64 start_ticks; /* with the tgid it names the process */
	__u64 cgroup_id;   /* whose budget it uses, and what its records carry */
	__u32 page_size;   /* bytes */
	__u32 slot_pages;  /* N */
	__u32 batch_pages; /* of the kernel's per-CPU count of pages: how far the shared one may be
			      behind */
	__u32 stack_max;   /* bytes of stack copied, at most OOMW_GROWTH_STACK_MAX */
	/* From here on the program's; zero when inserted. */
	__u64
	    mm; /* address, only ever compared; 0 = no event yet. Another one: it has called exec */
	__u32 base;	   /* the level at the first event; records count slots from it */
	__u32 slot;	   /* the level now */
	__u64 samples;	   /* sent */
	__u64 over_budget; /* not sent */
	__u64 ring_full;   /* not sent */
	__u64 unseen;	   /* levels risen while the program was not attached; not in slots */
	__u32 is_resumed;  /* user space sets it before it attaches the program again */
	__u32 reserved;
};

/* growth_python: tgid -> where CPython keeps its frames, offsets in bytes. */
struct oomw_growth_python {
	__u64 thread_state; /* address that holds the state of the thread that ran Python last */
	__u32 id_of_thread; /* its thread pointer, which tells whether it is the one that is sampled
			     */
	__u32 frame_of_thread;
	__u32 has_cframe; /* 0: frame_of_thread leads to the frame itself */
	__u32 frame_of_cframe;
	__u32 code_of_frame;
	__u32 previous_of_frame;
	__u32 instruction_of_frame;
	__u32 reserved;
};

/* growth_budgets: cgroup id -> what its processes may send within a second. */
struct oomw_growth_budget {
	__u64 bytes_per_second;
	__u64 since_ns; /* the program's, as what follows */
	__u64 bytes;	/* since then */
};
