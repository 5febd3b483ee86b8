// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_counter_try_charge(counter), with fentry: a memory cgroup is charged, whatever for, small
 * pages 64 at a time per CPU. A 64th of the events of rss_stat, and all growth.
 *
 * kmem:rss_stat, without it: a process' resident set changed, so its memory cgroup's usage may
 * have. From 6.2 on it fires for every fault, before that for every 64th of a thread. Compares
 * usage with limits up the hierarchy; reports a level once, until usage is well below it.
 *
 * Hot: as few as one in 16 consecutive events of one process on a CPU read the usage. One in 64 to
 * 512 finds that it moved far enough from this CPU's last reading to do more than compare: 1 us or
 * two for each limit on the way up.
 *
 * vmscan:mm_vmscan_memcg_reclaim_begin: for memory that no process maps (tmpfs filled by write(),
 * page cache), which changes no resident set. At a limit the kernel reclaims before it kills.
 */
#include "core/emit.h"
#include "core/gate.h"
#include "core/growth.h"
#include "core/memcg.h"
#include "core/task.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One limit on the way up, as one event sees it. */
struct near_limit {
	struct mem_cgroup *leaf;
	__u64 cgroup_id;
	__u64 usage_pages;
	__u64 max_pages;
	__u64 time_ns;
	__u32 level_percent; /* the highest level at or below usage; 0 = below all */
};

static __always_inline bool watermark__is_at(const struct near_limit *near, __u32 percent)
{
	return near->usage_pages * 100 >= near->max_pages * percent;
}

/* 16 small pages are a quarter of what the kernel charges ahead: reading at each finds no more. */
#define WATERMARK_MAX_SKIPS 15
/* The most pages that one event brings: a huge page. */
#define WATERMARK_EVENT_PAGES 512

/* How many events may pass unseen below a limit: even if all were huge pages, they bring a 64th of
 * it, or an eighth while not even a quarter is used. All events up to the next level would be too
 * many: another CPU may use them up, and a thread that returns to this one still has the old count
 * (seen: a 64 MiB container reported at 70 % when it was at 76). Where an event already stands for
 * 64 (<= 6.1) there is nothing to gain. */
static __always_inline __u32 watermark__skips(__u64 usage_pages, __u64 max_pages)
{
	__u64 skips = max_pages / (usage_pages < max_pages / 4 ? 8 : 64) / WATERMARK_EVENT_PAGES;

	if (compat__rss_stat_is_batched())
		return 0;
	return skips < WATERMARK_MAX_SKIPS ? skips : WATERMARK_MAX_SKIPS;
}

/* The first event of another process is never skipped: it may live in another memcg. */
static __always_inline bool watermark__may_skip(struct seen_usage *seen, struct mm_struct *mm)
{
	if (seen->mm == (__u64)mm && seen->skips_left) {
		seen->skips_left--;
		return true;
	}
	seen->mm = (__u64)mm;
	seen->skips_left = seen->skips;
	return false;
}

/* How far usage may move, up or down, before its limit is read again: a 128th of the limit in the
 * lower half, where no level is near; a 512th above, where 0.2 % matter for the time left. */
#define WATERMARK_MAX_STEP_PAGES 512

static __always_inline __u64 watermark__step(__u64 usage_pages, __u64 max_pages)
{
	__u64 step = max_pages / (usage_pages < max_pages / 2 ? 128 : 512);

	return step < WATERMARK_MAX_STEP_PAGES ? step : WATERMARK_MAX_STEP_PAGES;
}

static __always_inline bool watermark__usage_moved(struct seen_usage *seen,
						   struct mem_cgroup *memcg)
{
	__u64 usage = memcg ? memcg__usage_pages(memcg) : 0;
	__u64 moved =
	    usage > seen->usage_pages ? usage - seen->usage_pages : seen->usage_pages - usage;

	if (!memcg || (seen->memcg == (__u64)memcg && (!moved || moved < seen->step_pages)))
		return false;
	seen->memcg = (__u64)memcg;
	seen->usage_pages = usage;
	return true;
}

static __always_inline struct memcg_state *watermark__state(const struct near_limit *near)
{
	struct memcg_state *state = bpf_map_lookup_elem(&memcg_states, &near->cgroup_id);
	struct memcg_state first = {.sampled_ns = near->time_ns,
				    .sampled_pages = near->usage_pages};

	int error;

	if (state)
		return state;
	error = bpf_map_update_elem(&memcg_states, &near->cgroup_id, &first, BPF_NOEXIST);
	if (error == -E2BIG)
		emit__count_lost(OOMW_LOST_MEMCG_STATES);
	return bpf_map_lookup_elem(&memcg_states, &near->cgroup_id);
}

