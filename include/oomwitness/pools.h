/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The pools of a CPython process's allocator at the kill, as both sides see them. The process is in
 * the map go_targets like one that has a Go heap, and its walk is reported like that: one
 * oomw_go_walk with these counts, and one chunk whose data are a table of OOMW_POOL_TYPES records.
 */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

/* Where to read, as the living process proved it. */
struct oomw_pool_target {
	__u64
	    arenas; /* where the interpreter's pointer to its table of arenas lies; 0 = not known */
	__u64 type_type;  /* address of the type of types */
	__u32 pool_bytes; /* 16 KiB, or 4 KiB before CPython 3.10 */
	__u32 reserved;
};

#define OOMW_POOL_TYPES 512	  /* records; a power of two */
#define OOMW_POOL_NAME_BYTES 72	  /* of a type's name, with its NUL */
#define OOMW_POOL_MAX_ARENAS 4096 /* entries of the table that are looked at: 4 GiB */

/* In place of a type's address. */
#define OOMW_POOL_KEY_TABLE 1 /* the keys of a dict */
#define OOMW_POOL_UNTYPED 2   /* a block that is no object, or one of a type that found no room */

/* Pools whose block that was looked at has this type. Where `type` is 0 there is no record. */
struct oomw_pool_type {
	__u64 type;
	__u64 pools;
	__u64 blocks;	   /* in use in them */
	__u64 bytes;	   /* of these blocks */
	__u32 least_bytes; /* an object has; 0 = it may be smaller than its type says */
	__u32 head_words;  /* at most, in front of an object */
	char name[OOMW_POOL_NAME_BYTES]; /* as it is in the process now; "" = its page is not there
					  */
};

struct oomw_pool_counts {
	__u64 arenas;	 /* with pools in use, by the interpreter's table */
	__u64 used;	 /* pools in use, by that table */
	__u64 read;	 /* of these: they are in the records */
	__u64 absent;	 /* in a page that is not there */
	__u64 malformed; /* not the head of a pool of this arena */
	__u64 bytes;	 /* of blocks in use in the pools that were read */
};
