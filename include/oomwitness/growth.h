/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Growth samples: what a process did when its anonymous memory first passed a slot.
 *
 * Slots are levels of a process's anonymous pages at hashed thresholds, thr(k) = k * N + hash(k) %
 * N pages. The slot of a process is the highest k with thr(k) <= pages. When it rises, the thread
 * that touched the page is sampled with its stack, and the sample weighs as many slots as it
 * passed; when it falls nothing is sent, and slot_before of the next sample shows it. Who holds
 * `slots[k] = last stack through k` and drops what lies above slot_before has the growth: the sum
 * of the slots is what the process grew by.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* DWARF order of x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, then the return address (rip). */
#define OOMW_GROWTH_REGISTERS 17
#define OOMW_GROWTH_REG_BP 6
#define OOMW_GROWTH_REG_SP 7
#define OOMW_GROWTH_REG_IP 16
#define OOMW_GROWTH_STACK_MAX 32768
#define OOMW_GROWTH_PYTHON_MAX 48

/* growth_sample.flags */
#define OOMW_GROWTH_STACK_CUT (1u << 0) /* the stack was longer than what was copied */
#define OOMW_GROWTH_NO_STACK (1u << 1)	/* the stack could not be read */
#define OOMW_GROWTH_PYTHON_CUT                                                                     \
	(1u << 2) /* more Python frames than were copied, or the chain broke */

/* A frame of CPython's interpreter, innermost first: addresses in the process. */
struct oomw_python_frame {
	__u64 code;	   /* the PyCodeObject */
	__u64 instruction; /* to find the line by: an address, up to 3.10 the low 32 bits count */
};

/* One record. `stack_bytes` bytes of stack follow it, from the stack pointer upwards. */
struct oomw_growth_sample {
	__u32 type; /* OOMW_EVENT_GROWTH, as oomw_header */
	__u32 size; /* of the record with its stack */
	__u64 time_ns;
	__u32 tgid;
	__u32 tid;
	__u64 start_boottime_ns; /* of the process */
	__u64 cgroup_id;
	__u32 slot_before; /* slots are counted from where sampling of this process began */
	__u32 slot_after;
	__u64 slot_bytes; /* N */
	__u64 anon_bytes; /* of the process, now */
	__u32 flags;
	__u32 stack_bytes;
	__u32 python_frames; /* of this thread; 0: it does not run Python, or its layout is not
				known */
	__u32 reserved;
	__u64 registers[OOMW_GROWTH_REGISTERS];
	struct oomw_python_frame python[OOMW_GROWTH_PYTHON_MAX];
};