/* A container that swings across its levels, 900 times a second in an 8 MiB one, would have each of
 * them reported each time. What it does not re-arm now it re-arms once the second is over. */
#define WATERMARK_MAX_REARMS 8
#define WATERMARK_REARM_PERIOD_NS 1000000000ULL

static __always_inline bool watermark__may_rearm(struct memcg_state *state, __u64 time_ns)
{
	if (time_ns - state->rearms_since_ns >= WATERMARK_REARM_PERIOD_NS) {
		state->rearms_since_ns = time_ns;
		state->rearms = 0;
	}
	if (state->rearms >= WATERMARK_MAX_REARMS)
		return false;
	state->rearms++;
	return true;
}

/* Takes the gate of every level reached and re-arms those left well behind. True if a level was
 * newly reached: a jump over several is one report. */
static __always_inline bool watermark__cross_levels(struct near_limit *near,
						    struct memcg_state *state)
{
	bool is_new = false;

	for (__u32 i = 0; i < OOMW_MAX_LEVELS && i < cfg_settings.level_count; i++) {
		__u32 level = cfg_settings.levels_percent[i];

		if (watermark__is_at(near, level)) {
			near->level_percent = level;
			is_new |= gate__take(state, near->cgroup_id, i);
		} else if (!watermark__is_at(near, level - cfg_settings.rearm_percent)) {
			if (state->fired[i] && watermark__may_rearm(state, near->time_ns))
				gate__rearm(state, near->cgroup_id, i);
		}
	}
	return is_new;
}

/* A cgroup that reclaims at its limit shrinks and grows 20 to 50 times a second: a near limit is
 * reported once in this time. */
#define TIME_TO_LIMIT_QUIET_NS 1000000000ULL

/* Re-arms at twice the time: the average is noisy around one value. */
static __always_inline bool watermark__cross_time(const struct near_limit *near,
						  struct memcg_state *state, __u64 time_to_limit_ns)
{
	__u64 bound = cfg_settings.time_to_limit_ns;
	bool is_high = near->level_percent != 0;

	if (is_high && time_to_limit_ns < bound) {
		if (!gate__take(state, near->cgroup_id, GATE_TIME_TO_LIMIT))
			return false;
		state->time_to_limit_ns = near->time_ns;
		return true;
	}
	if (near->time_ns - state->time_to_limit_ns < TIME_TO_LIMIT_QUIET_NS)
		return false;
	if (!is_high || time_to_limit_ns >= 2 * bound)
		gate__rearm(state, near->cgroup_id, GATE_TIME_TO_LIMIT);
	return false;
}

static __always_inline void watermark__report(const struct near_limit *near,
					      const struct memcg_state *state, __u32 reason,
					      __u64 time_to_limit_ns)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct oomw_watermark *mark;

	mark =
	    emit__reserve(struct oomw_watermark, OOMW_EVENT_WATERMARK, OOMW_LOST_RINGBUF_WATERMARK);
	if (!mark)
		return;
	mark->reason = reason;
	mark->level_percent = near->level_percent;
	mark->cgroup_id = near->cgroup_id;
	mark->leaf_cgroup_id = memcg__id(near->leaf);
	mark->usage_bytes = memcg__pages_to_bytes(near->usage_pages);
	mark->limit_bytes = memcg__pages_to_bytes(near->max_pages);
	mark->growth_bytes_per_second = state->growth_pages_per_second * cfg_settings.page_size;
	mark->time_to_limit_ns = time_to_limit_ns;
	mark->pid = (__u32)pid_tgid;
	mark->tgid = pid_tgid >> 32;
	emit__submit(mark);
}

/* Takes a growth sample and reports the levels reached; NULL if there is no room for its state. */
static __always_inline struct memcg_state *watermark__measure(struct near_limit *near,
							      __u64 *time_to_limit_ns)
{
	struct memcg_state *state;

	near->time_ns = bpf_ktime_get_ns();
	state = watermark__state(near);
	if (!state)
		return NULL;
	growth__sample(state, near->usage_pages, near->time_ns);
	*time_to_limit_ns = growth__time_to_limit_ns(state, near->usage_pages, near->max_pages);
	if (watermark__cross_levels(near, state))
		watermark__report(near, state, OOMW_WATERMARK_LEVEL, *time_to_limit_ns);
	return state;
}

/* Returns how many events may pass before the next reading.
 * A global function: the verifier walks it once and not once for each of ten levels (94 k
 * instructions became 17 k), which leaves room for older verifiers. It takes scalars only. */
