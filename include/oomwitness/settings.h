/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings the daemon fixes before load; programs see them as read-only data, so the verifier
 * drops what is switched off.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define OOMW_MAX_LEVELS 8
/* Records that can wait wake user space at most once in this time. In a storm they need not: user
 * space reads again by itself this long after it took any. */
#define OOMW_LAZY_WAKE_NS 10000000ULL
/* How much longer the programs do not wake user space: handling 10 ms of records may make it late
 * (an exec takes it 50 us), and each record that comes meanwhile would wake it. */
#define OOMW_READ_GRACE_NS 10000000ULL

struct oomw_settings {
	__u32 page_size;   /* bytes */
	__u32 own_tgid;	   /* our own reads and writes must not count as the workload's reclaim */
	__u32 level_count; /* <= OOMW_MAX_LEVELS */
	__u32
	    levels_percent[OOMW_MAX_LEVELS]; /* ascending; levels_percent[0] gates the slow path */
	__u32 rearm_percent;	  /* a level re-arms when usage falls this far below it */
	__u64 growth_interval_ns; /* shortest distance of two growth samples, >= 10 ms */
	__u64 time_to_limit_ns;	  /* fire OOMW_WATERMARK_TIME_TO_LIMIT below this; 0 = never */
	__u64 walk_max_ns;	  /* of one walk at the kill */
	__u64 walk_cgroup_ns;	  /* of all walks of one cgroup's victims within a second */
	__u32 walk_max_buckets;
	__u32 reserved;
};
