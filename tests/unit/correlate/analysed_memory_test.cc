// SPDX-License-Identifier: Apache-2.0
#include "correlate/analysed_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlate/analysis_memory.h"
#include "unit/correlate/correlator_fixture.h"

namespace oomw::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HeapAnalysed analysed(std::int64_t ms, std::uint64_t held, RuntimeKind of = RuntimeKind::kGo) {
  HeapAnalysed event;
  event.time = at_ms(ms);
  event.started = at_ms(ms - 100);
  event.process = {10, 5};
  event.cgroup = {2};
  event.of = of;
  event.trigger = CaptureTrigger::watermark(80);
  event.result = CaptureResult::kOk;
  event.rooted_ratio = 0.9;
  event.samples = 60;
  event.holders.push_back({0.95, held, 55, true, "", {"global main.sessions", "[] -> main.session"}});
  event.goroutines.push_back({300, "waiting", {"runtime.chansend", "main.handle"}, "main.main", ""});
  event.goroutine_count = 305;
  event.files.push_back({"holders.json", "2-analysis.pb.gz"});
  return event;
}

HeapAnalysed gone(std::int64_t ms) {
  HeapAnalysed event = analysed(ms, 0);
  event.result = CaptureResult::kFailed;
  event.reason = CaptureReason::kGone;
  event.detail = "the process ended while its memory was read";
  event.holders.clear();
  event.files.clear();
  return event;
}

const MonotonicTime kKill = at_ms(10'000);

TEST(AnalysisMemory, composition_alone_gives_way_to_the_runtimes_own_row) {
  AnalysisMemory memory;
  HeapAnalysed composition = analysed(1000, 0, RuntimeKind::kNative), counters = analysed(9000, 0, RuntimeKind::kJvm);
  counters.trigger.kind = CaptureTrigger::Kind::kOomKill;
  memory.add(composition);
  memory.add(counters);
  EXPECT_EQ(memory.of({10, 5}, kKill).size(), 2u) << "counters read after the kill replace nothing";
  memory.add(analysed(2000, 100, RuntimeKind::kJvm));
  for (const HeapAnalysed& one : memory.of({10, 5}, kKill)) EXPECT_EQ(one.of, RuntimeKind::kJvm);
}

TEST(AnalysisMemory, composition_alone_does_not_replace_what_was_known_of_its_objects) {
  AnalysisMemory memory;
  HeapAnalysed composition = analysed(1000, 0, RuntimeKind::kNative);
  composition.sampled_ratio = 0;
  memory.add(composition);
  EXPECT_EQ(memory.of({10, 5}, kKill).size(), 1u);
  memory.add(analysed(2000, 100, RuntimeKind::kNative));
  ASSERT_EQ(memory.of({10, 5}, kKill).size(), 1u) << "there is more now";
  composition.time = at_ms(9000);
  memory.add(composition);
  HeapAnalysed failed = gone(9500);
  failed.of = RuntimeKind::kNative;
  memory.add(failed);
  const auto known = memory.of({10, 5}, kKill);
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].time, at_ms(2000));
  EXPECT_EQ(known[1].result, CaptureResult::kFailed);
}

TEST(AnalysedMemory, newest_reading_counts_and_growth_is_since_the_one_before) {
  Incident incident;
  add_analyses(incident, {analysed(1000, 100), analysed(5000, 250)}, kKill, 0);
  ASSERT_EQ(incident.holders.size(), 1u);
  EXPECT_EQ(incident.holders[0].bytes, 250u);
  EXPECT_TRUE(incident.holders[0].is_owner);
  EXPECT_DOUBLE_EQ(incident.holders[0].growth_ratio.value_or(0), 2.5);
  EXPECT_EQ(incident.goroutine_count, 305u);
  ASSERT_EQ(incident.analyses.size(), 2u);
  EXPECT_THAT(incident.analyses[0].files, IsEmpty()) << "only the newest brings its files";
  EXPECT_EQ(incident.analyses[1].files.size(), 1u);
  EXPECT_DOUBLE_EQ(incident.analyses[1].lead_seconds, 5);
}

