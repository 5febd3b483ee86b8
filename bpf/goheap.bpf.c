// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies the heap profile of a Go process that the OOM killer has chosen. These programs run in the
 * victim itself, between SIGKILL and the end of its memory, and follow the runtime's list of
 * profile buckets. No race: the memory cannot go before the thread that reads it. Of a CPython
 * process they count the pools of its allocator instead (core/py_walk.h).
 *
 * Three steps. signal_generate: the kernel itself sends SIGKILL to a registered process; the hook
 * runs under the victim's siglock, so before any of its threads can see the signal. mark_victim:
 * the sender was the OOM killer. Then the first thread to exit walks: in sched_process_exit where
 * that still has the mm (from 6.16 on; such a tracepoint carries group_dead), else in
 * signal_deliver, which has it everywhere but holds the siglock with interrupts off. What is left
 * of the walk's time goes to its goroutines. The victim's memory is hostile.
 */
#include "core/go_goroutines.h"
#include "core/memcg.h"
#include "core/py_walk.h"
#include "core/task.h"
#include "core/victims.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIGKILL 9
#define SEND_SIG_PRIV 1 /* struct kernel_siginfo * of a signal that the kernel itself sends */

/* Brent's: an address met again after a power of two is a loop. Finds any within three rounds. */
static __always_inline bool walk__is_loop(struct oomw_go_slot *slot)
{
	if (slot->cursor == slot->tortoise)
		return true;
	if (++slot->steps >= slot->lap) {
		slot->tortoise = slot->cursor;
		slot->steps = 0;
		slot->lap = slot->lap * 2 + 1;
	}
	return false;
}

/* One bucket of the list; 1 ends the walk. */
static long walk__step(__u32 index, struct walk_context *context)
{
	struct oomw_go_slot *slot = context->slot;

	if (!slot->cursor)
		return walk__stop(slot, OOMW_GO_STOP_END);
	if (index >= cfg_settings.walk_max_buckets)
		return walk__stop(slot, OOMW_GO_STOP_BUCKET_LIMIT);
	if (walk__is_out_of_time(slot, index))
		return walk__stop(slot, OOMW_GO_STOP_TIME_LIMIT);
	if (walk__is_loop(slot))
		return walk__stop(slot, OOMW_GO_STOP_LOOP);
	if (!bucket__read_header(slot))
		return walk__stop(slot, OOMW_GO_STOP_FAULT);
	if (!bucket__is_plausible(slot))
		return walk__stop(slot, OOMW_GO_STOP_MALFORMED);
	if (!bucket__read_body(slot))
		return walk__stop(slot, OOMW_GO_STOP_FAULT);
	if (!bucket__store(slot)) {
		emit__count_lost(OOMW_LOST_WALK_POOL);
		return walk__stop(slot, OOMW_GO_STOP_POOL_FULL);
	}
	slot->cursor = slot->header[GO_ALLNEXT];
	return 0;
}

static __always_inline long goroutines__stop(struct oomw_go_slot *slot, enum oomw_go_stop why)
{
	slot->walk.goroutines_stop = why;
	return 1;
}

/* One goroutine of the list; 1 ends it. */
static long goroutines__step(__u32 index, struct walk_context *context)
{
	struct oomw_go_slot *slot = context->slot;

	if (index >= slot->walk.goroutines)
		return goroutines__stop(slot, OOMW_GO_STOP_END);
	if (walk__is_out_of_time(slot, index))
		return goroutines__stop(slot, OOMW_GO_STOP_TIME_LIMIT);
	if (!(index & (GO_G_BATCH - 1)) && !goroutine__read_batch(slot, index))
		return goroutines__stop(slot, OOMW_GO_STOP_FAULT);
	slot->cursor = slot->body[index & (GO_G_BATCH - 1)];
	if (!slot->cursor || slot->cursor & 7)
		return goroutines__stop(slot, OOMW_GO_STOP_MALFORMED);
	/* None is in the list twice. */
	if (walk__is_loop(slot))
		return goroutines__stop(slot, OOMW_GO_STOP_LOOP);
	if (!goroutine__read(slot, slot->cursor))
		slot->walk.goroutines_absent++;
	else if (!goroutine__count(slot, slot->cursor))
		return goroutines__stop(slot, OOMW_GO_STOP_MALFORMED);
	return 0;
}

