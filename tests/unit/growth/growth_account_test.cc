// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_account.h"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "correlate/growth_memory.h"

namespace oomw {
namespace {

constexpr std::uint32_t kLeak = 0, kScratch = 1;

std::map<std::uint32_t, std::uint64_t> held_by(const GrowthSlots& slots) {
  std::map<std::uint32_t, std::uint64_t> held;
  for (const auto& [stack, of] : slots.by_stack(0))
    held[stack] = std::accumulate(of.parts.begin(), of.parts.end(), 0ull);
  return held;
}

TEST(GrowthSlotsTest, sum_of_the_slots_is_the_growth) {
  GrowthSlots slots;
  slots.rise(1, 0, 3, kLeak, 0);
  slots.rise(2, 3, 5, kScratch, 0);
  EXPECT_EQ(slots.count(), 5u);
  EXPECT_EQ(held_by(slots), (std::map<std::uint32_t, std::uint64_t>{{kLeak, 3}, {kScratch, 2}}));
}

// Each round leaks 2 slots and uses 64 more for a while. The last round ends in the middle of its scratch memory.
TEST(GrowthSlotsTest, leak_below_scratch_memory_holds_the_growth) {
  GrowthSlots slots;
  std::uint64_t time = 0;
  std::uint32_t base = 0;
  for (int round = 0; round < 220; ++round) {
    slots.rise(++time, base, base + 2, kLeak, 0);
    base += 2;
    for (std::uint32_t slot = base; slot < base + 64; ++slot) slots.rise(++time, slot, slot + 1, kScratch, 0);
  }
  auto held = held_by(slots);
  EXPECT_EQ(held[kLeak], 440u);
  EXPECT_EQ(held[kScratch], 64u);
  EXPECT_EQ(slots.count(), 504u);
}

TEST(GrowthSlotsTest, slots_of_lost_samples_count_for_nobody) {
  GrowthSlots slots;
  slots.rise(1, 0, 2, kLeak, 0);
  slots.rise(2, 6, 7, kLeak, 0);
  EXPECT_EQ(slots.count(), 7u);
  EXPECT_EQ(held_by(slots)[kLeak], 3u);
}

TEST(GrowthSlotsTest, sample_out_of_order_fills_what_nobody_holds) {
  GrowthSlots slots;
  slots.rise(1, 0, 5, kLeak, 0);
  slots.rise(3, 6, 7, kLeak, 0);
  slots.rise(2, 4, 6, kScratch, 0);
  EXPECT_EQ(slots.count(), 7u);
  EXPECT_EQ(held_by(slots), (std::map<std::uint32_t, std::uint64_t>{{kLeak, 6}, {kScratch, 1}}));
}

TEST(GrowthSlotsTest, what_was_given_back_at_the_end_is_not_held) {
  GrowthSlots slots;
  slots.rise(1, 0, 9, kLeak, 0);
  slots.stand_at(4);
  EXPECT_EQ(held_by(slots)[kLeak], 4u);
}

TEST(GrowthSlotsTest, more_slots_than_are_kept_count_for_nobody) {
  GrowthSlots slots;
  slots.rise(1, 0, 4'000'000'000, kLeak, 0);
  EXPECT_EQ(slots.count(), 4'000'000'000u);
  EXPECT_EQ(held_by(slots)[kLeak], GrowthSlots::kMaxSlots);
  slots.rise(2, 4'000'000'000, 4'000'000'001, kScratch, 0);
  EXPECT_EQ(held_by(slots).count(kScratch), 0u);
}

oomw_growth_sample sample(std::uint64_t time, std::uint32_t before, std::uint32_t after, bool has_stack = true) {
  oomw_growth_sample head{};
  head.time_ns = time;
  head.slot_before = before;
  head.slot_after = after;
  head.slot_bytes = 1000;
  head.stack_bytes = has_stack ? 64 : 0;
  return head;
}

GrowthFrame frame(const std::string& function) {
  GrowthFrame made;
  made.function = function;
  return made;
}

// Its own code, of a native program.
constexpr std::array<const char*, 3> kCode = {"leak", "warm_up", "scratch"};
enum Code : std::uint32_t { kLeaks, kWarmsUp, kScratches };

// A process that climbs, as the kernel's program reports it.
class Climb {
 public:
  explicit Climb(GrowthAccount& account) : account_(account) {
    for (const char* name : kCode) {
      unwound_.frames.push_back(frame(name));
      unwound_.frames.back().module = "shop";
    }
  }
  void grow(std::int64_t ms, Code code, std::uint32_t slots) {
    unwound_.stacks = {{true, {code}}};
    account_.add({sample(static_cast<std::uint64_t>(ms) * 1'000'000, stands_at, stands_at + slots)}, unwound_);
    stands_at += slots;
  }
  std::uint32_t stands_at = 0;

 private:
  GrowthAccount& account_;
  UnwoundSamples unwound_;
};

MonotonicTime at_ms(std::int64_t ms) { return {ms * 1'000'000}; }

class GrowthAccountTest : public ::testing::Test {
 protected:
  GrowthAccount account_{ProcessKey{7, 8}, CgroupId{9}};
};

TEST_F(GrowthAccountTest, stacks_are_merged_over_batches_and_most_bytes_come_first) {
  account_.add({sample(10, 0, 1), sample(11, 1, 4)}, {.frames = {frame("leak"), frame("main"), frame("warm_up")},
                                                      .stacks = {{true, {2, 1}}, {true, {0, 1}}}});
  account_.add({sample(12, 4, 6)}, {.frames = {frame("main"), frame("leak")}, .stacks = {{true, {1, 0}}}});
  const GrowthProfile profile = account_.profile(0);
  ASSERT_EQ(profile.stacks.size(), 2u);
  EXPECT_EQ(profile.stacks[0].bytes, 5000u);
  EXPECT_EQ(profile.stacks[0].frames[0].function, "leak");
  EXPECT_EQ(profile.stacks[0].frames[1].function, "main");
  EXPECT_TRUE(profile.stacks[0].is_complete);
  EXPECT_EQ(profile.stacks[1].bytes, 1000u);
  EXPECT_EQ(profile.grown_bytes, 6000u);
  EXPECT_EQ(profile.samples, 3u);
  EXPECT_EQ(profile.started.ns, 10);
  EXPECT_EQ(profile.time.ns, 12);
  EXPECT_EQ(profile.process, (ProcessKey{7, 8}));
}

// Each second the leak takes a slot, and memory for a while takes eight; after six seconds a cache is filled.
TEST_F(GrowthAccountTest, beside_a_cache_that_is_filled_and_memory_that_is_given_back_only_the_leak_keeps_growing) {
  Climb climb(account_);
  for (std::int64_t second = 0; second < 60; ++second) {
    climb.grow(second * 1000, kLeaks, 1);
    if (second == 5) climb.grow(second * 1000 + 1, kWarmsUp, 100);
    for (int i = 0; i < 8; ++i) climb.grow(second * 1000 + 2 + i, kScratches, 1);
    if (second < 59) climb.stands_at -= 8;
  }
  const GrowthProfile profile = account_.profile(0);
  EXPECT_EQ(profile.sampled_ms, 59'009u);
  std::map<std::string, std::string> patterns;
  std::map<std::string, std::vector<std::uint64_t>> parts;
  for (const IncidentGrowth::Place& place : growth_of(profile, 0).places) {
    patterns[place.code] = place.pattern;
    parts[place.code] = place.parts;
  }
  EXPECT_EQ(patterns, (std::map<std::string, std::string>{
                          {"leak (shop)", "persistent"}, {"warm_up (shop)", "one_off"}, {"scratch (shop)", ""}}));
  EXPECT_EQ(parts["leak (shop)"], (std::vector<std::uint64_t>{8'000, 7'000, 8'000, 7'000, 7'000, 8'000, 7'000, 8'000}));
  EXPECT_EQ(parts["warm_up (shop)"], (std::vector<std::uint64_t>{100'000, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(parts["scratch (shop)"], (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 0, 0, 8'000}));
}

// Two bursts of two seconds with a minute's rest between them.
TEST_F(GrowthAccountTest, time_while_nothing_is_sampled_is_in_no_part) {
  Climb climb(account_);
  for (std::int64_t ms = 0; ms < 2'000; ms += 250) climb.grow(ms, kLeaks, 1);
  account_.rest(at_ms(2'000));
  climb.grow(1'999, kLeaks, 1);  // taken before, read after
  account_.resume(at_ms(62'000));
  account_.resume(at_ms(63'000));  // which it has already
  for (std::int64_t ms = 62'000; ms <= 64'000; ms += 250) climb.grow(ms, kLeaks, 1);
  const GrowthProfile profile = account_.profile(0);
  EXPECT_EQ(profile.sampled_ms, 4'000u);
  ASSERT_EQ(profile.stacks.size(), 1u);
  EXPECT_EQ(profile.stacks[0].parts,
            (std::vector<std::uint64_t>{2'000, 2'000, 2'000, 3'000, 2'000, 2'000, 2'000, 3'000}));
  EXPECT_EQ(profile.stacks[0].late_bytes, 9'000u)
      << "by the clock, all of the second burst came in the last 16 seconds";
  EXPECT_EQ(growth_of(profile, 0).places.front().late_bytes, 9'000u);
}

TEST_F(GrowthAccountTest, a_climb_of_less_than_its_parts_has_none) {
  Climb climb(account_);
  climb.grow(0, kLeaks, 9);
  climb.grow(7, kLeaks, 9);
  const GrowthProfile profile = account_.profile(0);
  EXPECT_EQ(profile.sampled_ms, 7u);
  EXPECT_TRUE(profile.stacks.front().parts.empty());
}

TEST_F(GrowthAccountTest, samples_without_a_stack_take_no_other_ones) {
  account_.add({sample(1, 0, 1, false), sample(2, 1, 2)}, {.frames = {frame("leak")}, .stacks = {{true, {0}}}});
  const GrowthProfile profile = account_.profile(3);
  ASSERT_EQ(profile.stacks.size(), 1u);
  EXPECT_EQ(profile.stacks[0].bytes, 1000u);
  EXPECT_EQ(profile.grown_bytes, 2000u);
  EXPECT_EQ(profile.lost, 4u);
}

TEST_F(GrowthAccountTest, what_grew_while_nothing_was_sampled_is_in_a_note) {
  account_.add_unnamed({sample(1, 0, 4)});
  EXPECT_TRUE(account_.profile(0).notes.empty());
  account_.set_unseen(2048);
  const GrowthProfile profile = account_.profile(0);
  ASSERT_EQ(profile.notes.size(), 1u);
  EXPECT_EQ(profile.notes.front(), "1.95 MiB more grew while nothing was sampled");
  EXPECT_EQ(profile.grown_bytes, 4000u);
}

TEST_F(GrowthAccountTest, unnamed_samples_count_and_are_lost) {
  account_.add_unnamed({sample(1, 0, 4)});
  const GrowthProfile profile = account_.profile(0);
  EXPECT_EQ(profile.grown_bytes, 4000u);
  EXPECT_EQ(profile.lost, 1u);
  EXPECT_TRUE(profile.stacks.empty());
}

TEST_F(GrowthAccountTest, frames_beyond_the_answer_end_the_stack) {
  account_.add({sample(1, 0, 1)}, {.frames = {frame("leak")}, .stacks = {{true, {0, 77}}}});
  const GrowthProfile profile = account_.profile(0);
  ASSERT_EQ(profile.stacks.size(), 1u);
  EXPECT_EQ(profile.stacks[0].frames.size(), 1u);
  EXPECT_FALSE(profile.stacks[0].is_complete);
}

TEST_F(GrowthAccountTest, build_of_a_module_when_two_files_have_its_name_is_not_known) {
  UnwoundSamples unwound;
  unwound.frames = {frame("f"), frame("main")};
  unwound.frames[0].module = "libx.so";
  unwound.frames[1].module = "a";
  unwound.stacks = {{true, {0, 1}}};
  unwound.builds = {{"a", "ab12"}, {"libx.so", "01"}, {"in no stack", "ff"}};
  account_.add({sample(1, 0, 1)}, unwound);
  EXPECT_EQ(account_.profile(0).builds, (ModuleBuilds{{"a", "ab12"}, {"libx.so", "01"}}));
  unwound.builds = {{"libx.so", "02"}};
  account_.add({}, unwound);
  unwound.builds = {{"libx.so", "01"}};
  account_.add({}, unwound);
  EXPECT_EQ(account_.profile(0).builds, (ModuleBuilds{{"a", "ab12"}}));
}

TEST_F(GrowthAccountTest, python_whose_frames_were_never_copied_is_noted) {
  account_.add({sample(1, 0, 1)}, {.frames = {frame("f")}, .stacks = {{true, {0}}}, .python_version = 0x030e});
  ASSERT_EQ(account_.profile(0).notes.size(), 1u);
  EXPECT_EQ(account_.profile(0).notes.front(),
            "Python 3.14: its functions are not visible in the stacks, only the interpreter's own");
  oomw_growth_sample with_frames = sample(2, 1, 2);
  with_frames.python_frames = 1;
  account_.add({with_frames}, {.frames = {frame("f")}, .stacks = {{true, {0}}}});
  EXPECT_TRUE(account_.profile(0).notes.empty());
}

TEST_F(GrowthAccountTest, more_stacks_than_a_profile_has_are_noted) {
  std::vector<oomw_growth_sample> heads;
  UnwoundSamples unwound;
  for (std::uint32_t i = 0; i < GrowthProfile::kMaxStacks + 5; ++i) {
    heads.push_back(sample(i + 1, i, i + 1));
    unwound.frames.push_back(frame("f" + std::to_string(i)));
    unwound.stacks.push_back({true, {i}});
  }
  account_.add(heads, unwound);
  const GrowthProfile profile = account_.profile(0);
  EXPECT_EQ(profile.stacks.size(), GrowthProfile::kMaxStacks);
  EXPECT_EQ(profile.notes, std::vector<std::string>{"5 more stacks, each of fewer bytes"});
}

}  // namespace
}  // namespace oomw
