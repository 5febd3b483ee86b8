// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * oom:mark_victim: the OOM killer has chosen, SIGKILL is queued, `current` is the task whose
 * allocation failed. Two signatures exist: (int pid) at first, (task, uid) later and in stable
 * backports, so BTF decides which pair of programs is loaded.
 *
 * oom_kill_process(oc, message), with fentry: one decision, with all its marks between its entry
 * and its return. Only here does the kernel name the limit's owner. A task that the killer finds
 * exiting already is marked without a decision.
 */
#include "core/decision.h"
#include "core/emit.h"
#include "core/memcg.h"
#include "core/task.h"
#include "core/victims.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A leader that has exited has no mm, but its threads do: unknown then, not zero. */
static __always_inline void kill__fill_rss(struct oomw_kill *kill, struct mm_struct *mm)
{
	if (!mm) {
		kill->anon_bytes = kill->file_bytes = kill->shmem_bytes = OOMW_UNKNOWN_U64;
		kill->pgtables_bytes = OOMW_UNKNOWN_U64;
		return;
	}
	kill->anon_bytes = memcg__pages_to_bytes(compat__rss_pages(mm, MM_ANONPAGES));
	kill->file_bytes = memcg__pages_to_bytes(compat__rss_pages(mm, MM_FILEPAGES));
	kill->shmem_bytes = memcg__pages_to_bytes(compat__rss_pages(mm, MM_SHMEMPAGES));
	kill->pgtables_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
	kill->total_vm_bytes = memcg__pages_to_bytes(BPF_CORE_READ(mm, total_vm));
}

static __always_inline void kill__fill_victim(struct oomw_kill *kill, struct task_struct *victim)
{
	kill->flags |= OOMW_KILL_VICTIM_READ;
	kill->victim_tgid = BPF_CORE_READ(victim, tgid);
	kill->victim_uid = task__uid(victim);
	kill->victim_start_boottime_ns = task__start_boottime_ns(victim);
	kill->victim_cgroup_id = memcg__id(memcg__of_task(victim));
	kill->oom_score_adj = BPF_CORE_READ(victim, signal, oom_score_adj);
	task__read_comm(victim, kill->victim_comm);
	kill__fill_rss(kill, BPF_CORE_READ(victim, mm));
}

static __always_inline void kill__fill_trigger(struct oomw_kill *kill, struct task_struct *trigger)
{
	kill->trigger_pid = BPF_CORE_READ(trigger, pid);
	kill->trigger_tgid = BPF_CORE_READ(trigger, tgid);
	kill->trigger_cgroup_id = memcg__id(memcg__of_task(trigger));
	task__read_comm(trigger, kill->trigger_comm);
}

/* The victim of a memcg's OOM lives below that memcg. If it does not, the level at its limit has
 * nothing to do with this kill. The kill may come from a limit lowered below usage, where the
 * trigger is its writer and lives elsewhere. */
static __always_inline bool kill__find_owner(struct task_struct *trigger,
					     struct task_struct *victim, struct memcg_level *owner)
{
	bool is_at_limit;

	/* What others have freed meanwhile may leave no level near its limit. */
	if (memcg__find_oom_locked(memcg__of_task(victim ?: trigger), owner))
		return true;
	is_at_limit = memcg__find_at_limit(memcg__charged_by(trigger), false, owner);
	if (!victim)
		return is_at_limit;
	if (is_at_limit && memcg__is_within(memcg__of_task(victim), owner->memcg))
		return true;
	return memcg__find_over_limit(memcg__of_task(victim), owner);
}

/* The limit's owner; memcg NULL: the node. Resolved, except where v1 names it. */
static __always_inline struct memcg_level
kill__resolve_owner(struct oomw_kill *kill, struct task_struct *trigger, struct task_struct *victim)
{
	struct mem_cgroup *named = compat__memcg_in_oom(trigger);
	struct memcg_level owner = {};

	if (named) {
		kill->flags |= OOMW_KILL_OWNER_EXACT;
		return memcg__level(named);
	}
	if (!kill__find_owner(trigger, victim, &owner))
		owner.memcg = NULL;
	return owner;
}

