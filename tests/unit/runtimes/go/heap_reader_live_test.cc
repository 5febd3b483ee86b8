// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtimes/go/heap_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/open_memory.h"
#include "unit/runtimes/go/debug_text.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw::go {
namespace {

using test::debug_lines;
using test::GoProcess;
using test::target_of;

// Compares all records of the process's own profile with ours.
void expect_equal_to_own_profile(GoProcess& process) {
  process.ask("nogc");
  process.ask("gc");
  const auto own = debug_lines(process.ask("profile"));
  const auto target = target_of(process.pid());
  ASSERT_TRUE(target.has_value()) << target.error().message;
  const auto snapshot = read_heap(*target);
  ASSERT_TRUE(snapshot.has_value()) << snapshot.error().message;
  EXPECT_TRUE(snapshot->complete) << snapshot->reason;
  EXPECT_EQ(snapshot->counts.rejected_hash, 0U);
  EXPECT_GT(own.size(), 1U);
  EXPECT_THAT(test::only_in_one(debug_lines(*snapshot), own), testing::IsEmpty());
}

RecordLayout layout_of(const std::string& version) {
  return version == "1.27" ? RecordLayout::kObjects : RecordLayout::kObjectsAndBytes;
}

void expect_live_read_works(const std::string& version, const std::string& variant) {
  OOMW_BUILD_OR_SKIP(program, version, variant);
  GoProcess process(program.path);
  ASSERT_TRUE(process.is_ready());
  process.ask("leak 20");
  process.ask("inline 20");
  process.ask("garbage 20");
  expect_equal_to_own_profile(process);
  const auto snapshot = read_heap(*target_of(process.pid()));
  EXPECT_EQ(snapshot->layout, layout_of(version));
  EXPECT_THAT(snapshot->go_version, testing::StartsWith("go" + version + "."));
  EXPECT_EQ(snapshot->rate, 512 << 10);
  EXPECT_FALSE(snapshot->is_rate_assumed);
  ASSERT_TRUE(snapshot->cycle.has_value());
  EXPECT_GT(snapshot->cycle->cycle(), 0U);
}

TEST(HeapReader, plain_program_equals_its_own_profile) { expect_live_read_works("1.19", "plain"); }
TEST(HeapReader, stripped_pie_equals_its_own_profile) { expect_live_read_works("1.19", "pie-strip"); }

class GoRuntimeMatrix : public testing::TestWithParam<std::tuple<const char*, const char*>> {};
TEST_P(GoRuntimeMatrix, equals_its_own_profile) {
  expect_live_read_works(std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(All, GoRuntimeMatrix,
                         testing::Combine(testing::Values("1.19", "1.26", "1.27"),
                                          testing::Values("plain", "strip", "pie-strip", "ext-strip", "ext-pie-strip")),
                         test::name_of_program);

class GoRuntimeMatrixStacks : public testing::TestWithParam<const char*> {};
TEST_P(GoRuntimeMatrixStacks, twenty_thousand_distinct_stacks_are_read_whole) {
  OOMW_BUILD_OR_SKIP(program, GetParam(), "strip");
  GoProcess process(program.path, "1");
  ASSERT_TRUE(process.is_ready());
  process.ask("stacks 20000");
  process.ask("gc");
  const auto snapshot = read_heap(*target_of(process.pid()));
  ASSERT_TRUE(snapshot.has_value()) << snapshot.error().message;
  EXPECT_TRUE(snapshot->complete) << snapshot->reason;
  EXPECT_GE(snapshot->buckets.size(), 20000U);
  EXPECT_EQ(snapshot->layout, layout_of(GetParam()));
  EXPECT_EQ(snapshot->rate, 1);
  // Each of them holds one block of 64 bytes for good.
  const auto held = std::count_if(snapshot->buckets.begin(), snapshot->buckets.end(), [](const Bucket& b) {
    return b.size == 64 && in_use(b.active) == HeapAmount{1, 64};
  });
  EXPECT_GE(held, 20000);
  process.ask("rate 1000000000");
  expect_equal_to_own_profile(process);
}
INSTANTIATE_TEST_SUITE_P(All, GoRuntimeMatrixStacks, testing::Values("1.19", "1.26", "1.27"),
                         [](const auto& stacks_info) { return std::string("go1_") + (stacks_info.param + 2); });

TEST(HeapReader, held_now_sees_what_no_collection_has_published) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoProcess process(program.path, "1");
  process.ask("gc");
  const auto target = target_of(process.pid());
  ASSERT_TRUE(target.has_value()) << target.error().message;
  const auto held_bytes = [&](auto counts_of) {
    const auto snapshot = read_heap(*target);
    std::int64_t bytes = 0;
    for (const Bucket& b : snapshot->buckets) bytes += b.size == (1 << 20) ? in_use((b.*counts_of)()).bytes : 0;
    return bytes;
  };
  process.ask("leak 3");  // 3 MiB at a heap goal of 4 MiB: no collection yet
  EXPECT_EQ(held_bytes(&Bucket::held_now), 3 << 20);
  EXPECT_EQ(held_bytes(&Bucket::live_at_last_gc), 0);
  process.ask("gc");
  EXPECT_EQ(held_bytes(&Bucket::live_at_last_gc), 3 << 20);
}

TEST(HeapReader, list_empty_at_registration_is_read_once_it_is_filled) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoProcess process(program.path, "1000000000");  // nothing sampled before the rate was set, nothing after
  auto target = target_of(process.pid());
  ASSERT_TRUE(target.has_value()) << target.error().message;
  const auto first = read_heap(*target);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_TRUE(first->complete) << first->reason;
  const auto before = first->buckets.size();
  process.ask("leak 6000");  // 6 GiB of untouched zero pages: about 6 samples
  const auto later = read_heap(*target);
  ASSERT_TRUE(later.has_value()) << later.error().message;
  EXPECT_GT(later->buckets.size(), before);
}

TEST(HeapReader, rate_zero_is_said_and_not_shown_as_an_empty_heap) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoProcess process(program.path, "0");
  const auto snapshot = read_heap(*target_of(process.pid()));
  ASSERT_TRUE(snapshot.has_value()) << snapshot.error().message;
  EXPECT_EQ(snapshot->rate, 0);
  // What the start of the runtime sampled, before the program set the rate, is still told.
  EXPECT_TRUE(!snapshot->buckets.empty() || snapshot->reason.find("MemProfileRate is 0") != std::string::npos);
}

