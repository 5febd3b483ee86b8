/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Layer 2: how fast a memcg grows, as a decaying average over four sampling intervals. */
#pragma once

#include "maps.h"

/* Bounds that keep every product below 2^63: 32 TiB of 4 KiB pages, ten seconds. */
#define GROWTH_MAX_PAGES (1ULL << 33)
#define GROWTH_MAX_RATE (1ULL << 38)
#define GROWTH_MAX_INTERVAL_US 10000000ULL

static __always_inline __u64 growth__min(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* BPF before v4 has no signed division. */
static __always_inline __s64 growth__divide(__s64 dividend, __u64 divisor)
{
	return dividend < 0 ? -(__s64)((__u64)-dividend / divisor) : (__u64)dividend / divisor;
}

static __always_inline __s64 growth__rate(__u64 from_pages, __u64 to_pages, __u64 interval_us)
{
	bool falls = to_pages < from_pages;
	__u64 distance = falls ? from_pages - to_pages : to_pages - from_pages;
	__u64 rate = growth__min(distance, GROWTH_MAX_PAGES) * 1000000 / interval_us;

	rate = growth__min(rate, GROWTH_MAX_RATE);
	return falls ? -(__s64)rate : rate;
}

/* Exponentially weighted by the time that a sample covers, so one after a long pause replaces the
 * earlier average. Two CPUs may sample at once: they store nearly the same. */
static __always_inline void growth__sample(struct memcg_state *state, __u64 usage_pages, __u64 now)
{
	__u64 elapsed_ns = now - state->sampled_ns;
	__u64 elapsed_us = growth__min(elapsed_ns / 1000, GROWTH_MAX_INTERVAL_US);
	__u64 memory_us = cfg_settings.growth_interval_ns / 1000 * 4;
	__s64 rate;

	/* Negative: another CPU stored a later time than ours. */
	if ((__s64)elapsed_ns < (__s64)cfg_settings.growth_interval_ns || !elapsed_us)
		return;
	rate = growth__rate(state->sampled_pages, usage_pages, elapsed_us);
	if (state->has_growth)
		rate = growth__divide(state->growth_pages_per_second * (__s64)memory_us +
					  rate * (__s64)elapsed_us,
				      memory_us + elapsed_us);
	state->growth_pages_per_second = rate;
	state->has_growth = 1;
	state->sampled_pages = usage_pages;
	state->sampled_ns = now;
}

/* OOMW_UNKNOWN_U64 unless it grows. */
static __always_inline __u64 growth__time_to_limit_ns(const struct memcg_state *state,
						      __u64 usage_pages, __u64 max_pages)
{
	__s64 growth = state->growth_pages_per_second;
	__u64 headroom = max_pages > usage_pages ? max_pages - usage_pages : 0;

	if (growth <= 0)
		return OOMW_UNKNOWN_U64;
	return growth__min(headroom, GROWTH_MAX_PAGES) * 1000000000ULL / (__u64)growth;
}