TEST(AnalysedMemory, what_fills_it_is_kept_of_both_readings_to_compare) {
  HeapAnalysed before = analysed(1000, 100, RuntimeKind::kCpython), newest = analysed(5000, 250, RuntimeKind::kCpython);
  before.files = {{"contents.pb.gz", "2-analysis.pb.gz"}};
  newest.files = {{"contents.pb.gz", "3-analysis.pb.gz"}};
  HeapAnalysed native = newest;  // of another runtime in the same process
  native.of = RuntimeKind::kNative;
  native.files = {{"contents.pb.gz", "4-analysis.pb.gz"}};
  Incident incident;
  add_analyses(incident, {before, newest, native}, kKill, 0);
  ASSERT_EQ(incident.analyses.size(), 3u);
  ASSERT_EQ(incident.analyses[0].files.size(), 1u);
  EXPECT_EQ(incident.analyses[0].files[0].name, "contents-before.pb.gz");
  EXPECT_EQ(incident.analyses[0].files[0].spool_file, "2-analysis.pb.gz");
  ASSERT_EQ(incident.analyses[1].files.size(), 1u);
  EXPECT_EQ(incident.analyses[1].files[0].name, "contents.pb.gz");
  EXPECT_EQ(incident.analyses[1].files[0].spool_file, "3-analysis.pb.gz");
  EXPECT_THAT(incident.analyses[2].files, IsEmpty());
}

TEST(AnalysedMemory, failed_reading_hides_nothing_and_is_explained) {
  Incident incident;
  add_analyses(incident, {analysed(1000, 100), gone(9000)}, kKill, 0);
  EXPECT_EQ(incident.holders.size(), 1u);
  EXPECT_THAT(incident.notes, ElementsAre(HasSubstr("the process ended while its memory was read")));
}

TEST(AnalysedMemory, owner_that_was_not_found_is_a_note) {
  HeapAnalysed event = analysed(1000, 100);
  event.holders[0].is_owner = false;
  event.why_no_owner = "rooted 41 % of 60 samples";
  Incident incident;
  add_analyses(incident, {event}, kKill, 0);
  EXPECT_THAT(incident.notes, ElementsAre("holders: owner not found (rooted 41 % of 60 samples)"));
}

TEST(AnalysedMemory, fillers_and_parts_of_other_runtimes_are_taken_over) {
  HeapAnalysed event = analysed(1000, 0, RuntimeKind::kCpython);
  event.holders.clear();
  event.fillers.push_back({"type", "dict", "LOG in app", 500, 7, 0.8});
  event.parts.push_back({"objects", "cpython", 600, "obmalloc"});
  event.named_ratio = 0.9;
  Incident incident;
  add_analyses(incident, {event}, kKill, 0);
  ASSERT_EQ(incident.fillers.size(), 1u);
  EXPECT_EQ(incident.fillers[0].runtime, "cpython");
  EXPECT_EQ(incident.fillers[0].held_as, "LOG in app");
  EXPECT_EQ(incident.fillers[0].count, 7u);
  ASSERT_TRUE(incident.composition);
  EXPECT_EQ(incident.composition->parts.size(), 1u);
}

TEST(AnalysedMemory, growth_of_a_filler_is_since_the_reading_before_by_kind_name_and_holder) {
  HeapAnalysed before = analysed(1000, 100, RuntimeKind::kCpython), newest = analysed(5000, 250, RuntimeKind::kCpython);
  before.fillers = {{"holder", "list of dict", "LOG in app", 200, 7, 0.8}, {"type", "str", "", 0, 7, 0.1}};
  newest.fillers = {{"holder", "list of dict", "LOG in app", 500, 7, 0.8},
                    {"holder", "list of dict", "OTHER in app", 300, 7, 0.5},
                    {"type", "str", "", 90, 7, 0.1}};
  Incident incident;
  add_analyses(incident, {before, newest}, kKill, 0);
  ASSERT_EQ(incident.fillers.size(), 3u);
  EXPECT_DOUBLE_EQ(incident.fillers[0].growth_ratio.value_or(0), 2.5);
  EXPECT_FALSE(incident.fillers[1].growth_ratio);
  EXPECT_FALSE(incident.fillers[2].growth_ratio);
}

