// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The heap profile of a Go process that the OOM killer has chosen, copied out of it by itself:
 * these programs run in the victim, between SIGKILL and the end of its memory, and follow the
 * runtime's list of profile buckets. No race: the memory cannot go before the thread that reads.
 *
 * Three steps. signal_generate: the kernel itself sends SIGKILL to a registered process; this
 * comes under the victim's siglock, so before any of its threads can see the signal. mark_victim:
 * it was the OOM killer. Then the first thread to leave walks: in sched_process_exit where that
 * still has the mm (6.16; it says so by carrying group_dead), else in signal_deliver, which has it
 * everywhere but holds the siglock with interrupts off. All that the victim says is hostile.
 */
#include "core/go_walks.h"
#include "core/memcg.h"
#include "core/task.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SIGKILL 9
#define SEND_SIG_PRIV 1	 /* struct kernel_siginfo * of a signal that the kernel itself sends */
#define GO_MEM_PROFILE 1 /* bucket.typ */
#define GO_HEADER_BYTES 48
#define GO_SHORT_WORDS 8 /* of a record from Go 1.27 on */
#define GO_MAX_BUCKET_BYTES                                                                        \
	(sizeof(struct oomw_go_bucket) + 8 * (OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS))
/* A clock read every so many buckets: 20 us of walk at 300 ns each. */
#define GO_CLOCK_MASK 63

enum go_header { GO_NEXT, GO_ALLNEXT, GO_TYPE, GO_HASH, GO_SIZE, GO_DEPTH };

struct walk_context {
	struct oomw_go_slot *slot;
};

/* Keeps the compiler from reasoning about a bound that the verifier must see tested. */
#define hide(value) asm volatile("" : "+r"(value))

static __always_inline long walk__stop(struct oomw_go_slot *slot, enum oomw_go_stop why)
{
	slot->walk.stop = why;
	return 1;
}

/* Brent's: an address met again after a power of two is a loop. Meets any within three rounds. */
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

static __always_inline bool bucket__read_header(struct oomw_go_slot *slot)
{
	return !bpf_probe_read_user(slot->header, sizeof(slot->header), (void *)slot->cursor);
}

static __always_inline bool bucket__is_plausible(const struct oomw_go_slot *slot)
{
	__u64 depth = slot->header[GO_DEPTH];

	return slot->header[GO_TYPE] == GO_MEM_PROFILE && depth <= OOMW_GO_MAX_DEPTH &&
	       !(slot->header[GO_ALLNEXT] & 7);
}

static __always_inline bool bucket__read_range(struct oomw_go_slot *slot, __u32 at_word,
					       __u64 words, __u64 offset)
{
	hide(words);
	if (at_word > OOMW_GO_MAX_PCS || words > OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS)
		return false;
	if (at_word + words > OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS)
		return false;
	return !bpf_probe_read_user(slot->body + at_word, words * 8,
				    (void *)(slot->cursor + GO_HEADER_BYTES + offset));
}

/* The stack and the record behind it, in one read unless the stack is clipped. */
static __always_inline bool bucket__read_words(struct oomw_go_slot *slot, __u64 record_words)
{
	__u64 depth = slot->header[GO_DEPTH];

	slot->record_words = record_words;
	if (depth <= OOMW_GO_MAX_PCS) {
		slot->pc_count = depth;
		return bucket__read_range(slot, 0, depth + record_words, 0);
	}
	slot->pc_count = OOMW_GO_MAX_PCS;
	return bucket__read_range(slot, 0, OOMW_GO_MAX_PCS, 0) &&
	       bucket__read_range(slot, OOMW_GO_MAX_PCS, record_words, depth * 8);
}

/* The last bucket of a mapping may have the short record, with nothing readable behind it. */
static __always_inline bool bucket__read_body(struct oomw_go_slot *slot)
{
	if (slot->target.record_words == GO_SHORT_WORDS)
		return bucket__read_words(slot, GO_SHORT_WORDS);
	return bucket__read_words(slot, OOMW_GO_MAX_RECORD_WORDS) ||
	       bucket__read_words(slot, GO_SHORT_WORDS);
}

/* Counts in memory, since a scalar that differs between the ways out of a loop would make the
 * verifier follow each of them to the end: 128 times. */
static __noinline __u32 bucket__stored_words(struct oomw_go_slot *slot)
{
	__u32 first = slot->pc_count, stored = 0;

	for (__u32 i = 0; i < OOMW_GO_MAX_RECORD_WORDS; i++) {
		hide(first);
		if (i >= slot->record_words || first > OOMW_GO_MAX_PCS)
			break;
		if (slot->body[first + i])
			stored = i + 1;
	}
	return stored;
}

/* As 4-byte offsets, padded to 8; what they left out: any bit above 31 says that they do not fit.
 */
static __noinline __u64 bucket__write_offsets(struct oomw_go_slot *slot, __u32 *to)
{
	__u64 text = slot->target.text, high = 0;
	__u32 count = slot->pc_count;

	/* The padding, where there is any; else written over by the loop or the record. */
	to[count & (OOMW_GO_MAX_PCS - 1)] = 0;
	hide(high);
	for (__u32 i = 0; i < OOMW_GO_MAX_PCS; i++) {
		__u64 offset;

		if (i >= count)
			break;
		offset = slot->body[i] - text;
		high |= offset;
		to[i] = offset;
	}
	return high >> 32;
}

