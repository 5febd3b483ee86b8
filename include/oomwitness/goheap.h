/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walk of an exiting Go process's heap profile, as both sides see it. User space names the
 * addresses of a process (oomw_go_target), the programs copy its bucket list into chunks and report
 * it with one oomw_go_walk. runtimes/go knows what the bytes mean.
 *
 * In a chunk the records follow one another without gaps: an oomw_go_bucket, then pc_count program
 * counters of pc_bytes each (4: offsets from the target's text; 8: addresses), padded to 8, then
 * stored_words words of the memory record. Words of the record that are not stored are 0. A typical
 * bucket thus takes some 100 bytes; a slot for the largest would take 1,200.
 */
#pragma once

#include <oomwitness/events.h>
#include <oomwitness/pools.h>

/* Program counters kept of a stack; the rest is clipped and counted. Go itself keeps 32 up to
 * 1.22, then 128 unless configured otherwise. */
#define OOMW_GO_MAX_PCS 128
/* Go's hard bound is 1,024; a little above, since a bucket may be padded by the runtime. */
#define OOMW_GO_MAX_DEPTH 1026
/* Words of a memory record: 16 up to Go 1.26, 8 from 1.27 on. */
#define OOMW_GO_MAX_RECORD_WORDS 16
#define OOMW_GO_CHUNK_BYTES 65536
#define OOMW_GO_NO_CHUNK (~0U)

#define OOMW_GO_OWNER (1ULL << 63) /* no cgroup has such an id */

/* An entry of the map go_targets, keyed by tgid. */
struct oomw_go_target {
	__u64 start_ticks; /* start_boottime / 10 ms: distinguishes a pid's new owner */
	__u64 buckets;	   /* where runtime.mbuckets lies: the head, which moves, never its value */
	__u64 rate;	   /* where runtime.MemProfileRate (8 bytes) lies; 0 = not known */
	__u64 cycle;	   /* where runtime.mProfCycle (4 bytes) lies; 0 = not known */
	__u64 text;	   /* start of text in the process */
	__u64 owner;	   /* whose walks share a budget, from OOMW_GO_OWNER on; 0 = by cgroup */
	__u32 record_words;	/* 8 or 16 if proved while it lived; 0 = read 16 */
	__u16 goroutine_status; /* in a g: where its status lies, 4 bytes; a multiple of 4 */
	__u16 goroutine_reason; /* behind it: what it waits for, 1 byte; below OOMW_GO_G_BYTES */
	__u64 goroutines; /* where runtime.allgs lies: a pointer and a length; 0 = not known */
	struct oomw_pool_target
	    pools; /* known: a CPython process, and nothing else is read of it */
};

/* Of a g, which is larger in all versions: status and reason lie in it. */
#define OOMW_GO_G_BYTES 256
#define OOMW_GO_STATES 16
#define OOMW_GO_REASONS 64
/* More than the longest walk has time for, at 100 to 340 ns each. */
#define OOMW_GO_MAX_GOROUTINES 131072

struct oomw_go_bucket {
	__u64 address;
	__u64 hash; /* as stored in the bucket; verified in user space */
	__u64 size;
	__u16 stack_depth; /* > pc_count: clipped */
	__u16 pc_count;
	__u8 record_words; /* how many were readable */
	__u8 stored_words; /* <= record_words */
	__u8 pc_bytes;	   /* 4 or 8 */
	__u8 reserved;
};

#define OOMW_GO_CHUNK_DATA_BYTES (OOMW_GO_CHUNK_BYTES - 16)

struct oomw_go_chunk {
	__u32 next;	  /* OOMW_GO_NO_CHUNK: the last */
	__u32 used;	  /* bytes of data */
	__u64 started_ns; /* of the walk that filled it */
	__u8 data[OOMW_GO_CHUNK_DATA_BYTES];
};

/* Why a walk ended. */
enum oomw_go_stop {
	OOMW_GO_STOP_END = 0,	   /* the list's own end: complete */
	OOMW_GO_STOP_FAULT,	   /* a page that is not there */
	OOMW_GO_STOP_MALFORMED,	   /* not a bucket */
	OOMW_GO_STOP_LOOP,	   /* the list leads back into itself */
	OOMW_GO_STOP_POOL_FULL,	   /* no free chunk */
	OOMW_GO_STOP_BUCKET_LIMIT, /* oomw_settings.walk_max_buckets */
	OOMW_GO_STOP_TIME_LIMIT,   /* oomw_settings.walk_max_ns, or walk_cgroup_ns */
	OOMW_GO_STOP_MAX,
};

/* oomw_go_walk.flags */
#define OOMW_GO_WALK_HAS_RATE (1u << 0)
#define OOMW_GO_WALK_HAS_CYCLE (1u << 1)
#define OOMW_GO_WALK_HAS_GOROUTINES (1u << 2) /* the list was begun */
#define OOMW_GO_WALK_HAS_POOLS (1u << 3)      /* no Go heap, but CPython's pools */

/* oomw_go_slot.state. A walk is reported when it is both done and marked, by whichever comes
 * second: the victim may have exited before the killer marks it. */
#define OOMW_GO_SLOT_READY (1u << 0)   /* filled in */
#define OOMW_GO_SLOT_CLAIMED (1u << 1) /* a thread of the victim walks */
#define OOMW_GO_SLOT_MARKED (1u << 2)  /* mark_victim named it */
#define OOMW_GO_SLOT_DONE (1u << 3)    /* `walk` is final */

/* One walk is over, complete or not. Its chunks belong to user space from here on. */
struct oomw_go_walk {
	struct oomw_header header;
	__u32 tgid;
	__u32 stop;  /* enum oomw_go_stop */
	__u32 flags; /* OOMW_GO_WALK_* */
	__u32 chunk_count;
	__u32 first_chunk; /* OOMW_GO_NO_CHUNK: none */
	__u32 cycle_before;
	__u32 cycle_after;
	__u32 goroutines_stop; /* enum oomw_go_stop, if the list was begun */
	__u64 start_boottime_ns;
	__u64 cgroup_id;
	__u64 started_ns; /* CLOCK_MONOTONIC */
	__u64 duration_ns;
	__u64 text;
	__u64 buckets;
	__u64 head; /* the list's first bucket; 0: an empty list */
	__u64 rate;
	__u64 walked;  /* buckets in the chunks */
	__u64 clipped; /* of those, with a stack deeper than OOMW_GO_MAX_PCS */
	__u64 absent; /* of those, with a record (partly) in a page that is not there: taken as 0 */
	__u64 bytes;  /* in the chunks */
	__u64 goroutines;	      /* in the runtime's list */
	__u64 goroutines_absent;      /* of those, in a page that is not there: not counted */
	__u32 states[OOMW_GO_STATES]; /* goroutines by their status */
	__u32 waits[OOMW_GO_REASONS]; /* those that wait, by the reason; the last: and above */
	struct oomw_pool_counts pools;
};

/* Of a walk over pools: the next one. */
struct oomw_pool_cursor {
	__u32 arenas; /* entries of the table up to the last that is in use */
	__u32 pass;
	__u32 arena;
	__u32 pool;	   /* of the arena */
	__u32 block_bytes; /* of the pool that was read */
	__u32 carved;	   /* blocks of it that were ever in use */
};

/* An entry of the map go_walks, keyed by tgid: a victim, from the kill until its chunks are taken.
 * The walk's working memory is here too: a BPF stack ends at 512 bytes. */
struct oomw_go_slot {
	struct oomw_go_walk walk;
	struct oomw_go_target target; /* copied at the kill: exit removes the other */
	__u64 made_ns;		      /* CLOCK_MONOTONIC */
	__u32 state;		      /* OOMW_GO_SLOT_* */
	__u32 chunk;		      /* being filled */
	__u64 allowed_ns;	      /* how long the walk may take */
	__u64 list;		      /* of goroutines: where its pointers lie */
	__u64 cursor;		      /* the next bucket's address */
	__u64 tortoise;		      /* Brent: an address passed at the last power of two */
	__u64 steps;		      /* since then */
	__u64 lap;		      /* that power */
	__u64 header[6];	      /* of the bucket: next, allnext, type, hash, size, depth */
	__u64 body[OOMW_GO_MAX_PCS + OOMW_GO_MAX_RECORD_WORDS];
	__u32 pc_count;	    /* in body */
	__u32 record_words; /* behind them */
	struct oomw_pool_cursor at;
};