TEST(AnalysedMemory, an_estimate_is_marked_and_compared_with_nothing) {
  HeapAnalysed before = analysed(1000, 100, RuntimeKind::kCpython), newest = analysed(5000, 250, RuntimeKind::kCpython);
  before.fillers = {{"type", "dict", "", 200, 7, 0.8}, {"type", "str", "", 100, 7, 0.1}};
  newest.fillers = {{"type", "dict", "", 500, 7, 0.8, 40}, {"type", "str", "", 200, 7, 0.1}};
  newest.sampled_ratio = 0.125;
  Incident incident;
  add_analyses(incident, {before, newest}, kKill, 0);
  ASSERT_EQ(incident.fillers.size(), 2u);
  EXPECT_EQ(incident.fillers[0].error_bytes, 40u);
  EXPECT_FALSE(incident.fillers[0].growth_ratio);
  EXPECT_FALSE(incident.fillers[1].error_bytes);
  EXPECT_EQ(incident.fillers[1].growth_ratio, 2);
  EXPECT_EQ(incident.analyses.back().sampled_ratio, 0.125);
  EXPECT_FALSE(incident.analyses.front().sampled_ratio);
  std::swap(before.fillers, newest.fillers);
  Incident later;
  add_analyses(later, {before, newest}, kKill, 0);
  EXPECT_FALSE(later.fillers[0].growth_ratio) << "the one before was an estimate";
}

TEST(AnalysedMemory, a_sample_does_not_hide_what_all_of_the_memory_said_shortly_before) {
  HeapAnalysed whole = analysed(5000, 100, RuntimeKind::kCpython), sample = analysed(9000, 0, RuntimeKind::kCpython);
  whole.fillers = {{"holder", "dict of dict", "sessions in app", 300, 7, 0.9}};
  sample.fillers = {{"type", "str", "", 400, 7, 0.8, 40}};
  whole.files = {{"contents.pb.gz", "2-analysis.pb.gz"}}, sample.files = {{"contents.pb.gz", "3-analysis.pb.gz"}};
  whole.usage_bytes = 80, sample.usage_bytes = 95;
  sample.sampled_ratio = 0.5;
  whole.parts = {{"malloc: free", "native", 10, "malloc"}}, sample.parts = {{"malloc: free", "native", 50, "malloc"}};
  Incident incident;
  add_analyses(incident, {whole, sample}, kKill, 0);
  ASSERT_EQ(incident.fillers.size(), 1u);
  EXPECT_EQ(incident.fillers[0].held_as, "sessions in app");
  ASSERT_TRUE(incident.composition);
  EXPECT_EQ(incident.composition->parts[0].bytes, 50u) << "of a moment's parts the newest";
  ASSERT_EQ(incident.analyses.size(), 2u);
  EXPECT_EQ(incident.analyses[0].files.size(), 1u);
  EXPECT_THAT(incident.analyses[1].files, IsEmpty()) << "it is not the one before";
  sample.usage_bytes = 110;
  Incident grown;
  add_analyses(grown, {whole, sample}, kKill, 0);
  EXPECT_EQ(grown.fillers[0].name, "str") << "much came since";
  EXPECT_EQ(grown.analyses[0].files[0].name, "contents-before.pb.gz");
}

// What a JVM left behind says nothing of what fills it.
HeapAnalysed read_after_kill(std::int64_t ms) {
  HeapAnalysed event;
  event.time = event.started = at_ms(ms);
  event.process = analysed(ms, 0).process;
  event.of = RuntimeKind::kJvm;
  event.trigger.kind = CaptureTrigger::Kind::kOomKill;
  event.result = CaptureResult::kOk;
  event.notes = {"the JVM's own last figures: 21 threads"};
  event.jvm.emplace_back().threads = 21;
  return event;
}

