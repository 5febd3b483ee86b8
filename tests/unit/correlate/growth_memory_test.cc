// SPDX-License-Identifier: Apache-2.0
#include "correlate/growth_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/incident_files.h"
#include "unit/correlate/correlator_fixture.h"

namespace oomw::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

GrowthFrame python(const std::string& function, std::uint64_t line) {
  GrowthFrame frame;
  frame.function = function;
  frame.file = "app.py";
  frame.line = line;
  frame.is_managed = true;
  return frame;
}

GrowthProfile profile(std::int64_t ms, std::int32_t pid = 10) {
  GrowthProfile growth;
  growth.time = at_ms(ms);
  growth.started = at_ms(1);
  growth.process = {pid, 5};
  growth.cgroup = {2};
  growth.slot_bytes = 256u << 10;
  growth.grown_bytes = 10 * kMiB;
  growth.samples = 40;
  growth.stacks = {{6 * kMiB, true, {python("generate", 41), python("view", 60)}},
                   {3 * kMiB, true, {python("generate", 42), python("view", 61)}}};
  growth.spool_file = "7-growth.pb.gz";
  return growth;
}

TEST(GrowthMemory, the_newest_profile_of_a_process_is_kept) {
  GrowthMemory memory;
  memory.add(profile(100));
  memory.add(profile(50));
  ASSERT_NE(memory.of({10, 5}, at_ms(60)), nullptr);
  EXPECT_EQ(memory.of({10, 5}, at_ms(60))->time, at_ms(100));
  EXPECT_EQ(memory.of({10, 6}, at_ms(60)), nullptr);
  EXPECT_EQ(memory.of({10, 5}, MonotonicTime{}), nullptr);
  EXPECT_EQ(memory.size(), 1u);
}

