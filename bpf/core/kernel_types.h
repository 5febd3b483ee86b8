/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 0: the few kernel fields that we read, declared by hand.
 *
 * Only names and types matter here: CO-RE replaces every offset and size at load by those of
 * the running kernel's BTF, so order and missing members do not matter and the build needs
 * no vmlinux.h. A field that differs between kernels gets a flavour (struct name___suffix: libbpf
 * drops the suffix when matching) and an accessor in compat.h that tests which one exists.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	unsigned int val;
} kuid_t;

enum cgroup_subsys_id {
	memory_cgrp_id = 4, /* depends on the kernel's configuration: always relocated */
};

struct kernfs_node {
	__u64 id;
};

struct cgroup;
struct cgroup_subsys;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys *ss;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	unsigned int subsys_mask;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
};

/* Pages. `max` of an unlimited counter is LONG_MAX / PAGE_SIZE. */
struct page_counter {
	atomic_long_t usage;
	unsigned long high;
	unsigned long max;
	struct page_counter *parent;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	bool oom_group; /* only v2 has the file that sets it */
	bool oom_lock;	/* of both versions, where v1 is built in */
};

struct percpu_counter {
	__s64 count;
};

struct task_struct;

struct mm_struct {
	struct task_struct *owner;
	unsigned long total_vm;
	atomic_long_t pgtables_bytes;
	unsigned long start_stack;
	struct percpu_counter rss_stat[4]; /* >= 6.2 */
};

struct mm_rss_stat {
	atomic_long_t count[4];
};

struct mm_struct___v6_1 {
	struct mm_rss_stat rss_stat; /* <= 6.1 */
};

struct cred {
	kuid_t uid;
};

struct signal_struct {
	atomic_t live;
	short oom_score_adj;
};

/* x86 only. */
struct thread_struct {
	unsigned long fsbase;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	char comm[16];
	__u64 start_boottime;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	const struct cred *real_cred;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct mem_cgroup *active_memcg; /* a remote charge is under way */
	void *stack;			 /* the kernel's own */
	struct thread_struct thread;
	struct mem_cgroup *memcg_in_oom; /* v1 with oom_kill_disable; not on every kernel */
};

struct linux_binprm;

struct oom_control {
	struct mem_cgroup *memcg; /* whose limit was hit; NULL: the node is out of memory */
	unsigned long totalpages;
	struct task_struct *chosen; /* the victim */
};

#pragma clang attribute pop

/* Index into mm->rss_stat. An anonymous enum, which CO-RE cannot relocate; unchanged since 4.5. */
#define MM_FILEPAGES 0
#define MM_ANONPAGES 1
#define MM_SHMEMPAGES 3

/* task_struct.flags; unchanged since 2.6. */
#define PF_EXITING 0x4