TEST(AnalysedMemory, what_a_jvm_left_behind_is_a_note_and_hides_no_reading) {
  HeapAnalysed reading = analysed(5000, 0, RuntimeKind::kJvm);
  reading.fillers.push_back({"type", "byte[]", "", 500, 7, 0.8});
  Incident incident;
  add_analyses(incident, {reading, read_after_kill(10'020)}, kKill, 0);
  EXPECT_EQ(incident.fillers.size(), 1u);
  EXPECT_THAT(incident.notes, ElementsAre("analyses: the JVM's own last figures: 21 threads"));
  ASSERT_EQ(incident.analyses.size(), 2u);
  EXPECT_EQ(incident.analyses[1].trigger, "oom_kill");
  EXPECT_EQ(incident.analyses[0].jvm, std::nullopt);
  ASSERT_TRUE(incident.analyses[1].jvm);
  EXPECT_EQ(incident.analyses[1].jvm->threads, 21u);
}

TEST(AnalysedMemory, python_s_pools_at_the_kill_stand_beside_the_reading) {
  HeapAnalysed reading = analysed(5000, 0, RuntimeKind::kCpython);
  reading.fillers.push_back({"type", "dict", "", 500, 7, 0.8});
  HeapAnalysed at_kill = read_after_kill(10'001);
  at_kill.of = RuntimeKind::kCpython;
  at_kill.notes.clear();
  at_kill.jvm.clear();
  at_kill.pools = {{900, 64, 64, {{"dict", 800, 10, 60, 5}}, ""}};
  Incident incident;
  add_analyses(incident, {reading, at_kill}, kKill, 0);
  EXPECT_EQ(incident.fillers.size(), 1u);
  ASSERT_EQ(incident.analyses.size(), 2u);
  EXPECT_EQ(incident.analyses[0].pools, std::nullopt);
  EXPECT_EQ(incident.analyses[1].pools, at_kill.pools.front());
}

TEST(AnalysisMemory, what_was_read_after_the_kill_is_given_and_takes_no_readings_place) {
  AnalysisMemory memory;
  memory.add(analysed(1000, 1, RuntimeKind::kJvm));
  memory.add(analysed(2000, 2, RuntimeKind::kJvm));
  memory.add(read_after_kill(10'020));
  EXPECT_EQ(memory.of(analysed(0, 0).process, kKill).size(), 3u);
}

TEST(AnalysisMemory, keeps_two_of_a_runtime_and_one_failure) {
  AnalysisMemory memory;
  for (std::int64_t ms = 1000; ms < 6000; ms += 1000) memory.add(analysed(ms, 1));
  memory.add(gone(6000));
  memory.add(gone(7000));
  memory.add(analysed(7500, 1, RuntimeKind::kNative));
  const auto found = memory.of({10, 5}, at_ms(20'000));
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].time, at_ms(4000));
  EXPECT_EQ(found[1].time, at_ms(5000));
  EXPECT_EQ(found[2].time, at_ms(7000));
}

TEST(AnalysisMemory, what_ended_after_the_kill_does_not_count_unless_it_failed) {
  AnalysisMemory memory;
  memory.add(analysed(1000, 1));
  memory.add(gone(3000));
  memory.add(analysed(4000, 1));
  EXPECT_EQ(memory.of({10, 5}, at_ms(2000)).size(), 2u);
  EXPECT_TRUE(memory.of({10, 6}, at_ms(2000)).empty()) << "another process with that pid";
}

TEST(AnalysisMemory, is_bounded_in_processes_and_bytes) {
  AnalysisMemory memory;
  HeapAnalysed large = analysed(1000, 1);
  large.notes.assign(8, std::string(10'000, 'x'));
  for (std::int32_t pid = 1; pid <= 2'000; ++pid) {
    large.process = {pid, 1};
    memory.add(large);
  }
  EXPECT_LE(memory.size(), AnalysisMemory::kMaxProcesses);
  EXPECT_LE(memory.bytes(), AnalysisMemory::kMaxBytes);
  EXPECT_EQ(memory.of({2'000, 1}, at_ms(2000)).size(), 1u);
}

TEST_F(PodCorrelatorFixture, analysis_before_the_kill_is_in_the_incident_and_late_one_amends_it) {
  apply(analysed(1000, 100));
  apply(killed(10, 5, 2, 2, 5000));
  const Incident first = take_one(5100);
  ASSERT_EQ(first.holders.size(), 1u);
  apply(analysed(4900, 300));
  const Incident again = take_one(5300);
  EXPECT_EQ(again.id, first.id);
  ASSERT_EQ(again.holders.size(), 1u);
  EXPECT_EQ(again.holders[0].bytes, 300u);
}

}  // namespace
}  // namespace oomw::test
