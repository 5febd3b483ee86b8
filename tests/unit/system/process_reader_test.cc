// SPDX-License-Identifier: Apache-2.0
#include "system/process_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>

#include <oomwitness/victims.h>

#include "base/victim_marks.h"
#include "support/source_tree.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using test::TempTree;

const ProcessReader kFixture(test::fixtures() + "/proc");

std::string stat_with_flags(const std::string& flags) {
  return "7 (x) S 1 7 7 0 -1 " + flags + " 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n";
}

TEST(ProcessReader, group_of_a_thread_is_its_process) {
  const ProcessReader own;
  Result<std::int32_t> group = 0;
  std::int32_t id = 0;
  std::thread([&] {
    id = gettid();
    group = own.group_of(id);
  }).join();
  EXPECT_NE(id, getpid());
  EXPECT_EQ(group.value_or(0), getpid());
}

TEST(ProcessReader, reads_a_process_with_a_hostile_comm) {
  const auto seen = kFixture.read_with_arguments(4211, MonotonicTime{9});
  ASSERT_TRUE(seen.has_value()) << seen.error().message;
  EXPECT_EQ(seen->process, (ProcessKey{4211, 474016}));
  EXPECT_EQ(seen->comm, "a) b (c\n) ");
  EXPECT_EQ(seen->exe, "/otelcol");
  EXPECT_EQ(seen->cmdline, "/otelcol --config /etc/otel col.yaml");
  EXPECT_EQ(seen->uid, 1001u);
  EXPECT_EQ(seen->is_init, true);
  EXPECT_EQ(seen->oom_score_adj, -998);
  EXPECT_EQ(seen->go.gogc_percent, 75);
  EXPECT_EQ(seen->go.memory_limit_bytes, 200u << 20);
  EXPECT_EQ(seen->time.ns, 9);
}

TEST(ProcessReader, what_lies_in_the_process_s_memory_is_left_out_unless_asked_for) {
  const auto seen = kFixture.read(4211, {});
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->exe, "/otelcol");
  EXPECT_EQ(seen->cmdline, "");
  EXPECT_FALSE(seen->go.gogc_percent);
}

TEST(ProcessReader, memory_is_that_of_the_very_process) {
  const ProcessReader reader;
  const ProcessKey self = reader.key_of(::getpid()).value();
  const auto memory = reader.memory_of(self);
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->resident_bytes, 100'000u);
  EXPECT_GT(memory->virtual_bytes, memory->resident_bytes);
  EXPECT_EQ(reader.memory_of({self.pid, self.start_ticks + 1}).error().code, ErrorCode::kNotFound);
}

