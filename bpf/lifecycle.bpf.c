// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sched_process_exec, sched_process_exit, cgroup_mkdir, cgroup_rmdir: the processes and cgroups.
 * User space reads the rest of an identity from /proc while the process lives; after a kill it is
 * gone.
 *
 * The exec and exit hooks run in the task itself, by the thousand in a shell script, a millisecond
 * apart, when nothing they touch is in a cache. So they send only fields that are used.
 */
#include "core/emit.h"
#include "core/go_targets.h"
#include "core/memcg.h"
#include "core/task.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline int exec__report(struct task_struct *task)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct oomw_exec *exec;

	/* Before the event: what user space registers when it sees the event is the new program. */
	go_targets__forget(tgid);
	exec = emit__reserve(struct oomw_exec, OOMW_EVENT_EXEC, OOMW_LOST_RINGBUF_PROCESS);
	if (!exec)
		return 0;
	exec->pid = tgid;
	exec->uid = (__u32)bpf_get_current_uid_gid(); /* of the init user namespace */
	/* exec() leaves one thread, which is the leader. */
	exec->start_boottime_ns = BPF_CORE_READ(task, start_boottime);
	exec->cgroup_id = memcg__id(memcg__of_task(task));
	bpf_get_current_comm(exec->comm, sizeof(exec->comm));
	emit__submit_lazily(exec, exec->header.time_ns);
	return 0;
}

/* Two threads that exit at once may both see live == 0, so the kernel's own flag is used where the
 * hook carries it; without it a process may be reported twice. */
static __always_inline bool exit__is_last_thread(__u64 *ctx, struct task_struct *task)
{
	if (cfg_facts.exit_has_group_dead)
		return (ctx[1] & 0xff) != 0;
	return BPF_CORE_READ(task, signal, live.counter) == 0;
}

static __always_inline int exit__report(__u64 *ctx, struct task_struct *task)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tgid = pid_tgid >> 32;
	struct oomw_exit *exit;

	if (!exit__is_last_thread(ctx, task))
		return 0;
	/* A walk under way has its own copy. */
	go_targets__forget(tgid);
	exit = emit__reserve(struct oomw_exit, OOMW_EVENT_EXIT, OOMW_LOST_RINGBUF_PROCESS);
	if (!exit)
		return 0;
	exit->tgid = tgid;
	exit->start_boottime_ns = (__u32)pid_tgid == tgid ? BPF_CORE_READ(task, start_boottime)
							  : task__start_boottime_ns(task);
	emit__submit_lazily(exit, exit->header.time_ns);
	return 0;
}

/* On v1 the same directory is made once in every hierarchy. */
static __always_inline bool cgroup__has_memory(struct cgroup *cgroup)
{
	__u32 index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);

	return BPF_CORE_READ(cgroup, root, subsys_mask) >> index & 1;
}

static __always_inline __u64 cgroup__parent_id(struct cgroup *cgroup)
{
	struct cgroup_subsys_state *parent = BPF_CORE_READ(cgroup, self.parent);

	return parent ? BPF_CORE_READ(parent, cgroup, kn, id) : 0;
}

static __always_inline int cgroup__report(__u32 event_type, struct cgroup *cgroup, const char *path)
{
	struct oomw_cgroup *record;
	long length;

	if (!cgroup__has_memory(cgroup))
		return 0;
	record = emit__reserve(struct oomw_cgroup, event_type, OOMW_LOST_RINGBUF_CGROUP);
	if (!record)
		return 0;
	record->cgroup_id = BPF_CORE_READ(cgroup, kn, id);
	record->parent_cgroup_id = cgroup__parent_id(cgroup);
	record->level = BPF_CORE_READ(cgroup, level);
	length = bpf_probe_read_kernel_str(record->path, sizeof(record->path), path);
	record->path_len = length > 0 ? length - 1 : 0;
	emit__submit(record);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_btf, struct task_struct *task)
{
	return exec__report(task);
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_exec_raw, struct task_struct *task)
{
	return exec__report(task);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_btf, struct task_struct *task)
{
	return exit__report(ctx, task);
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(on_exit_raw, struct task_struct *task)
{
	return exit__report(ctx, task);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_cgroup_mkdir_btf, struct cgroup *cgroup, const char *path)
{
	return cgroup__report(OOMW_EVENT_CGROUP_MKDIR, cgroup, path);
}

SEC("raw_tp/cgroup_mkdir")
int BPF_PROG(on_cgroup_mkdir_raw, struct cgroup *cgroup, const char *path)
{
	return cgroup__report(OOMW_EVENT_CGROUP_MKDIR, cgroup, path);
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_cgroup_rmdir_btf, struct cgroup *cgroup, const char *path)
{
	return cgroup__report(OOMW_EVENT_CGROUP_RMDIR, cgroup, path);
}

SEC("raw_tp/cgroup_rmdir")
int BPF_PROG(on_cgroup_rmdir_raw, struct cgroup *cgroup, const char *path)
{
	return cgroup__report(OOMW_EVENT_CGROUP_RMDIR, cgroup, path);
}
