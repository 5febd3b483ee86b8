// SPDX-License-Identifier: Apache-2.0
// bpf/core/gate.h, compiled here with helpers that stop after every access to shared memory, so that
// several CPUs run through it in every order there is.
#include <gtest/gtest.h>
#include <linux/types.h>
#include <oomwitness/events.h>
#include <oomwitness/settings.h>

#include <cerrno>
#include <functional>
#include <vector>

namespace oomw {
namespace {

constexpr int BPF_NOEXIST = 1;  // NOLINT(readability-identifier-naming): as in linux/bpf.h

// What the CPUs share.
struct World {
  bool fired = false;
  bool has_gate = false;
  bool is_full = false;
  int reports = 0;
  int lost = 0;
};

// One CPU inside one function, as the results of the accesses it has made: it is started anew for
// each further step and gets the same results up to there.
struct Cpu {
  std::function<void()> function;
  std::vector<int> results = {};
  bool is_done = false;
};

struct Paused {};

World* world = nullptr;
Cpu* running = nullptr;
std::size_t replayed = 0;
bool has_stepped = false;

int access(const std::function<int()>& effect) {
  if (replayed < running->results.size()) return running->results[replayed++];
  if (has_stepped) throw Paused{};
  has_stepped = true;
  ++replayed;
  running->results.push_back(effect());
  return running->results.back();
}

// state->fired[i]: each load and store is a step.
struct SharedFlag {
  operator bool() const {  // NOLINT(google-explicit-constructor): stands for a __u8
    return access([] { return world->fired ? 1 : 0; }) != 0;
  }
  SharedFlag& operator=(int value) {
    (void)access([value] { return (world->fired = value != 0) ? 1 : 0; });
    return *this;
  }
};

struct memcg_state {  // NOLINT(readability-identifier-naming): as in core/maps.h
  SharedFlag fired[OOMW_MAX_LEVELS + 1];
};

struct gate_key {  // NOLINT(readability-identifier-naming): as in core/maps.h
  __u64 cgroup_id;
  __u32 level_index;
  __u32 reserved;
};

int level_gates = 0;
void emit__count_lost(__u32 /*what*/) { ++world->lost; }

int bpf_map_update_elem(void* /*map*/, const void* /*key*/, const void* /*value*/, int /*flags*/) {
  return access([] {
    if (world->has_gate) return -EEXIST;
    if (world->is_full) return -E2BIG;
    world->has_gate = true;
    return 0;
  });
}

bool bpf_map_lookup_elem(void* /*map*/, const void* /*key*/) {
  return access([] { return world->has_gate ? 1 : 0; }) != 0;
}

int bpf_map_delete_elem(void* /*map*/, const void* /*key*/) {
  return access([] {
    const bool had = world->has_gate;
    world->has_gate = false;
    return had ? 0 : -ENOENT;
  });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "../bpf/core/gate.h"
#pragma GCC diagnostic pop

memcg_state state;

void take() {
  if (gate__take(&state, 1, 0)) ++world->reports;
}
void rearm() { gate__rearm(&state, 1, 0); }

void step(Cpu& cpu) {
  running = &cpu;
  replayed = 0;
  has_stepped = false;
  try {
    cpu.function();
    cpu.is_done = true;
  } catch (const Paused&) {
  }
}

// Calls `check` with what each order of the CPUs' steps leaves behind; returns how many there are.
std::size_t in_every_order(const World& start, const std::vector<Cpu>& cpus,
                           const std::function<void(const World&)>& check) {
  std::size_t orders = 0;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    if (cpus[i].is_done) continue;
    World after = start;
    std::vector<Cpu> moved = cpus;
    world = &after;
    step(moved[i]);
    orders += in_every_order(after, moved, check);
  }
  if (orders == 0) check(start);
  return orders == 0 ? 1 : orders;
}

const World kArmed{};
const World kFired{.fired = true, .has_gate = true};

void expect_never_mute(const World& end) { EXPECT_TRUE(end.has_gate || !end.fired) << "a flag without its gate"; }

TEST(GateTest, rearming_against_a_crossing_on_another_cpu_never_leaves_the_level_mute) {
  EXPECT_GT(in_every_order(kFired, {{rearm}, {take}}, expect_never_mute), 2u);
}

TEST(GateTest, two_cpus_rearming_against_a_crossing_never_leave_the_level_mute) {
  EXPECT_GT(in_every_order(kFired, {{rearm}, {rearm}, {take}}, expect_never_mute), 100u);
}

TEST(GateTest, a_crossing_behind_another_that_has_not_set_the_flag_yet_never_leaves_the_level_mute) {
  EXPECT_GT(in_every_order({.has_gate = true}, {{take}, {take}, {rearm}}, expect_never_mute), 10u);
}

TEST(GateTest, one_of_two_cpus_reports_a_crossing) {
  EXPECT_GT(in_every_order(kArmed, {{take}, {take}},
                           [](const World& end) {
                             EXPECT_EQ(end.reports, 1);
                             EXPECT_TRUE(end.fired && end.has_gate);
                           }),
            2u);
}

TEST(GateTest, a_full_map_is_counted_and_leaves_the_level_armed) {
  in_every_order({.is_full = true}, {{take}}, [](const World& end) {
    EXPECT_EQ(end.reports, 0);
    EXPECT_EQ(end.lost, 1);
    EXPECT_FALSE(end.fired);
  });
}

}  // namespace
}  // namespace oomw
