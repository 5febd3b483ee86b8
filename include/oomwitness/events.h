/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that cross the kernel boundary through the ring buffer: plain C structs only.
 *
 * Both sides include this file; neither side includes the other's headers. Rules:
 *   - every record opens with oomw_header; `size` is the size of the whole record;
 *   - times are CLOCK_MONOTONIC nanoseconds (bpf_ktime_get_ns);
 *   - start times are CLOCK_BOOTTIME nanoseconds (task->start_boottime), which /proc/PID/stat
 *     shows in units of 10 ms, so (pid, start time) is one key for both sides;
 *   - a cgroup id is the kernfs node id of the *memory* css' cgroup, equal to st_ino of the
 *     cgroup directory on v1 and v2 (bpf_get_current_cgroup_id() is neither on a v1 host);
 *   - sizes are bytes, also where the kernel counts pages.
 *
 * The layout may change with any version: programs and daemon are built together.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define OOMW_COMM_LEN 16
/* Longest cgroup path carried in an event. Longer ones are cut and flagged; the daemon then
 * resolves the path from the id. Nested 255-byte components exceed this, rarely. */
#define OOMW_PATH_LEN 512
#define OOMW_UNKNOWN_U64 (~0ULL)

enum oomw_event_type {
	OOMW_EVENT_KILL = 1,
	OOMW_EVENT_WATERMARK = 2,
	OOMW_EVENT_EXEC = 3,
	OOMW_EVENT_EXIT = 4,
	OOMW_EVENT_CGROUP_MKDIR = 5,
	OOMW_EVENT_CGROUP_RMDIR = 6,
	OOMW_EVENT_GO_WALK = 7, /* struct oomw_go_walk of goheap.h */
	OOMW_EVENT_GROWTH = 8,	/* struct oomw_growth_sample of growth.h */
};