// Whoever reads statm of a process that ends may have to free all its memory.
TEST(ProcessReader, memory_of_one_that_is_being_killed_is_not_read) {
  const ProcessReader reader;
  const ProcessKey self = reader.key_of(::getpid()).value();
  const UniqueFd page(::memfd_create("victims", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(page.get(), sizeof(oomw_victims)), 0);
  ASSERT_TRUE(VictimMarks::attach(page.get()));
  EXPECT_TRUE(reader.memory_of(self));
  const auto pid = static_cast<std::uint64_t>(self.pid);
  const std::uint64_t mark = pid << 32 | static_cast<std::uint64_t>(SystemClock().now().ns) >> OOMW_VICTIM_TIME_SHIFT;
  const auto slot = static_cast<off_t>(pid % OOMW_VICTIM_SLOTS * sizeof mark);
  ASSERT_EQ(::pwrite(page.get(), &mark, sizeof mark, slot), static_cast<ssize_t>(sizeof mark));
  EXPECT_EQ(reader.memory_of(self).error().code, ErrorCode::kNotFound);
  VictimMarks::detach();
}

TEST(ProcessReader, memory_that_is_no_number_of_pages_is_invalid) {
  const TempTree tree;
  tree.write("7/stat", stat_with_flags("0"));
  const ProcessReader reader(tree.root());
  const ProcessKey process{7, 0};
  EXPECT_EQ(reader.memory_of(process).error().code, ErrorCode::kNotFound);
  for (const char* text : {"", "12", "x 1", "1 x", "18446744073709551615 1"}) {
    tree.write("7/statm", text);
    EXPECT_EQ(reader.memory_of(process).error().code, ErrorCode::kInvalid) << text;
  }
  tree.write("7/statm", "3 2 1 0 0 0 0\n");
  EXPECT_EQ(reader.memory_of(process)->resident_bytes, 2u * static_cast<unsigned>(::getpagesize()));
}

TEST(ProcessReader, kernel_thread_is_unsupported) {
  EXPECT_EQ(kFixture.read(2, {}).error().code, ErrorCode::kUnsupported);
}

TEST(ProcessReader, gone_is_not_found) {
  EXPECT_EQ(kFixture.read(99, {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(kFixture.key_of(99).error().code, ErrorCode::kNotFound);
}

TEST(ProcessReader, list_holds_pids_only) {
  EXPECT_THAT(kFixture.list(10), ::testing::UnorderedElementsAre(2, 4211));
  EXPECT_EQ(kFixture.list(1).size(), 1u);
}

TEST(ProcessReader, long_cmdline_is_cut_and_says_so) {
  const TempTree tree;
  tree.write("7/stat", stat_with_flags("0"));
  tree.write("7/status", "Uid:\t0\t0\t0\t0\n");
  tree.write("7/cmdline", std::string(10'000, 'x'));
  const auto seen = ProcessReader(tree.root()).read_with_arguments(7, {});
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->cmdline.size(), 256u);
  EXPECT_TRUE(seen->cmdline.ends_with("x ..."));
}

TEST(ProcessReader, of_a_long_path_the_end_is_kept) {
  const TempTree tree;
  tree.write("7/stat", stat_with_flags("0"));
  tree.write("7/status", "Uid:\t0\t0\t0\t0\n");
  std::string path;
  for (int i = 0; i < 20; ++i) path += "/" + std::string(100, 'd');
  ASSERT_EQ(::symlink((path + "/program").c_str(), (tree.root() + "/7/exe").c_str()), 0);
  const auto seen = ProcessReader(tree.root()).read(7, {});
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->exe.size(), 512u);
  EXPECT_TRUE(seen->exe.starts_with("...d"));
  EXPECT_TRUE(seen->exe.ends_with("/program"));
}

TEST(ProcessReader, absent_parts_are_empty_not_made_up) {
  const TempTree tree;
  tree.write("7/stat", stat_with_flags("0"));
  tree.write("7/status", "Uid:\t5\t0\t0\t0\n");
  const auto seen = ProcessReader(tree.root()).read(7, {});
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->exe, "");
  EXPECT_EQ(seen->cmdline, "");
  EXPECT_EQ(seen->is_init, std::nullopt);
  EXPECT_EQ(seen->oom_score_adj, std::nullopt);
}

TEST(ProcessReader, cgroup_of_a_process) {
  const auto fs = CgroupFs::probe(test::fixtures() + "/cgroup/v1");
  ASSERT_TRUE(fs.has_value());
  const auto path = kFixture.memory_cgroup_path(4211, *fs);
  ASSERT_TRUE(path.has_value()) << path.error().message;
  EXPECT_TRUE(path->starts_with("/kubepods/burstable/pod6b2f9f0e-")) << *path;
}

TEST(ProcessReader, v1_root_of_an_exiting_process_is_no_answer) {
  const auto fs = CgroupFs::probe(test::fixtures() + "/cgroup/v1");
  const TempTree tree;
  tree.write("7/cgroup", "4:memory:/\n");
  tree.write("7/stat", stat_with_flags("4"));
  EXPECT_EQ(ProcessReader(tree.root()).memory_cgroup_path(7, *fs).error().code, ErrorCode::kNotFound);
  tree.write("7/stat", stat_with_flags("0"));
  EXPECT_EQ(ProcessReader(tree.root()).memory_cgroup_path(7, *fs).value_or(""), "/");
}

TEST(ProcessReader, reads_ourselves) {
  const auto seen = ProcessReader().read(::getpid(), {});
  ASSERT_TRUE(seen.has_value()) << seen.error().message;
  EXPECT_EQ(seen->uid, ::getuid());
  EXPECT_EQ(seen->is_init, false);
  EXPECT_THAT(seen->exe, ::testing::HasSubstr("unit_system"));
  EXPECT_EQ(ProcessReader().key_of(::getpid()).value(), seen->process);
}

}  // namespace
}  // namespace oomw