static __always_inline void goroutines__run(struct oomw_go_slot *slot)
{
	struct walk_context context = {.slot = slot};
	__u64 slice[2];

	if (!slot->target.goroutines ||
	    bpf_probe_read_user(slice, sizeof(slice), (void *)slot->target.goroutines))
		return;
	slot->list = slice[0];
	slot->walk.goroutines = slice[1];
	slot->walk.flags |= OOMW_GO_WALK_HAS_GOROUTINES;
	slot->walk.goroutines_stop = OOMW_GO_STOP_BUCKET_LIMIT;
	slot->tortoise = slot->steps = 0;
	slot->lap = 1;
	bpf_loop(OOMW_GO_MAX_GOROUTINES, goroutines__step, &context, 0);
}

static __always_inline void walk__read_cycle(struct oomw_go_slot *slot, __u32 *cycle, __u32 flag)
{
	__u64 address = slot->target.cycle;

	if (address && !bpf_probe_read_user(cycle, sizeof(*cycle), (void *)address))
		slot->walk.flags |= flag;
}

static __always_inline void walk__read_rate(struct oomw_go_slot *slot)
{
	struct oomw_go_walk *walk = &slot->walk;
	void *address = (void *)slot->target.rate;

	if (address && !bpf_probe_read_user(&walk->rate, sizeof(walk->rate), address))
		walk->flags |= OOMW_GO_WALK_HAS_RATE;
}

static __always_inline void walk__begin(struct oomw_go_slot *slot, struct task_struct *task)
{
	struct oomw_go_walk *walk = &slot->walk;

	walk->header.type = OOMW_EVENT_GO_WALK;
	walk->header.size = sizeof(*walk);
	walk->tgid = BPF_CORE_READ(task, tgid);
	walk->start_boottime_ns = task__start_boottime_ns(task);
	walk->cgroup_id = memcg__id(memcg__of_task(task));
	walk->started_ns = bpf_ktime_get_ns();
	slot->allowed_ns = go_walks__allowed_ns(go_walks__payer(slot), walk->started_ns);
	walk->text = slot->target.text;
	walk->buckets = slot->target.buckets;
	walk->first_chunk = OOMW_GO_NO_CHUNK;
	slot->chunk = OOMW_GO_NO_CHUNK;
	slot->lap = 1;
	walk__read_rate(slot);
	walk__read_cycle(slot, &walk->cycle_before, OOMW_GO_WALK_HAS_CYCLE);
}

static __always_inline void walk__end(struct oomw_go_slot *slot)
{
	struct oomw_go_walk *walk = &slot->walk;
	__u64 now;

	now = bpf_ktime_get_ns();
	walk->header.time_ns = now;
	walk->duration_ns = now - walk->started_ns;
	go_walks__charge(go_walks__payer(slot), walk->duration_ns);
	if (go_walks__set(slot, OOMW_GO_SLOT_DONE) & OOMW_GO_SLOT_MARKED)
		go_walks__report(slot);
}

static __always_inline void walk__run(struct oomw_go_slot *slot)
{
	struct oomw_go_walk *walk = &slot->walk;
	struct walk_context context = {.slot = slot};

	if (bpf_probe_read_user(&walk->head, sizeof(walk->head), (void *)walk->buckets)) {
		walk->stop = OOMW_GO_STOP_FAULT;
		return;
	}
	slot->cursor = walk->head;
	if (slot->cursor & 7) {
		walk->stop = OOMW_GO_STOP_MALFORMED;
		return;
	}
	bpf_loop(cfg_settings.walk_max_buckets + 1, walk__step, &context, 0);
}