static __always_inline struct memcg_level kill__take_decision(struct oomw_kill *kill,
							      const struct oom_decision *decision)
{
	kill->flags |= OOMW_KILL_OWNER_EXACT;
	if (!decision->limit.memcg)
		kill->flags |= OOMW_KILL_NODE_WIDE;
	kill->decision_ns = decision->time_ns;
	kill->total_bytes = memcg__pages_to_bytes(decision->total_pages);
	return decision->limit;
}

static __always_inline void kill__fill_owner(struct oomw_kill *kill,
					     const struct memcg_level *owner)
{
	kill->owner_limit_bytes = OOMW_UNKNOWN_U64;
	if (!owner->memcg)
		return;
	kill->flags |= OOMW_KILL_OWNER_FOUND;
	kill->owner_cgroup_id = memcg__id(owner->memcg);
	kill->owner_usage_bytes = memcg__pages_to_bytes(owner->usage_pages);
	if (memcg__is_limit(owner->max_pages))
		kill->owner_limit_bytes = memcg__pages_to_bytes(owner->max_pages);
}

static __always_inline void kill__fill_scope(struct oomw_kill *kill, struct task_struct *trigger,
					     struct task_struct *victim)
{
	const struct oom_decision *decision = decision__of_current();
	struct memcg_level owner;

	kill->total_bytes = OOMW_UNKNOWN_U64;
	owner = decision ? kill__take_decision(kill, decision)
			 : kill__resolve_owner(kill, trigger, victim);
	kill__fill_owner(kill, &owner);
	if (victim)
		kill->group_cgroup_id =
		    memcg__id(memcg__find_oom_group(memcg__of_task(victim), owner.memcg));
}

/* victim NULL: only its pid is known. */
static __always_inline int kill__report(struct task_struct *victim, __u32 pid)
{
	struct task_struct *trigger = task__current();
	struct oomw_kill *kill;

	victims__note(victim ? BPF_CORE_READ(victim, tgid) : pid);
	kill = emit__reserve(struct oomw_kill, OOMW_EVENT_KILL, OOMW_LOST_RINGBUF_KILL);
	if (!kill)
		return 0;
	kill->victim_pid = pid;
	if (victim)
		kill__fill_victim(kill, victim);
	kill__fill_trigger(kill, trigger);
	kill__fill_scope(kill, trigger, victim);
	emit__submit(kill);
	return 0;
}

/* Where mark_oom_victim() is hooked too, it gave the task. Else the trigger is often the victim
 * itself or another thread of it. Else nothing leads from a pid to a task without bpf_task_from_pid
 * (6.2), by when the other signature exists. */
static __always_inline int kill__report_pid(int pid)
{
	struct task_struct *current = task__current();
	struct task_struct *victim = decision__marked(pid);
	bool is_current = BPF_CORE_READ(current, pid) == pid || BPF_CORE_READ(current, tgid) == pid;

	if (!victim && is_current)
		victim = current;
	return kill__report(victim, pid);
}

SEC("fentry/oom_kill_process")
int BPF_PROG(on_oom_decide_fentry, struct oom_control *oc)
{
	/* Before SIGKILL: a read that has begun by then is over when the victim leaves. */
	victims__note(BPF_CORE_READ(oc, chosen, tgid));
	decision__begin(oc);
	return 0;
}

SEC("fexit/oom_kill_process")
int on_oom_decided_fexit(void *ctx)
{
	decision__end();
	return 0;
}

SEC("fentry/mark_oom_victim")
int BPF_PROG(on_oom_mark_fentry, struct task_struct *victim)
{
	decision__mark(victim);
	return 0;
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_mark_victim_task_btf, struct task_struct *victim)
{
	return kill__report(victim, BPF_CORE_READ(victim, pid));
}

SEC("raw_tp/mark_victim")
int BPF_PROG(on_mark_victim_task_raw, struct task_struct *victim)
{
	return kill__report(victim, BPF_CORE_READ(victim, pid));
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_mark_victim_pid_btf, int pid)
{
	return kill__report_pid(pid);
}

SEC("raw_tp/mark_victim")
int BPF_PROG(on_mark_victim_pid_raw, int pid)
{
	return kill__report_pid(pid);
}