TEST(GrowthMemory, profile_of_an_ended_process_waits_for_its_kill_and_then_goes) {
  GrowthMemory memory;
  memory.add(profile(100, 1));
  memory.add(profile(100, 2));
  memory.on_exit({1, 5}, at_ms(1'000));
  memory.add(profile(1'001, 1));  // its last, made after its end
  memory.on_exit({3, 5}, at_ms(1'000) + GrowthMemory::kKeptAfterEnd);
  EXPECT_NE(memory.of({1, 5}, at_ms(2'000)), nullptr);
  memory.on_exit({3, 5}, at_ms(1'001) + GrowthMemory::kKeptAfterEnd);
  EXPECT_EQ(memory.of({1, 5}, at_ms(2'000)), nullptr);
  EXPECT_NE(memory.of({2, 5}, at_ms(2'000)), nullptr);
  EXPECT_EQ(memory.size(), 1u);
}

TEST(GrowthMemory, processes_and_bytes_are_bounded) {
  GrowthMemory memory;
  for (std::int32_t pid = 1; pid <= 100; ++pid) memory.add(profile(100, pid));
  EXPECT_EQ(memory.size(), GrowthMemory::kMaxProcesses);
  EXPECT_EQ(memory.of({1, 5}, at_ms(200)), nullptr);
  GrowthProfile large = profile(100, 200);
  large.stacks.front().frames.front().function = std::string(GrowthMemory::kMaxBytes, 'x');
  memory.add(large);
  EXPECT_EQ(memory.size(), 1u);
  memory.add(profile(100, 1));
  EXPECT_LT(memory.bytes(), GrowthMemory::kMaxBytes);
}

TEST(GrowthMemory, stacks_of_one_function_are_one_place) {
  const IncidentGrowth growth = growth_of(profile(100), 0);
  ASSERT_THAT(growth.places, SizeIs(1));
  EXPECT_EQ(growth.places.front().code, "generate (app.py:41)");
  EXPECT_EQ(growth.places.front().bytes, 9 * kMiB);
  EXPECT_DOUBLE_EQ(growth.places.front().share, 0.9);
  ASSERT_THAT(growth.stacks, SizeIs(2));
  EXPECT_THAT(growth.stacks.back().frames, ElementsAre("generate (app.py:42)", "view (app.py:61)"));
  EXPECT_EQ(growth.stacks.back().code, growth.places.front().code);
}

// A climb of a minute: each part brings 768 KiB through one line and 384 through the other.
GrowthProfile steady(std::int64_t ms) {
  GrowthProfile growth = profile(ms);
  growth.sampled_ms = 60'000;
  growth.stacks[0].parts.assign(GrowthProfile::kParts, 768u << 10);
  growth.stacks[1].parts.assign(GrowthProfile::kParts, 384u << 10);
  return growth;
}

TEST(GrowthMemory, a_place_has_the_parts_of_all_its_stacks_and_their_pattern) {
  IncidentGrowth growth = growth_of(steady(100), 0);
  ASSERT_THAT(growth.places, SizeIs(1));
  EXPECT_EQ(growth.places[0].parts, std::vector<std::uint64_t>(8, 1152u << 10));
  EXPECT_EQ(growth.places[0].pattern, "persistent");
  EXPECT_EQ(growth.sampled_seconds, 60);
  GrowthProfile by_collector = steady(100);
  GrowthFrame thread;
  thread.function = "GCTaskThread::run";
  for (GrowthStack& stack : by_collector.stacks) stack.frames = {thread};
  growth = growth_of(by_collector, 0);
  EXPECT_TRUE(growth.places[0].is_collector);
  EXPECT_EQ(growth.places[0].pattern, "");
  growth = growth_of(profile(100), 0);  // as an earlier version recorded it
  EXPECT_EQ(growth.sampled_seconds, std::nullopt);
  EXPECT_TRUE(growth.places[0].parts.empty());
}

TEST(GrowthMemory, native_code_has_the_build_of_its_module) {
  GrowthProfile growth = profile(100);
  GrowthFrame put;
  put.function = "Session::put";
  put.module = "shop";
  growth.stacks[0].frames = {put};
  growth.builds = {{"shop", "c0de"}, {"libc.so.6", "ab"}};
  const IncidentGrowth made = growth_of(growth, 0);
  ASSERT_THAT(made.places, SizeIs(2));
  EXPECT_EQ(made.places[0].code, "Session::put (shop)");
  EXPECT_EQ(made.places[0].build_id, "c0de");
  EXPECT_EQ(made.places[1].build_id, "");  // Python
}

TEST(GrowthMemory, what_an_incident_takes_is_bounded) {
  GrowthProfile many = profile(100);
  many.stacks.assign(1000, {1, true, std::vector<GrowthFrame>(1000, python("f", 1))});
  for (std::size_t i = 0; i < many.stacks.size(); ++i) {
    many.stacks[i].frames.front().function = "f" + std::to_string(i);
  }
  many.notes.assign(100, "note");
  const IncidentGrowth growth = growth_of(many, 0);
  EXPECT_THAT(growth.stacks, SizeIs(IncidentGrowth::kMaxStacks));
  EXPECT_THAT(growth.stacks.front().frames, SizeIs(IncidentGrowth::kMaxFrames));
  EXPECT_FALSE(growth.stacks.front().is_complete);
  EXPECT_THAT(growth.places, SizeIs(IncidentGrowth::kMaxPlaces));
  EXPECT_THAT(growth.notes, SizeIs(GrowthProfile::kMaxNotes));
}

using GrowthOfKill = PodCorrelatorFixture;

TEST_F(GrowthOfKill, a_profile_that_comes_after_the_incident_was_written_amends_it) {
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_FALSE(take_one(3000).growth);
  apply(profile(3100));
  const Incident amended = take_one(4000);
  ASSERT_TRUE(amended.growth);
  EXPECT_EQ(amended.growth->pid, 10);
  EXPECT_EQ(amended.growth->file, "growth.pb.gz");
  const auto files = evidence_files_of(amended);
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_EQ(files.front().name, "growth.pb.gz");
  const auto read = incident_from_json(to_json(amended));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(to_json(*read), to_json(amended));
  EXPECT_THAT(to_markdown(amended, {}), HasSubstr("| 90.0 % | 9.00 MiB | generate"));
}

TEST_F(GrowthOfKill, the_incident_and_its_report_have_the_growth_over_time) {
  apply(steady(900));
  apply(killed(10, 5, 2, 2, 1000));
  const Incident incident = take_one(3000);
  const std::string json = to_json(incident);
  EXPECT_THAT(json, HasSubstr("\"pattern\": \"persistent\""));
  const auto read = incident_from_json(json);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(to_json(*read), json);
  const std::string report = to_markdown(*read, {});
  EXPECT_THAT(report, HasSubstr("in 8 equal parts of the 60.0 s that were sampled"));
  EXPECT_THAT(report, HasSubstr("| 1.12 MiB | 1.12 MiB | all the time, in 8 of 8 parts |"));
}

TEST_F(GrowthOfKill, a_profile_of_another_process_is_not_the_victims) {
  apply(profile(900, 20));
  apply(killed(10, 5, 2, 2, 1000));
  EXPECT_FALSE(take_one(3000).growth);
}

}  // namespace
}  // namespace oomw::test
