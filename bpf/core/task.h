/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layer 2: plain facts about a task. Uses probe reads, which work in every program type. */
#pragma once

#include "kernel_types.h"

static __always_inline struct task_struct *task__current(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

/* CLOCK_BOOTTIME ns of the process, that is of its leader. With the tgid it names a process. */
static __always_inline __u64 task__start_boottime_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline __u32 task__uid(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_cred, uid.val);
}

static __always_inline void task__read_comm(struct task_struct *task, char *comm)
{
	BPF_CORE_READ_STR_INTO((char(*)[16])comm, task, comm);
}
