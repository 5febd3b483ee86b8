/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 1: every map and every read-only setting.
 *
 * Each object declares all of them; the loader creates a map once and hands it to every further
 * object by name. max_entries here are placeholders: the daemon sizes the maps before load.
 * Hashes are preallocated: the programs run under page table locks, where kernels before 6.1
 * must not allocate.
 */
#pragma once

#include "kernel_types.h"

#include <oomwitness/events.h>
#include <oomwitness/kernel_facts.h>
#include <oomwitness/settings.h>

/* One struct per section: the loader sets a whole section and needs no layout of its own. */
const volatile struct oomw_settings cfg_settings SEC(".rodata.settings") = {};
const volatile struct oomw_kernel_facts cfg_facts SEC(".rodata.facts") = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* Until this time, records that can wait need not wake user space, which will read the ring by
 * itself. Two CPUs may both find it past: one wake-up too many. CLOCK_MONOTONIC. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} next_reads SEC(".maps");

/* enum oomw_lost -> events lost on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OOMW_LOST_MAX);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* --- watermark --------------------------------------------------------------------------- */

struct seen_usage {
	__u64 mm; /* addresses: only ever compared */
	__u64 memcg;
	__u64 usage_pages;
	__u64 step_pages; /* how far usage may move before the limits are read again */
	__u32 skips;	  /* events that may pass between two readings */
	__u32 skips_left; /* how many of them remain */
};

/* The usage that the last rss_stat on this CPU read. The kernel charges 64 pages at a time per CPU,
 * so most events find it unchanged or hardly moved and stop there; most consecutive faults of one
 * process need not even read it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen_usage);
} seen_usages SEC(".maps");

struct memcg_state {
	__u64 sampled_ns;
	__u64 sampled_pages;
	__s64 growth_pages_per_second;
	__u64 time_to_limit_ns; /* when "reaches its limit soon" was last reported */
	__u64 rearms_since_ns;
	__u32 rearms; /* of levels, within the second since then */
	__u32 has_growth;
	/* 1 = the gate of that level is believed taken. One byte each, so that two CPUs cannot undo
	 * each other's stores. Only saves lookups: the gate decides. */
	__u8 fired[OOMW_MAX_LEVELS + 1];
};

/* cgroup id -> growth of a memcg that has a limit; kept until its rmdir. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct memcg_state);
} memcg_states SEC(".maps");

/* The gate of the time to the limit comes after those of the levels. */
#define GATE_TIME_TO_LIMIT OOMW_MAX_LEVELS

struct gate_key {
	__u64 cgroup_id;
	__u32 level_index;
	__u32 reserved;
};

/* Present = this crossing was reported. Inserting with BPF_NOEXIST elects one winner among CPUs;
 * cmpxchg would do it in place but needs 5.12. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct gate_key);
	__type(value, __u8);
} level_gates SEC(".maps");

/* --- reclaim ----------------------------------------------------------------------------- */

struct reclaim_start {
	__u64 time_ns;
	__u64 cgroup_id;
};

/* pid_tgid -> the reclaim it is in. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct reclaim_start);
} reclaim_starts SEC(".maps");

/* cgroup id -> totals; user space reads them and, after rmdir, deletes them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct oomw_reclaim);
} reclaims SEC(".maps");