__noinline int watermark__check_limit(__u64 memcg_address, __u64 leaf_address)
{
	struct mem_cgroup *memcg = (void *)memcg_address;
	struct near_limit near = {.leaf = (void *)leaf_address};
	struct memcg_state *state;
	__u64 time_to_limit_ns;

	near.cgroup_id = memcg__id(memcg);
	near.usage_pages = memcg__usage_pages(memcg);
	near.max_pages = BPF_CORE_READ(memcg, memory.max);
	state = watermark__measure(&near, &time_to_limit_ns);
	if (!state)
		return 0;
	if (watermark__cross_time(&near, state, time_to_limit_ns))
		watermark__report(&near, state, OOMW_WATERMARK_TIME_TO_LIMIT, time_to_limit_ns);
	return watermark__skips(near.usage_pages, near.max_pages);
}

static __always_inline int watermark__climb(struct seen_usage *seen, struct mem_cgroup *leaf)
{
	struct mem_cgroup *memcg = leaf;
	__u32 skips = watermark__skips(0, ~0ULL);
	__u64 step = WATERMARK_MAX_STEP_PAGES;

	for (int i = 0; i < MEMCG_MAX_DEPTH && memcg; i++) {
		__u64 max_pages = BPF_CORE_READ(memcg, memory.max);

		if (memcg__is_limit(max_pages)) {
			__u32 below = watermark__check_limit((__u64)memcg, (__u64)leaf);
			__u64 near = watermark__step(memcg__usage_pages(memcg), max_pages);

			skips = below < skips ? below : skips;
			step = near < step ? near : step;
		}
		memcg = memcg__parent(memcg);
	}
	seen->skips = seen->skips_left = skips;
	seen->step_pages = step;
	return 0;
}

/* At the return, when the charge counts. It may have been refused: then usage is at the limit. The
 * counter's address is read by a probe: the verifier takes it and what follows from it for scalars.
 */
SEC("fexit/page_counter_try_charge")
int on_charged_fexit(__u64 *ctx)
{
	struct seen_usage *seen = bpf_map_lookup_elem(&seen_usages, &(__u32){0});
	struct page_counter *counter = NULL;
	struct mem_cgroup *memcg;

	bpf_probe_read_kernel(&counter, sizeof(counter), ctx);
	memcg = memcg__of_counter(counter);
	return seen && watermark__usage_moved(seen, memcg) ? watermark__climb(seen, memcg) : 0;
}

/* The hook may run for another process's mm (reclaim, process_vm_writev): the owner counts, not
 * current. Plain loads on the hot path, since the verifier trusts a tp_btf argument and what hangs
 * below it. Past it, a probe reads the memcg again: its result is a scalar. */
SEC("tp_btf/rss_stat")
int BPF_PROG(on_rss_stat_btf, struct mm_struct *mm)
{
	__u32 index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct seen_usage *seen = bpf_map_lookup_elem(&seen_usages, &(__u32){0});
	struct task_struct *owner;
	struct css_set *set;

	if (!seen || watermark__may_skip(seen, mm))
		return 0;
	owner = mm->owner;
	if (!owner)
		return 0;
	set = owner->cgroups;
	if (!watermark__usage_moved(seen, memcg__of_css(set->subsys[index])))
		return 0;
	return watermark__climb(seen, memcg__of_task(owner));
}

SEC("raw_tp/rss_stat")
int BPF_PROG(on_rss_stat_raw, struct mm_struct *mm)
{
	struct seen_usage *seen = bpf_map_lookup_elem(&seen_usages, &(__u32){0});
	struct task_struct *owner;
	struct mem_cgroup *memcg;

	if (!seen || watermark__may_skip(seen, mm))
		return 0;
	owner = BPF_CORE_READ(mm, owner);
	if (!owner)
		return 0;
	memcg = memcg__of_task(owner);
	return watermark__usage_moved(seen, memcg) ? watermark__climb(seen, memcg) : 0;
}

/* Checks only the level that reclaim is for: a cgroup that lives on page cache reclaims thousands
 * of times a second. Levels above it are left alone, and so is the time to the limit, which means
 * nothing where the limit is reached. */
static __always_inline int watermark__check_reclaimed(void)
{
	struct near_limit near = {.leaf = memcg__charged_by(task__current())};
	struct memcg_level at_limit;
	__u64 time_to_limit_ns;

	if (bpf_get_current_pid_tgid() >> 32 == cfg_settings.own_tgid)
		return 0;
	/* A level found by memory.high may have no limit that kills. */
	if (!memcg__find_at_limit(near.leaf, true, &at_limit) ||
	    !memcg__is_limit(at_limit.max_pages))
		return 0;
	near.cgroup_id = memcg__id(at_limit.memcg);
	near.usage_pages = at_limit.usage_pages;
	near.max_pages = at_limit.max_pages;
	watermark__measure(&near, &time_to_limit_ns);
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_watermark_reclaim_btf(void *ctx)
{
	return watermark__check_reclaimed();
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int on_watermark_reclaim_raw(void *ctx)
{
	return watermark__check_reclaimed();
}
