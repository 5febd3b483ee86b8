/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts about the running kernel (from its BTF, its CPUs) that the daemon fixes before load.
 * Read-only data to the programs: the verifier walks only the branches that these leave open,
 * so an argument that this kernel's hook lacks is never read.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

struct oomw_kernel_facts {
	__u32 possible_cpus;
	__u32 exit_has_group_dead;   /* sched_process_exit(task, bool group_dead) */
	__u32 reclaim_end_has_memcg; /* mm_vmscan_memcg_reclaim_end(nr_reclaimed, memcg) */
	__u32 reserved;
};