/* `task` is current and exiting: the first thread of a victim that has the mm walks. */
static __always_inline int victim__leave(struct task_struct *task)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct oomw_go_slot *slot = bpf_map_lookup_elem(&go_walks, &tgid);

	if (!slot || !(slot->state & OOMW_GO_SLOT_READY) || slot->state & OOMW_GO_SLOT_CLAIMED)
		return 0;
	if (!BPF_CORE_READ(task, mm) ||
	    !go_targets__is_of(&slot->target, task__start_boottime_ns(task)))
		return 0;
	if (go_walks__set(slot, OOMW_GO_SLOT_CLAIMED) & OOMW_GO_SLOT_CLAIMED)
		return 0;
	walk__begin(slot, task);
	if (slot->target.pools.arenas) {
		pools__run(slot);
	} else {
		walk__run(slot);
		walk__read_cycle(slot, &slot->walk.cycle_after, OOMW_GO_WALK_HAS_CYCLE);
		goroutines__run(slot);
	}
	walk__end(slot);
	/* Its threads may still be marked, one by one, but it is walked once. */
	go_targets__forget(tgid);
	return 0;
}

/* The kernel itself sends SIGKILL to victims of the OOM killer and, from an exiting init, to the
 * rest of its pid namespace: these are left alone. Others are rare and cost a walk that is dropped.
 */
static __always_inline int victim__expect(int sig, void *info, struct task_struct *victim)
{
	if (sig != SIGKILL || (__u64)info != SEND_SIG_PRIV)
		return 0;
	if (BPF_CORE_READ(task__current(), flags) & PF_EXITING)
		return 0;
	victims__note(BPF_CORE_READ(victim, tgid));
	go_walks__slot_of(BPF_CORE_READ(victim, tgid), task__start_boottime_ns(victim));
	return 0;
}

static __always_inline int victim__mark(__u32 tgid, __u64 start_boottime_ns)
{
	struct oomw_go_slot *slot = go_walks__slot_of(tgid, start_boottime_ns);
	__u32 before;

	if (!slot)
		return 0;
	before = go_walks__set(slot, OOMW_GO_SLOT_MARKED);
	if (before & OOMW_GO_SLOT_DONE && !(before & OOMW_GO_SLOT_MARKED))
		go_walks__report(slot);
	return 0;
}

/* The killer marks the leader unless that has exited already, and a thread that is exiting anyway
 * marks itself: both are found. */
static __always_inline int victim__mark_pid(__u32 pid)
{
	__u64 current = bpf_get_current_pid_tgid();

	return victim__mark((__u32)current == pid ? current >> 32 : pid, 0);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_heap_expect_btf, int sig, void *info, struct task_struct *victim)
{
	return victim__expect(sig, info, victim);
}

SEC("raw_tp/signal_generate")
int BPF_PROG(on_heap_expect_raw, int sig, void *info, struct task_struct *victim)
{
	return victim__expect(sig, info, victim);
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_heap_victim_task_btf, struct task_struct *victim)
{
	return victim__mark(BPF_CORE_READ(victim, tgid), task__start_boottime_ns(victim));
}

SEC("raw_tp/mark_victim")
int BPF_PROG(on_heap_victim_task_raw, struct task_struct *victim)
{
	return victim__mark(BPF_CORE_READ(victim, tgid), task__start_boottime_ns(victim));
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_heap_victim_pid_btf, int pid)
{
	return victim__mark_pid(pid);
}

SEC("raw_tp/mark_victim")
int BPF_PROG(on_heap_victim_pid_raw, int pid)
{
	return victim__mark_pid(pid);
}

SEC("tp_btf/signal_deliver")
int BPF_PROG(on_heap_deliver_btf, int sig)
{
	return sig == SIGKILL ? victim__leave(task__current()) : 0;
}

SEC("raw_tp/signal_deliver")
int BPF_PROG(on_heap_deliver_raw, int sig)
{
	return sig == SIGKILL ? victim__leave(task__current()) : 0;
}

/* Through perf, whose probes run with preemption off. Where BPF's own do not (7.0), a walk may be
 * preempted, and meanwhile the kernel skips the program for any other task that exits on that CPU:
 * of 16 victims at the same time 10 were missed. */
SEC("tracepoint/sched/sched_process_exit")
int on_heap_exit_perf(void *ctx)
{
	return victim__leave(task__current());
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_heap_exit_btf, struct task_struct *task)
{
	return victim__leave(task);
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(on_heap_exit_raw, struct task_struct *task)
{
	return victim__leave(task);
}