TEST(HeapReader, ended_process_is_not_found) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  std::optional<HeapTarget> target;
  {
    GoProcess process(program.path);
    target = *target_of(process.pid());
  }
  const auto snapshot = read_heap(*target);
  ASSERT_FALSE(snapshot.has_value());
  EXPECT_EQ(snapshot.error().code, ErrorCode::kNotFound);
}

TEST(HeapReader, another_program_in_the_pid_is_not_read) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoProcess process(program.path);
  auto target = *target_of(process.pid());
  target.image.start_time_ticks += 1;  // what a reused pid looks like
  EXPECT_EQ(read_heap(target).error().code, ErrorCode::kNotFound);
}

TEST(HeapReader, linked_out_profiling_is_unsupported_with_the_reason) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip-nopprof");
  GoProcess process(program.path);
  const auto target = target_of(process.pid());
  ASSERT_FALSE(target.has_value());
  EXPECT_EQ(target.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(target.error().message, testing::HasSubstr("not linked in"));
}

TEST(HeapReader, scan_finds_the_same_list_head_as_the_code) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "pie-strip");
  GoProcess process(program.path, "1");
  process.ask("leak 1");
  const auto binary = test::inspect_path(program.path);
  const auto image = read_process_image(process.pid());
  const auto target = resolve_target(*image, *binary, {});
  ASSERT_TRUE(target.has_value()) << target.error().message;
  const auto bias = target->load_bias;
  const auto head =
      scan_for_list_head(ProcessMemory(process.pid()), {binary->bss.begin + bias, binary->bss.end + bias});
  ASSERT_TRUE(head.has_value()) << head.error().message;
  EXPECT_EQ(*head, *target->variables.buckets);
}

TEST(HeapReader, without_an_address_in_the_file_the_scan_resolves_the_target) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoProcess process(program.path, "1");
  process.ask("leak 2");
  auto binary = *test::inspect_path(program.path);
  binary.variables = {};
  binary.profiling = Profiling::kNotFound;
  const auto target = resolve_target(*read_process_image(process.pid()), binary, [&](elf::AddressRange bss) {
    return scan_for_list_head(ProcessMemory(process.pid()), bss);
  });
  ASSERT_TRUE(target.has_value()) << target.error().message;
  EXPECT_EQ(target->method, LocateMethod::kScan);
  const auto snapshot = read_heap(*target);
  EXPECT_TRUE(snapshot->complete) << snapshot->reason;
  EXPECT_TRUE(snapshot->is_rate_assumed);
}

}  // namespace
}  // namespace oomw::go