/* Words [from, from + count) of the body. */
static __noinline void bucket__write_words(struct oomw_go_slot *slot, __u64 *to, __u32 from,
					   __u32 count)
{
	if (from > OOMW_GO_MAX_PCS)
		return;
	for (__u32 i = 0; i < OOMW_GO_MAX_PCS; i++) {
		if (i >= count || from + i >= OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS)
			break;
		to[i] = slot->body[from + i];
	}
}

/* The chunk being filled if it has room for the largest bucket, else the next one; NULL: none. */
static __noinline struct oomw_go_chunk *chunk__with_room(struct oomw_go_slot *slot)
{
	struct oomw_go_chunk *last = bpf_map_lookup_elem(&go_chunks, &slot->chunk);
	struct oomw_go_chunk *chunk;
	__u32 number;

	if (last && last->used <= OOMW_GO_CHUNK_DATA_BYTES - GO_MAX_BUCKET_BYTES)
		return last;
	if (bpf_map_pop_elem(&go_free_chunks, &number))
		return NULL;
	chunk = bpf_map_lookup_elem(&go_chunks, &number);
	if (!chunk)
		return NULL;
	chunk->next = OOMW_GO_NO_CHUNK;
	chunk->used = 0;
	chunk->started_ns = slot->walk.started_ns;
	if (last)
		last->next = number;
	else
		slot->walk.first_chunk = number;
	slot->chunk = number;
	slot->walk.chunk_count++;
	return chunk;
}

static __always_inline void bucket__fill_header(struct oomw_go_bucket *to,
						const struct oomw_go_slot *slot)
{
	to->address = slot->cursor;
	to->hash = slot->header[GO_HASH];
	to->size = slot->header[GO_SIZE];
	to->stack_depth = slot->header[GO_DEPTH];
	to->pc_count = slot->pc_count;
	to->record_words = slot->record_words;
	to->reserved = 0;
}

/* Bytes of the stack as stored, a multiple of 8. */
static __always_inline __u32 bucket__write_stack(struct oomw_go_bucket *to,
						 struct oomw_go_slot *slot)
{
	__u32 *pcs = (void *)(to + 1);
	__u32 count = slot->pc_count;

	to->pc_bytes = 4;
	if (!bucket__write_offsets(slot, pcs))
		return (count * 4 + 7) & ~7U;
	to->pc_bytes = 8;
	bucket__write_words(slot, (void *)pcs, 0, count);
	return count * 8;
}

static __always_inline bool bucket__store(struct oomw_go_slot *slot)
{
	struct oomw_go_chunk *chunk = chunk__with_room(slot);
	struct oomw_go_bucket *to;
	__u32 used, stack_bytes, stored;

	if (!chunk)
		return false;
	used = chunk->used;
	hide(used);
	if (used > OOMW_GO_CHUNK_DATA_BYTES - GO_MAX_BUCKET_BYTES)
		return false;
	to = (void *)(chunk->data + used);
	bucket__fill_header(to, slot);
	stack_bytes = bucket__write_stack(to, slot);
	stored = bucket__stored_words(slot);
	to->stored_words = stored;
	hide(stack_bytes);
	if (stack_bytes > 8 * OOMW_GO_MAX_PCS)
		return false;
	bucket__write_words(slot, (void *)(to + 1) + stack_bytes, slot->pc_count, stored);
	used += sizeof(*to) + stack_bytes + stored * 8;
	slot->walk.bytes += used - chunk->used;
	chunk->used = used;
	slot->walk.walked++;
	slot->walk.clipped += slot->header[GO_DEPTH] > OOMW_GO_MAX_PCS;
	return true;
}

static __always_inline bool walk__is_out_of_time(const struct oomw_go_slot *slot, __u32 index)
{
	return !(index & GO_CLOCK_MASK) &&
	       bpf_ktime_get_ns() - slot->walk.started_ns > cfg_settings.walk_max_ns;
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

	walk__read_cycle(slot, &walk->cycle_after, OOMW_GO_WALK_HAS_CYCLE);
	now = bpf_ktime_get_ns();
	walk->header.time_ns = now;
	walk->duration_ns = now - walk->started_ns;
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

/* `task` is current and on its way out: the first thread of a victim that has the mm walks. */
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
	walk__run(slot);
	walk__end(slot);
	/* Its threads may still be marked, one by one, but it is walked once. */
	go_targets__forget(tgid);
	return 0;
}

/* The kernel sends SIGKILL by itself to victims of the OOM killer and, from a dying init, to the
 * rest of its pid namespace: those are left alone. Others are rare and cost a walk nobody sees. */
static __always_inline int victim__expect(int sig, void *info, struct task_struct *victim)
{
	if (sig != SIGKILL || (__u64)info != SEND_SIG_PRIV)
		return 0;
	if (BPF_CORE_READ(task__current(), flags) & PF_EXITING)
		return 0;
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

/* The killer marks the leader unless that has gone already, and a thread that dies anyway marks
 * itself: both are found. */
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
