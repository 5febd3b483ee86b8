/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: fields that differ between kernels, tested by existence, never by version. Branches on
 * bpf_core_field_exists() are constants at load: the verifier skips the dead branch, whose
 * relocations may then fail without harm.
 */
#pragma once

#include "kernel_types.h"

/* Pages of one kind. From 6.2 on only the shared part of a percpu_counter: pages in per-CPU batches
 * (32 pages or 2 x CPUs each, the larger) are missing. Unknown on a kernel with neither. */
static __always_inline __u64 compat__rss_pages(struct mm_struct *mm, __u32 member)
{
	struct mm_struct___v6_1 *old = (void *)mm;
	const void *count;
	long pages = 0;

	/* A variable index steps by the size of our own declaration: right for a long, wrong for
	 * percpu_counter, whose size only the kernel knows. */
	if (bpf_core_field_exists(old->rss_stat.count))
		count = (void *)&old->rss_stat.count[0].counter + member * sizeof(long);
	else if (bpf_core_field_exists(mm->rss_stat))
		count = (void *)&mm->rss_stat[0].count +
			member * bpf_core_type_size(struct percpu_counter);
	else
		return OOMW_UNKNOWN_U64;
	bpf_probe_read_kernel(&pages, sizeof(pages), count);
	return pages > 0 ? pages : 0;
}

/* <= 6.1: rss_stat fires for every 64th event of a thread; from 6.2 on for each event. */
static __always_inline bool compat__rss_stat_is_batched(void)
{
	return bpf_core_field_exists(((struct mm_struct___v6_1 *)0)->rss_stat.count);
}

static __always_inline bool compat__has_oom_group(struct mem_cgroup *memcg)
{
	return bpf_core_field_exists(memcg->oom_group) && BPF_CORE_READ(memcg, oom_group);
}

/* Whether the OOM killer runs for the memcg or for one above it (mem_cgroup_oom_trylock in
 * mm/memcontrol.c or memcontrol-v1.c). */
static __always_inline bool compat__memcg_is_oom_locked(struct mem_cgroup *memcg)
{
	return bpf_core_field_exists(memcg->oom_lock) && BPF_CORE_READ(memcg, oom_lock);
}

/* The memcg that a remote charge of this task goes to, or NULL. */
static __always_inline struct mem_cgroup *compat__active_memcg(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->active_memcg))
		return NULL;
	return BPF_CORE_READ(task, active_memcg);
}

/* The memcg whose limit this task waits for: only v1, and only on some kernels and paths. */
static __always_inline struct mem_cgroup *compat__memcg_in_oom(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->memcg_in_oom))
		return NULL;
	return BPF_CORE_READ(task, memcg_in_oom);
}
