// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/inspection_jobs.h"

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtimes/go/go_registry.h"
#include "unit/captures/child_process.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using elf::AddressRange, go::GoBinary, go::Profiling, go::SandboxedInspector;
using test::GoHeap;
using testing::HasSubstr;

GoBinary full_binary() {
  GoBinary binary;
  binary.is_go = true;
  binary.is_collector = true;
  binary.go_version = "go1.27.1";
  binary.build_id = "abcdef0123";
  binary.machine = elf::Machine::kArm64;
  binary.is_position_independent = true;
  binary.entry = 0x1234;
  binary.bss = {0x5000, 0x9000};
  binary.text_start = 0x1000;
  binary.text = {0x1000, 0x4000};
  binary.variables = {0x5008, 0x5010, std::nullopt};
  binary.method = go::LocateMethod::kCode;
  binary.cross_checked = true;
  binary.profiling = Profiling::kAvailable;
  binary.why = "symbols and code disagree";
  return binary;
}

// Every field, so that a new one that is not sent is noticed by whoever adds it here.
void expect_equal_binaries(const GoBinary& read, const GoBinary& expected) {
  EXPECT_EQ(read.is_go, expected.is_go);
  EXPECT_EQ(read.is_collector, expected.is_collector);
  EXPECT_EQ(read.go_version, expected.go_version);
  EXPECT_EQ(read.build_id, expected.build_id);
  EXPECT_EQ(read.machine, expected.machine);
  EXPECT_EQ(read.is_position_independent, expected.is_position_independent);
  EXPECT_EQ(read.entry, expected.entry);
  EXPECT_EQ(read.bss.begin, expected.bss.begin);
  EXPECT_EQ(read.bss.end, expected.bss.end);
  EXPECT_EQ(read.text_start, expected.text_start);
  EXPECT_EQ(read.text.begin, expected.text.begin);
  EXPECT_EQ(read.text.end, expected.text.end);
  EXPECT_EQ(read.variables, expected.variables);
  EXPECT_EQ(read.method, expected.method);
  EXPECT_EQ(read.cross_checked, expected.cross_checked);
  EXPECT_EQ(read.profiling, expected.profiling);
  EXPECT_EQ(read.why, expected.why);
}

TEST(InspectionJobs, what_is_known_of_a_binary_survives_the_way_through_the_socket) {
  const auto read = go::decode_binary(go::encode_binary(full_binary()));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  expect_equal_binaries(*read, full_binary());
}

