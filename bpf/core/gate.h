/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layer 2: exactly one CPU reports a crossing. A level's gate is an entry of level_gates: the CPU
 * that inserts it reports, and it is deleted when usage has fallen well below the level.
 *
 * state->fired only saves lookups and must never stay set without its gate: the level would stay
 * silent until usage falls and rises again. Hence both orders: re-arming deletes the gate before it
 * clears the flag; taking checks the gate again after it set the flag, since another CPU may have
 * re-armed in between. tests/unit/kernel/gate_test.cc runs these functions in every order of their
 * steps.
 *
 * Include after emit.h: the test supplies its own helpers and maps.
 */
#pragma once

/* True for the one CPU that may report it. */
static __always_inline bool gate__take(struct memcg_state *state, __u64 cgroup_id, __u32 index)
{
	struct gate_key key = {.cgroup_id = cgroup_id, .level_index = index};
	__u8 taken = 1;
	int error;

	if (state->fired[index])
		return false;
	error = bpf_map_update_elem(&level_gates, &key, &taken, BPF_NOEXIST);
	if (error == -E2BIG) {
		emit__count_lost(OOMW_LOST_MEMCG_STATES);
		return false;
	}
	state->fired[index] = 1;
	if (!bpf_map_lookup_elem(&level_gates, &key))
		state->fired[index] = 0;
	return error == 0;
}

static __always_inline void gate__rearm(struct memcg_state *state, __u64 cgroup_id, __u32 index)
{
	struct gate_key key = {.cgroup_id = cgroup_id, .level_index = index};

	if (!state->fired[index])
		return;
	bpf_map_delete_elem(&level_gates, &key);
	state->fired[index] = 0;
}
