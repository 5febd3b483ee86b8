/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes that the OOM killer has just chosen: one page, written by BPF and mapped by whoever
 * reads the memory of others. A process stands in the slot of its tgid's lowest bits; a later
 * victim with the same bits takes its place.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define OOMW_VICTIM_SLOTS 512
/* A mark's time is CLOCK_MONOTONIC in units of 2^30 ns, 1.07 s. */
#define OOMW_VICTIM_TIME_SHIFT 30

struct oomw_victims {
	__u64 marks[OOMW_VICTIM_SLOTS]; /* tgid << 32 | time; 0 = none */
};