TEST(InspectionJobs, answer_that_is_cut_or_longer_or_out_of_bounds_is_refused) {
  const std::string answer = go::encode_binary(full_binary());
  for (std::size_t size = 0; size < answer.size(); ++size) {
    EXPECT_FALSE(go::decode_binary(answer.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(go::decode_binary(answer + "x").has_value());
  std::string not_a_flag = answer;
  not_a_flag[0] = 2;
  EXPECT_FALSE(go::decode_binary(not_a_flag).has_value());
  GoBinary upside_down = full_binary();
  upside_down.bss = {2, 1};
  EXPECT_FALSE(go::decode_binary(go::encode_binary(upside_down)).has_value());
  GoBinary unknown_state = full_binary();
  unknown_state.profiling = static_cast<Profiling>(9);
  EXPECT_FALSE(go::decode_binary(go::encode_binary(unknown_state)).has_value());
}

TEST(InspectionJobs, answer_whose_parts_contradict_each_other_is_refused) {
  GoBinary without_list = full_binary();
  without_list.variables.buckets.reset();
  EXPECT_FALSE(go::decode_binary(go::encode_binary(without_list)).has_value());
  GoBinary narrow = full_binary();
  narrow.profiling = Profiling::kNarrow;
  EXPECT_FALSE(go::decode_binary(go::encode_binary(narrow)).has_value());
  GoBinary not_go = full_binary();
  not_go.is_go = false;
  EXPECT_FALSE(go::decode_binary(go::encode_binary(not_go)).has_value());
}

TEST(InspectionJobs, control_characters_in_an_answer_do_not_pass) {
  GoBinary binary = full_binary();
  binary.go_version = "go\x1b[2J";
  const auto read = go::decode_binary(go::encode_binary(binary));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->go_version.find('\x1b'), std::string::npos);
}

TEST(InspectionJobs, list_head_outside_of_the_searched_memory_is_refused) {
  const auto answer = [](std::uint64_t head) { return std::string(reinterpret_cast<const char*>(&head), sizeof head); };
  const AddressRange bss{0x1000, 0x2000};
  EXPECT_EQ(go::decode_list_head(answer(0x1008), bss).value_or(0), 0x1008u);
  EXPECT_FALSE(go::decode_list_head(answer(0x1009), bss).has_value());
  EXPECT_FALSE(go::decode_list_head(answer(0x2000), bss).has_value());
  EXPECT_FALSE(go::decode_list_head("", bss).has_value());
}

TEST(SandboxedInspector, a_file_that_is_no_program_is_a_result_with_its_reason) {
  SystemClock clock;
  SandboxedInspector inspector(clock);
  test::TemporaryDirectory folder;
  test::write_bytes(folder / "text", std::string(4096, 'x'));
  const UniqueFd file(::open((folder / "text").c_str(), O_RDONLY | O_CLOEXEC));
  const auto binary = inspector.inspect(file.get(), {});
  ASSERT_TRUE(binary.has_value()) << binary.error().message;
  EXPECT_FALSE(binary->is_go);
  EXPECT_THAT(binary->why, HasSubstr("ELF"));
  EXPECT_EQ(inspector.counters()[0].done, 1u);
  EXPECT_EQ(inspector.counters()[1].started, 0u) << "one at a time needs one process";
}

// An inspector that cannot start its readers: what is found must come from them.
TEST(SandboxedInspector, without_a_reader_nothing_is_parsed_here_and_the_program_may_be_tried_again) {
  SystemClock clock;
  SandboxedInspector inspector(clock, {.command = {"/nowhere/reader"}});
  GoRegistry registry(clock, {.inspector = &inspector}, {});
  ChildProcess child;
  const auto added = registry.add({child.pid(), 0});
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, ErrorCode::kUnavailable) << added.error().message;
  EXPECT_EQ(registry.counters().files_read, 0u) << "nothing of it is remembered";
}

TEST(SandboxedInspector, registry_finds_in_the_reader_what_it_finds_here) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  ASSERT_TRUE(process.is_ready());
  process.ask("leak 20");
  SystemClock clock;
  SandboxedInspector inspector(clock);
  GoRegistry here(clock, {}, {});
  GoRegistry there(clock, {.inspector = &inspector}, {});
  const auto expected = here.add({process.pid(), 0});
  const auto found = there.add({process.pid(), 0});
  ASSERT_TRUE(expected.has_value() && found.has_value()) << (found ? "" : found.error().message);
  expect_equal_binaries(*(*found)->binary, *(*expected)->binary);
  ASSERT_TRUE((*expected)->target && (*found)->target) << (*found)->detail;
  EXPECT_EQ((*found)->target->variables, (*expected)->target->variables);
  EXPECT_GE(inspector.counters()[0].done, 1u);
}

// The list head of a program whose file does not name it is searched for in its memory, by the reader.
TEST(SandboxedInspector, list_head_is_found_through_an_open_memory) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  ASSERT_TRUE(process.is_ready());
  process.ask("leak 20");
  const auto binary = go::test::inspect_path(program.path);
  ASSERT_TRUE(binary.has_value());
  const auto target = go::test::target_of(process.pid());
  ASSERT_TRUE(target.has_value()) << target.error().message;
  SystemClock clock;
  SandboxedInspector inspector(clock);
  auto opened = TargetProcess::open("/proc", {process.pid(), 0});
  ASSERT_TRUE(opened.has_value());
  auto memory = OpenMemory::open(*opened);
  ASSERT_TRUE(memory.has_value()) << memory.error().message;
  const AddressRange bss{binary->bss.begin + target->load_bias, binary->bss.end + target->load_bias};
  for (const bool has_map : {true, false}) {  // some kernels have no page map
    if (!has_map) memory->page_map.reset();
    const auto head = inspector.find_list_head(*memory, bss, {});
    ASSERT_TRUE(head.has_value()) << head.error().message;
    EXPECT_EQ(*head, target->variables.buckets);
  }
}

}  // namespace
}  // namespace oomw