struct oomw_header {
	__u32 type;    /* enum oomw_event_type */
	__u32 size;    /* bytes, header included */
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

/* oom_kill.flags */
#define OOMW_KILL_VICTIM_READ (1u << 0) /* the victim fields below were read from its task */
#define OOMW_KILL_OWNER_EXACT                                                                      \
	(1u << 1) /* limit owner is the kernel's own oc->memcg, not resolved */
#define OOMW_KILL_OWNER_FOUND                                                                      \
	(1u << 2)		      /* whose limit it was is known; without it: node-wide        \
				       */
#define OOMW_KILL_NODE_WIDE (1u << 3) /* by the kernel itself: oc->memcg is NULL */

/* One victim chosen by the OOM killer. `current` is the trigger, not the victim. SIGKILL is
 * already queued when this fires. With memory.oom.group one decision has many of these. */
struct oomw_kill {
	struct oomw_header header;
	__u32 flags;	   /* OOMW_KILL_* */
	__u32 victim_pid;  /* thread that was marked; host pid namespace */
	__u32 victim_tgid; /* 0 when only the pid is known (mark_victim(int pid)) */
	__u32 victim_uid;  /* kuid of the init user namespace */
	__u64 victim_start_boottime_ns;
	__u64 victim_cgroup_id;
	__u64 anon_bytes; /* mm->rss_stat[MM_ANONPAGES]; >= 6.2 approximate, batch of 32+ pages per
			     CPU */
	__u64 file_bytes;
	__u64 shmem_bytes;
	__u64 pgtables_bytes;
	__u64 total_vm_bytes;
	__s32 oom_score_adj;
	__u32 trigger_pid;
	__u32 trigger_tgid;
	__u32 reserved;
	__u64 trigger_cgroup_id;
	__u64 owner_cgroup_id; /* whose limit was hit; 0 = node-wide */
	__u64 owner_usage_bytes;
	__u64 owner_limit_bytes; /* OOMW_UNKNOWN_U64 = none */
	/* CLOCK_MONOTONIC at the entry of oom_kill_process: one decision has one time, however many
	 * victims. 0 = not known. */
	__u64 decision_ns;
	/* The topmost memcg with memory.oom.group from the victim's up to the owner: every process
	 * in it is killed. 0 = none. */
	__u64 group_cgroup_id;
	__u64 total_bytes; /* what the decision had to choose from: oc->totalpages, so swap
			      included; OOMW_UNKNOWN_U64 = not known */
	char victim_comm[OOMW_COMM_LEN];
	char trigger_comm[OOMW_COMM_LEN];
};

enum oomw_watermark_reason {
	OOMW_WATERMARK_LEVEL =
	    1, /* usage rose above a level, once until it falls by rearm_percent */
	OOMW_WATERMARK_TIME_TO_LIMIT = 2, /* headroom / growth fell below time_to_limit_ns */
};

struct oomw_watermark {
	struct oomw_header header;
	__u32 reason;	      /* enum oomw_watermark_reason */
	__u32 level_percent;  /* the highest level at or below usage */
	__u64 cgroup_id;      /* whose limit is near: the task's own memcg or an ancestor */
	__u64 leaf_cgroup_id; /* memcg of the task that crossed it */
	__u64 usage_bytes;    /* of cgroup_id; includes per-CPU stock, up to 64 pages per CPU */
	__u64 limit_bytes;
	__s64 growth_bytes_per_second; /* EWMA; 0 while unknown */
	__u64 time_to_limit_ns;	       /* OOMW_UNKNOWN_U64 while growth is unknown or <= 0 */
	__u32 pid;		       /* current */
	__u32 tgid;
};

struct oomw_exec {
	struct oomw_header header;
	__u32 pid; /* == tgid after exec */
	__u32 uid;
	__u64 start_boottime_ns; /* of the process, unchanged by exec */
	__u64 cgroup_id;
	char comm[OOMW_COMM_LEN];
};

/* The last thread of a process exits. */
struct oomw_exit {
	struct oomw_header header;
	__u32 tgid;
	__u32 reserved;
	__u64 start_boottime_ns; /* of the group leader */
};

/* cgroup_mkdir and cgroup_rmdir in a hierarchy that has the memory controller. */
struct oomw_cgroup {
	struct oomw_header header;
	__u64 cgroup_id;
	__u64 parent_cgroup_id;
	__u32 level;	/* depth below the hierarchy's root */
	__u32 path_len; /* bytes in path without NUL; == OOMW_PATH_LEN - 1: possibly cut */
	char path[OOMW_PATH_LEN]; /* from the hierarchy's root, starts with '/' */
};

/* Per-memcg reclaim totals, read from the `reclaims` map by cgroup id. They only grow. */
struct oomw_reclaim {
	__u64 calls;		/* finished reclaim_begin/end pairs */
	__u64 zero_yield_calls; /* of those, returned 0 pages */
	__u64 reclaimed_pages;
	__u64 stall_ns; /* sum of end - begin over all tasks */
	__u64 last_ns;	/* CLOCK_MONOTONIC of the newest end */
};

/* Index into the per-CPU `lost` array: where an event was lost, and why. */
enum oomw_lost {
	OOMW_LOST_RINGBUF_KILL = 0, /* ring buffer full */
	OOMW_LOST_RINGBUF_WATERMARK,
	OOMW_LOST_RINGBUF_PROCESS,
	OOMW_LOST_RINGBUF_CGROUP,
	OOMW_LOST_RECLAIM_STARTS, /* starts map full: this call is not timed */
	OOMW_LOST_RECLAIM_TOTALS, /* totals map full: this memcg is not counted */
	OOMW_LOST_MEMCG_STATES,	  /* watermark state map full: this memcg is not watched */
	OOMW_LOST_RINGBUF_WALK,	  /* ring buffer full: the walk waits in its map to be found */
	OOMW_LOST_WALK_SLOTS,	  /* too many victims at once: this one is not walked */
	OOMW_LOST_WALK_POOL,	  /* pool exhausted: this walk is not complete */
	OOMW_LOST_MAX,
};
