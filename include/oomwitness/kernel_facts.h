/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon found out about the running kernel (its BTF, its CPUs) and fixes before load.
 * Read-only data to the programs: the verifier walks only the branches that these leave open,
 * so an argument that this kernel's hook lacks is never looked at.
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
