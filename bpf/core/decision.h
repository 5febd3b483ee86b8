/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: the OOM killer's current decision, noted at the entry of its functions for the marks
 * that follow. One entry is enough: the kernel decides under one lock (oom_lock), and the thread
 * that decided marks the victims. Each note names that thread, so a note left behind by a decision
 * whose end was not seen is never taken for another thread's.
 */
#pragma once

#include "maps.h"
#include "memcg.h"

struct oom_decision {
	__u64 pid_tgid; /* of the thread that decides; 0 = none */
	__u64 time_ns;
	__u64 total_pages;
	struct memcg_level limit; /* memcg NULL: the node is out of memory */
};

/* The task that mark_oom_victim() was called for, where the tracepoint gives only its pid. */
struct oom_mark {
	__u64 pid_tgid;
	__u64 victim; /* address */
};

struct oom_now {
	struct oom_decision decision;
	struct oom_mark mark;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oom_now);
} oom_nows SEC(".maps");

static __always_inline struct oom_now *decision__now(void)
{
	return bpf_map_lookup_elem(&oom_nows, &(__u32){0});
}

static __always_inline void decision__begin(struct oom_control *oc)
{
	struct mem_cgroup *memcg = BPF_CORE_READ(oc, memcg);
	struct oom_now *now = decision__now();

	if (!now)
		return;
	now->decision = (struct oom_decision){
	    .pid_tgid = bpf_get_current_pid_tgid(),
	    .time_ns = bpf_ktime_get_ns(),
	    .total_pages = BPF_CORE_READ(oc, totalpages),
	};
	if (memcg)
		now->decision.limit = memcg__level(memcg);
}

static __always_inline void decision__end(void)
{
	struct oom_now *now = decision__now();

	if (now)
		now->decision.pid_tgid = 0;
}

/* The current thread's decision. NULL: the mark came another way, or none are noted here. */
static __always_inline const struct oom_decision *decision__of_current(void)
{
	struct oom_now *now = decision__now();

	if (!now || now->decision.pid_tgid != bpf_get_current_pid_tgid())
		return NULL;
	return &now->decision;
}

static __always_inline void decision__mark(struct task_struct *victim)
{
	struct oom_now *now = decision__now();

	if (now)
		now->mark = (struct oom_mark){bpf_get_current_pid_tgid(), (__u64)victim};
}

/* The task with that pid which this thread is about to mark, or NULL. */
static __always_inline struct task_struct *decision__marked(int pid)
{
	struct oom_now *now = decision__now();
	struct task_struct *victim;

	if (!now || now->mark.pid_tgid != bpf_get_current_pid_tgid())
		return NULL;
	now->mark.pid_tgid = 0;
	victim = (void *)now->mark.victim;
	return BPF_CORE_READ(victim, pid) == pid ? victim : NULL;
}
