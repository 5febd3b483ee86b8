// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * vmscan:mm_vmscan_memcg_reclaim_begin and _end: totals per memory cgroup, which user space reads
 * from `reclaims`; no event per call, since a container that lives on page cache reclaims thousands
 * of times a second.
 *
 * With fentry, try_to_free_mem_cgroup_pages(memcg, ...) replaces _begin, which comes some ten
 * instructions later: it names the memcg, and each call of it has one _end. All calls are counted,
 * whatever their cause: charges at the limit, memory.high, writers of limits and of memory.reclaim.
 * The soft limit of v1 has hooks of its own and is never counted.
 */
#include "core/emit.h"
#include "core/memcg.h"
#include "core/task.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The cgroup to count this reclaim for: the level at its limit, else the task's own. */
static __always_inline __u64 reclaim__cgroup_id(void)
{
	struct mem_cgroup *memcg = memcg__charged_by(task__current());
	struct memcg_level limit;

	if (memcg__find_at_limit(memcg, true, &limit))
		memcg = limit.memcg;
	return memcg__id(memcg);
}

/* memcg: the one reclaimed for, where the hook has it; NULL: to be resolved. */
static __always_inline int reclaim__begin(struct mem_cgroup *memcg)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct reclaim_start start = {};

	if (pid_tgid >> 32 == cfg_settings.own_tgid)
		return 0;
	/* Before reclaim: at its end the usage is no longer at the limit. */
	start.cgroup_id = memcg ? memcg__id(memcg) : reclaim__cgroup_id();
	start.time_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&reclaim_starts, &pid_tgid, &start, BPF_ANY))
		emit__count_lost(OOMW_LOST_RECLAIM_STARTS);
	return 0;
}

static __always_inline struct oomw_reclaim *reclaim__totals(__u64 cgroup_id)
{
	struct oomw_reclaim *totals = bpf_map_lookup_elem(&reclaims, &cgroup_id);
	struct oomw_reclaim zero = {};

	if (totals)
		return totals;
	bpf_map_update_elem(&reclaims, &cgroup_id, &zero, BPF_NOEXIST);
	totals = bpf_map_lookup_elem(&reclaims, &cgroup_id);
	if (!totals)
		emit__count_lost(OOMW_LOST_RECLAIM_TOTALS);
	return totals;
}

/* memcg: the one reclaimed for, where the hook has it; else NULL. */
static __always_inline int reclaim__end(unsigned long reclaimed_pages, struct mem_cgroup *memcg)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct reclaim_start *start = bpf_map_lookup_elem(&reclaim_starts, &pid_tgid);
	struct oomw_reclaim *totals;
	__u64 now = bpf_ktime_get_ns();

	if (!start)
		return 0;
	totals = reclaim__totals(memcg ? memcg__id(memcg) : start->cgroup_id);
	if (totals) {
		__sync_fetch_and_add(&totals->calls, 1);
		__sync_fetch_and_add(&totals->reclaimed_pages, reclaimed_pages);
		__sync_fetch_and_add(&totals->stall_ns, now - start->time_ns);
		if (!reclaimed_pages)
			__sync_fetch_and_add(&totals->zero_yield_calls, 1);
		totals->last_ns = now;
	}
	bpf_map_delete_elem(&reclaim_starts, &pid_tgid);
	return 0;
}

/* ctx is untyped on purpose: the second argument exists only where the facts have it. */
static __always_inline struct mem_cgroup *reclaim__end_memcg(__u64 *ctx)
{
	return cfg_facts.reclaim_end_has_memcg ? (struct mem_cgroup *)ctx[1] : NULL;
}

SEC("fentry/try_to_free_mem_cgroup_pages")
int BPF_PROG(on_reclaim_begin_fentry, struct mem_cgroup *memcg)
{
	return reclaim__begin(memcg);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_reclaim_begin_btf(__u64 *ctx)
{
	return reclaim__begin(NULL);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int on_reclaim_begin_raw(__u64 *ctx)
{
	return reclaim__begin(NULL);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int on_reclaim_end_btf(__u64 *ctx)
{
	return reclaim__end(ctx[0], reclaim__end_memcg(ctx));
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int on_reclaim_end_raw(__u64 *ctx)
{
	return reclaim__end(ctx[0], reclaim__end_memcg(ctx));
}
