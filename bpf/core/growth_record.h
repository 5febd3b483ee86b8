/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layer 2: the registers, the stack and the Python frames of the current thread. x86-64 only. */
#pragma once

#include "growth_targets.h"
#include "task.h"

struct growth_record {
	struct oomw_growth_sample sample;
	__u8 stack[OOMW_GROWTH_STACK_MAX];
};

/* One entry for each CPU: a per-CPU map's values end at 32 KiB. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct growth_record);
} growth_records SEC(".maps");

/* Of x86-64: fixed, since ptrace shows it. */
struct growth_registers {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
	    flags, sp, ss;
};

#define GROWTH_RECORD_KERNEL_STACK 16384
#define GROWTH_RECORD_CS64 0x33

/* The registers that user space had when it entered the kernel: a fault or a system call. */
static __always_inline bool growth_record__read_registers(struct growth_registers *registers)
{
	const void *saved;

	/* The helper came in 5.15. Before, nothing lies between the registers and the stack's end.
	 */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		saved = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	else
		saved = BPF_CORE_READ(task__current(), stack) + GROWTH_RECORD_KERNEL_STACK -
			sizeof(*registers);
	return !bpf_probe_read_kernel(registers, sizeof(*registers), saved) &&
	       registers->cs == GROWTH_RECORD_CS64;
}

static __always_inline void growth_record__set_registers(struct oomw_growth_sample *sample,
							 const struct growth_registers *from)
{
	__u64 *to = sample->registers;

	to[0] = from->ax;
	to[1] = from->dx;
	to[2] = from->cx;
	to[3] = from->bx;
	to[4] = from->si;
	to[5] = from->di;
	to[6] = from->bp;
	to[7] = from->sp;
	to[8] = from->r8;
	to[9] = from->r9;
	to[10] = from->r10;
	to[11] = from->r11;
	to[12] = from->r12;
	to[13] = from->r13;
	to[14] = from->r14;
	to[15] = from->r15;
	to[16] = from->ip;
}

/* Above the main thread's first frame lie its arguments; a thread's descriptor lies on top of its
 * stack. */
#define GROWTH_RECORD_MAIN_MAX (64ULL << 20)
#define GROWTH_RECORD_THREAD_MAX (256ULL << 20)
#define GROWTH_RECORD_ABOVE_START 64
#define GROWTH_RECORD_UNKNOWN_BYTES 4096

/* Where the thread's own data lie, by which it knows itself. 0: not known. */
static __always_inline __u64 growth_record__thread_pointer(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread.fsbase))
		return BPF_CORE_READ(task, thread.fsbase);
	return 0;
}

static __always_inline __u64 growth_record__stack_bytes(struct task_struct *task, __u64 pointer)
{
	__u64 start = BPF_CORE_READ(task, mm, start_stack);
	__u64 descriptor;

	if (start > pointer && start - pointer < GROWTH_RECORD_MAIN_MAX)
		return start - pointer + GROWTH_RECORD_ABOVE_START;
	descriptor = growth_record__thread_pointer(task);
	if (descriptor > pointer && descriptor - pointer < GROWTH_RECORD_THREAD_MAX)
		return descriptor - pointer;
	return 0;
}

/* Of a stack whose end is not known, what lies in the same page can always be read. */
static __always_inline void growth_record__read_stack(struct growth_record *record, __u64 pointer,
						      __u32 max)
{
	__u64 bytes = growth_record__stack_bytes(task__current(), pointer);
	__u64 wanted = bytes ? bytes : GROWTH_RECORD_UNKNOWN_BYTES;

	if (wanted > max)
		wanted = max;
	asm volatile("" : "+r"(wanted));
	if (wanted > OOMW_GROWTH_STACK_MAX)
		wanted = OOMW_GROWTH_STACK_MAX;
	if (bpf_probe_read_user(record->stack, wanted, (void *)pointer)) {
		wanted =
		    GROWTH_RECORD_UNKNOWN_BYTES - (pointer & (GROWTH_RECORD_UNKNOWN_BYTES - 1));
		if (wanted > max)
			wanted = max;
		asm volatile("" : "+r"(wanted));
		if (wanted > GROWTH_RECORD_UNKNOWN_BYTES)
			wanted = GROWTH_RECORD_UNKNOWN_BYTES;
		if (bpf_probe_read_user(record->stack, wanted, (void *)pointer))
			wanted = 0;
	}
	record->sample.stack_bytes = wanted;
	if (!wanted)
		record->sample.flags |= OOMW_GROWTH_NO_STACK;
	else if (!bytes || bytes > wanted)
		record->sample.flags |= OOMW_GROWTH_STACK_CUT;
}

static __always_inline __u64 growth_record__follow(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

/* The innermost frame of this thread. 0: it has none, or another thread runs Python. */
static __always_inline __u64 growth_record__first_frame(const struct oomw_growth_python *layout)
{
	__u64 own = growth_record__thread_pointer(task__current());
	__u64 thread = growth_record__follow(layout->thread_state);
	__u64 frame;

	if (!own || !thread || growth_record__follow(thread + layout->id_of_thread) != own)
		return 0;
	frame = growth_record__follow(thread + layout->frame_of_thread);
	if (frame && layout->has_cframe)
		frame = growth_record__follow(frame + layout->frame_of_cframe);
	return frame;
}

static __always_inline void growth_record__read_python(struct oomw_growth_sample *sample)
{
	struct oomw_growth_python *layout = bpf_map_lookup_elem(&growth_python, &sample->tgid);
	__u64 frame;
	__u32 count = 0;

	if (!layout || !layout->thread_state)
		return;
	frame = growth_record__first_frame(layout);
	for (__u32 i = 0; i < OOMW_GROWTH_PYTHON_MAX && frame; i++) {
		struct oomw_python_frame *to = &sample->python[i];

		if (bpf_probe_read_user(&to->code, sizeof(to->code),
					(void *)(frame + layout->code_of_frame)))
			break;
		to->instruction = growth_record__follow(frame + layout->instruction_of_frame);
		frame = growth_record__follow(frame + layout->previous_of_frame);
		count = i + 1;
	}
	sample->python_frames = count;
	if (frame)
		sample->flags |= OOMW_GROWTH_PYTHON_CUT;
}
