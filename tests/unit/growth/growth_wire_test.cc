// SPDX-License-Identifier: Apache-2.0
// What daemon and reader say to each other is bounded on both sides: either may be in foreign hands.
#include "growth/growth_wire.h"

#include <cstring>

#include <gtest/gtest.h>

#include "growth/perf_map.h"
#include "memory/byte_source.h"
#include "reader/wire.h"

namespace oomw::growth {
namespace {

std::vector<std::byte> record(std::size_t stack_bytes) {
  oomw_growth_sample head{};
  head.size = static_cast<__u32>(sizeof head + stack_bytes);
  head.stack_bytes = static_cast<__u32>(stack_bytes);
  std::vector<std::byte> bytes(head.size);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

GrowthFrame frame_of(std::string function) {
  GrowthFrame one;
  one.function = std::move(function);
  return one;
}

TEST(GrowthWire, ranges_when_sent_come_back) {
  const std::vector<JobRange> ranges = {{0x1000, 0x2000, 0, JobRange::kFirstFile, "a"},
                                        {0x2000, 0x3000, 0x1000, JobRange::kNoFile, "", true}};
  const auto back = decode_ranges(encode_ranges(ranges), 1);
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->size(), 2U);
  EXPECT_EQ(back->front().name, "a");
  EXPECT_EQ(back->back().file_offset, 0x1000U);
  EXPECT_FALSE(back->front().is_data);
  EXPECT_TRUE(back->back().is_data);
}

TEST(GrowthWire, ranges_when_they_overlap_or_name_a_file_that_is_not_given_are_refused) {
  EXPECT_FALSE(
      decode_ranges(encode_ranges(std::vector<JobRange>{{0x1000, 0x3000, 0, 0, ""}, {0x2000, 0x4000, 0, 0, ""}}), 1));
  EXPECT_FALSE(
      decode_ranges(encode_ranges(std::vector<JobRange>{{0x1000, 0x3000, 0, JobRange::kFirstFile + 1, ""}}), 1));
  EXPECT_FALSE(decode_ranges("", 1));
}

TEST(GrowthWire, samples_when_more_than_a_job_takes_are_refused) {
  std::vector<std::byte> records;
  for (std::size_t i = 0; i <= kMaxSamples; ++i) {
    const auto one = record(0);
    records.insert(records.end(), one.begin(), one.end());
  }
  EXPECT_EQ(parse_samples(records).error().code, ErrorCode::kLimit);
}

TEST(GrowthWire, sample_when_its_stack_reaches_out_of_it_is_refused) {
  std::vector<std::byte> bytes = record(64);
  ASSERT_TRUE(parse_samples(bytes).has_value());
  oomw_growth_sample head{};
  std::memcpy(&head, bytes.data(), sizeof head);
  head.stack_bytes = 65;
  std::memcpy(bytes.data(), &head, sizeof head);
  EXPECT_FALSE(parse_samples(bytes).has_value());
}

TEST(GrowthWire, answer_when_it_has_terminal_codes_is_printable) {
  const auto back = decode_unwound(
      encode_unwound(UnwoundSamples{.frames = {frame_of("a\x1b[31m"), frame_of("")}, .stacks = {{true, {0, 1}}}}), 1);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->frames[0].function, "a\\x1b[31m");
  EXPECT_FALSE(back->frames[1].function.empty());
}

TEST(GrowthWire, layout_of_python_comes_back) {
  UnwoundSamples unwound;
  unwound.python = {.thread_state = 1,
                    .id_of_thread = 2,
                    .frame_of_thread = 3,
                    .frame_of_cframe = 4,
                    .code_of_frame = 5,
                    .previous_of_frame = 6,
                    .instruction_of_frame = 7,
                    .has_cframe = true};
  unwound.python_version = 0x030c;
  const auto back = decode_unwound(encode_unwound(unwound), 0);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->python.thread_state, 1U);
  EXPECT_EQ(back->python.id_of_thread, 2U);
  EXPECT_EQ(back->python.frame_of_cframe, 4U);
  EXPECT_EQ(back->python.instruction_of_frame, 7U);
  EXPECT_TRUE(back->python.has_cframe);
  EXPECT_EQ(back->python_version, 0x030cU);
}

TEST(GrowthWire, names_that_code_refers_to_when_too_many_are_cut) {
  UnwoundSamples unwound;
  unwound.frames = {frame_of("keep"), frame_of("next")};
  unwound.frames[0].uses.assign(GrowthFrame::kMaxUses + 1, "LOG");
  const auto back = decode_unwound(encode_unwound(unwound), 0);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->frames[0].uses, std::vector<std::string>(GrowthFrame::kMaxUses, "LOG"));
  EXPECT_EQ(back->frames[1].function, "next");
}

TEST(GrowthWire, build_id_when_it_is_none_is_left_out) {
  UnwoundSamples unwound;
  unwound.builds = {{"a", "ab12"}, {"b", "no hex"}, {"c", std::string(kMaxBuildId + 2, 'a')}, {"d\x1b", ""}};
  const auto back = decode_unwound(encode_unwound(unwound), 0);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->builds, (ModuleBuilds{{"a", "ab12"}, {"d\\x1b", ""}}));
  unwound.builds.clear();
  for (int i = 0; i < 100; ++i) unwound.builds["m" + std::to_string(i)] = "ab";
  EXPECT_EQ(decode_unwound(encode_unwound(unwound), 0)->builds.size(), kMaxCodeFiles);
}

TEST(GrowthWire, answer_when_it_names_a_frame_that_is_not_there_or_other_stacks_is_refused) {
  UnwoundSamples unwound{.frames = {frame_of("a")}, .stacks = {{true, {0}}}};
  EXPECT_TRUE(decode_unwound(encode_unwound(unwound), 1).has_value());
  EXPECT_FALSE(decode_unwound(encode_unwound(unwound), 2).has_value());
  unwound.stacks = {{true, {1}}};
  EXPECT_FALSE(decode_unwound(encode_unwound(unwound), 1).has_value());
  EXPECT_FALSE(decode_unwound(reader::WireWriter().number(~std::uint64_t{0}).take(), 0).has_value());
}

TEST(PerfMap, line_when_later_replaces_an_earlier_one_and_nonsense_is_passed_over) {
  const std::string text =
      "1000 20 first\nx y\n\n1010 8 second one\nffffffffffffffff 10 last\n1000 zz bad\n1000 10 cut";
  const SpanSource file(std::as_bytes(std::span(text)));
  const auto names = names_in_perf_map(file, {0x1018, 0x1012, 0x1008, 0x3000});
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(names.at(0x1008), "first");
  EXPECT_EQ(names.at(0x1012), "second one");
  EXPECT_EQ(names.at(0x1018), "first");
}

}  // namespace
}  // namespace oomw::growth
