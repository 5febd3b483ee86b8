// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kmem:rss_stat of the processes in growth_targets: takes a sample of the thread whose page fault
 * lifts the process's anonymous memory above a slot's threshold. Attached only while such processes
 * climb: the way into a program costs every page fault of the machine 4 %, whatever the program
 * does.
 *
 * A fall sends nothing: slot_before of the next sample shows it, and user space reads the target
 * when the process ends.
 */
#include "core/growth_record.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Slots as records count them. */
static __always_inline __u32 growth__slot(const struct oomw_growth_target *target, __u32 level)
{
	return level > target->base ? level - target->base : 0;
}

/* Waking user space costs 9 to 19 us, more than the rest together. The first sample of a process
 * does, since its files are opened then. */
static __always_inline __u64 growth__wake(const struct oomw_growth_target *target)
{
	if (!target->samples)
		return BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_query(&growth_ring, BPF_RB_AVAIL_DATA) >
	    bpf_ringbuf_query(&growth_ring, BPF_RB_RING_SIZE) / 4)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __always_inline void growth__send(struct oomw_growth_target *target,
					 struct growth_record *record)
{
	__u64 size = sizeof(record->sample) + record->sample.stack_bytes;

	asm volatile("" : "+r"(size));
	if (size > sizeof(*record))
		return;
	record->sample.size = size;
	if (!growth_targets__may_send(target->cgroup_id, size, record->sample.time_ns)) {
		__sync_fetch_and_add(&target->over_budget, 1);
		return;
	}
	if (bpf_ringbuf_output(&growth_ring, record, size, growth__wake(target))) {
		__sync_fetch_and_add(&target->ring_full, 1);
		return;
	}
	__sync_fetch_and_add(&target->samples, 1);
}

static __always_inline void growth__sample(struct oomw_growth_target *target, __u64 pages,
					   __u32 before, __u32 after)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	struct growth_record *record = bpf_map_lookup_elem(&growth_records, &cpu);
	struct growth_registers registers = {};

	if (!record)
		return;
	__builtin_memset(&record->sample, 0, sizeof(record->sample));
	record->sample.type = OOMW_EVENT_GROWTH;
	record->sample.time_ns = bpf_ktime_get_ns();
	record->sample.tgid = pid_tgid >> 32;
	record->sample.tid = (__u32)pid_tgid;
	record->sample.start_boottime_ns = task__start_boottime_ns(task__current());
	record->sample.cgroup_id = target->cgroup_id;
	record->sample.slot_before = growth__slot(target, before);
	record->sample.slot_after = growth__slot(target, after);
	record->sample.slot_bytes = (__u64)target->slot_pages * target->page_size;
	record->sample.anon_bytes = pages * target->page_size;
	if (growth_record__read_registers(&registers)) {
		growth_record__set_registers(&record->sample, &registers);
		growth_record__read_stack(record, registers.sp, target->stack_max);
	} else {
		record->sample.flags = OOMW_GROWTH_NO_STACK;
	}
	growth_record__read_python(&record->sample);
	growth__send(target, record);
}

/* Nobody was sampled since the program was detached: what was touched meanwhile is no slot. */
static __always_inline void growth__resume(struct oomw_growth_target *target, __u64 pages)
{
	__u32 level = growth_targets__level(pages, target->slot_pages);

	target->is_resumed = 0;
	if (level <= target->slot)
		return;
	target->unseen += level - target->slot;
	target->base += level - target->slot;
	target->slot = level;
}

/* The target that this event is of, with its slots begun. */
static __always_inline struct oomw_growth_target *growth__target(struct mm_struct *mm, __u64 pages)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct oomw_growth_target *target = bpf_map_lookup_elem(&growth_targets, &tgid);
	struct task_struct *task = task__current();

	if (!target || !target->slot_pages)
		return NULL;
	/* A fork counts for the child, a writer or a reclaimer for another process. */
	if (BPF_CORE_READ(task, mm) != mm)
		return NULL;
	if (!target->mm && growth_targets__is_of(target, task__start_boottime_ns(task))) {
		target->base = target->slot = growth_targets__level(pages, target->slot_pages);
		target->mm = (__u64)mm;
	}
	if (target->mm != (__u64)mm)
		return NULL;
	if (target->is_resumed)
		growth__resume(target, pages);
	return target;
}

/* The kernel's count moves by a batch of pages, on one CPU at a time. A threshold within the batch
 * is met by counting events; the count itself passes it later and then finds the slot taken. */
static __always_inline __u64 growth__countdown(const struct oomw_growth_target *target, __u64 pages,
					       bool was_early)
{
	__u64 from = pages;
	__u64 next = growth_targets__threshold(target->slot + 1, target->slot_pages);

	if (compat__rss_stat_is_batched())
		return 0;
	if (was_early)
		from = growth_targets__threshold(target->slot, target->slot_pages);
	return next > from && next - from < target->batch_pages ? next - from : 0;
}

static __always_inline int growth__look(struct growth_seen *seen, struct mm_struct *mm, __u64 pages,
					bool is_early)
{
	struct oomw_growth_target *target = growth__target(mm, pages);
	__u32 before, level;

	if (!target)
		return 0;
	before = target->slot;
	level = growth_targets__level(pages, target->slot_pages);
	if (is_early && level == before)
		level = before + 1;
	if (level > before) {
		target->slot = level;
		if (growth__slot(target, level) > growth__slot(target, before))
			growth__sample(target, pages, before, level);
	} else if (level < before) {
		/* A slot that was met by counting is behind its threshold until the batch is over.
		 */
		level = growth_targets__level(pages + target->batch_pages, target->slot_pages);
		if (level < before)
			target->slot = level;
	}
	seen->countdown = growth__countdown(target, pages, is_early);
	return 0;
}

static __always_inline int growth__event(struct mm_struct *mm, __u64 pages)
{
	struct growth_seen *seen = bpf_map_lookup_elem(&growth_seens, &(__u32){0});

	if (!seen)
		return 0;
	if (seen->mm != (__u64)mm || seen->pages != pages) {
		seen->mm = (__u64)mm;
		seen->pages = pages;
		seen->countdown = 0;
		return growth__look(seen, mm, pages, false);
	}
	if (!seen->countdown || --seen->countdown)
		return 0;
	return growth__look(seen, mm, pages, true);
}

/* A plain load, which the verifier allows below a tp_btf argument, where each page fault comes
 * here. Up to 6.1 one in 64 does, and 5.10's verifier knows no field within an array of structs. */
SEC("tp_btf/rss_stat")
int BPF_PROG(on_growth_btf, struct mm_struct *mm, int member)
{
	long pages = 0;

	if (member != MM_ANONPAGES)
		return 0;
	if (compat__rss_stat_is_batched())
		return growth__event(mm, compat__rss_pages(mm, MM_ANONPAGES));
	if (bpf_core_field_exists(mm->rss_stat))
		pages = mm->rss_stat[MM_ANONPAGES].count;
	return growth__event(mm, pages > 0 ? pages : 0);
}

SEC("raw_tp/rss_stat")
int BPF_PROG(on_growth_raw, struct mm_struct *mm, int member)
{
	if (member != MM_ANONPAGES)
		return 0;
	return growth__event(mm, compat__rss_pages(mm, MM_ANONPAGES));
}
