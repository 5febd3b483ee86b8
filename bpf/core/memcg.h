/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: from tasks to memory cgroups, their ids and their counters.
 *
 * The id is that of the memory css' cgroup. bpf_get_current_cgroup_id() would give the v2
 * hierarchy's, which on a v1 host is the root for every task.
 */
#pragma once

#include "compat.h"
#include "maps.h"
#include "task.h"

/* Kubernetes nests to 5 or 6, kind to about 10; deeper levels are ignored. */
#define MEMCG_MAX_DEPTH 10
/* Pages that one CPU may hold charged in stock (MEMCG_CHARGE_BATCH). */
#define MEMCG_BATCH_PAGES 64

struct memcg_level {
	struct mem_cgroup *memcg;
	__u64 usage_pages;
	__u64 max_pages;
};

static __always_inline __u64 memcg__pages_to_bytes(__u64 pages)
{
	return pages == OOMW_UNKNOWN_U64 ? pages : pages * cfg_settings.page_size;
}

static __always_inline struct mem_cgroup *memcg__of_css(struct cgroup_subsys_state *css)
{
	if (!css)
		return NULL;
	return (void *)css - bpf_core_field_offset(struct mem_cgroup, css);
}

static __always_inline struct cgroup_subsys_state *memcg__css_of_task(struct task_struct *task)
{
	__u32 index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;

	bpf_core_read(&css, sizeof(css), &set->subsys[index]);
	return css;
}

static __always_inline struct mem_cgroup *memcg__of_task(struct task_struct *task)
{
	return memcg__of_css(memcg__css_of_task(task));
}

/* The memcg whose memory the counter counts; NULL: it counts something else (swap, on v1 kernel
 * memory too, huge pages), since the css around it is not the memory controller's. */
static __always_inline struct mem_cgroup *memcg__of_counter(struct page_counter *counter)
{
	struct mem_cgroup *memcg =
	    (void *)counter - bpf_core_field_offset(struct mem_cgroup, memory);
	struct cgroup_subsys_state *known = memcg__css_of_task(task__current());

	return BPF_CORE_READ(memcg, css.ss) == BPF_CORE_READ(known, ss) ? memcg : NULL;
}

/* The memcg that the task's current allocations are charged to. */
static __always_inline struct mem_cgroup *memcg__charged_by(struct task_struct *task)
{
	return compat__active_memcg(task) ?: memcg__of_task(task);
}

static __always_inline __u64 memcg__id(struct mem_cgroup *memcg)
{
	return memcg ? BPF_CORE_READ(memcg, css.cgroup, kn, id) : 0;
}

static __always_inline __u64 memcg__usage_pages(struct mem_cgroup *memcg)
{
	return BPF_CORE_READ(memcg, memory.usage.counter);
}

static __always_inline struct memcg_level memcg__level(struct mem_cgroup *memcg)
{
	return (struct memcg_level){
	    .memcg = memcg,
	    .usage_pages = memcg__usage_pages(memcg),
	    .max_pages = BPF_CORE_READ(memcg, memory.max),
	};
}

static __always_inline struct mem_cgroup *memcg__parent(struct mem_cgroup *memcg)
{
	struct page_counter *parent = BPF_CORE_READ(memcg, memory.parent);

	if (!parent)
		return NULL;
	return (void *)parent - bpf_core_field_offset(struct mem_cgroup, memory);
}

static __always_inline bool memcg__is_limit(__u64 max_pages)
{
	return max_pages < (~0ULL >> 1) / cfg_settings.page_size;
}

/* Each other CPU may give back one batch between a failed charge and a hook. */
static __always_inline __u64 memcg__slack_pages(void)
{
	return (__u64)MEMCG_BATCH_PAGES * cfg_facts.possible_cpus;
}

static __always_inline bool memcg__is_within(struct mem_cgroup *memcg, struct mem_cgroup *ancestor)
{
	for (int i = 0; i < MEMCG_MAX_DEPTH && memcg; i++) {
		if (memcg == ancestor)
			return true;
		memcg = memcg__parent(memcg);
	}
	return false;
}

/* The topmost memcg with memory.oom.group from `memcg` up to `owner` (NULL: the root), by the
 * kernel's own rule for a group kill; NULL if there is none or `memcg` is not below the owner. */
static __always_inline struct mem_cgroup *memcg__find_oom_group(struct mem_cgroup *memcg,
								struct mem_cgroup *owner)
{
	struct mem_cgroup *group = NULL;

	for (int i = 0; i < MEMCG_MAX_DEPTH && memcg; i++) {
		if (compat__has_oom_group(memcg))
			group = memcg;
		if (memcg == owner)
			return group;
		memcg = memcg__parent(memcg);
	}
	return owner ? NULL : group;
}

/*
 * The topmost level from `memcg` up that is locked for the OOM killer: it locks the one whose limit
 * was hit and all below, until it has killed. Two never lock the same levels; one that finds some
 * locked goes on without.
 */
static __always_inline bool memcg__find_oom_locked(struct mem_cgroup *memcg,
						   struct memcg_level *found)
{
	struct mem_cgroup *topmost = NULL;

	for (int i = 0; i < MEMCG_MAX_DEPTH && memcg; i++) {
		if (compat__memcg_is_oom_locked(memcg))
			topmost = memcg;
		memcg = memcg__parent(memcg);
	}
	if (topmost)
		*found = memcg__level(topmost);
	return topmost != NULL;
}

/*
 * The level whose limit stopped a charge to `memcg`. The kernel does not report it, so this is the
 * one with the least headroom among those within slack of their limit; ties go to the lowest.
 * with_high: memory.high counts as a limit too, as it does for reclaim.
 */
static __always_inline bool memcg__find_at_limit(struct mem_cgroup *memcg, bool with_high,
						 struct memcg_level *found)
{
	__u64 least = memcg__slack_pages() + 1;

	found->memcg = NULL;
	for (int i = 0; i < MEMCG_MAX_DEPTH && memcg; i++) {
		__u64 usage = memcg__usage_pages(memcg);
		__u64 max = BPF_CORE_READ(memcg, memory.max);
		__u64 high = with_high ? BPF_CORE_READ(memcg, memory.high) : max;
		__u64 bound = high < max ? high : max;
		__u64 headroom = bound > usage ? bound - usage : 0;

		if (memcg__is_limit(bound) && headroom < least) {
			least = headroom;
			*found = (struct memcg_level){memcg, usage, max};
		}
		memcg = memcg__parent(memcg);
	}
	return found->memcg != NULL;
}

/* The lowest level from `memcg` up that is over its limit by more than any charge can have caused:
 * its limit was lowered. */
static __always_inline bool memcg__find_over_limit(struct mem_cgroup *memcg,
						   struct memcg_level *found)
{
	for (int i = 0; i < MEMCG_MAX_DEPTH && memcg; i++) {
		*found = memcg__level(memcg);
		if (memcg__is_limit(found->max_pages) &&
		    found->usage_pages > found->max_pages + memcg__slack_pages())
			return true;
		memcg = memcg__parent(memcg);
	}
	return false;
}
