// SPDX-License-Identifier: Apache-2.0
#include "base/victim_marks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <oomwitness/victims.h>

#include "memory/byte_source.h"
#include "memory/resident_source.h"
#include "process/open_memory.h"
#include "process/process_files.h"
#include "support/process_space.h"

namespace oomw {
namespace {

// A page as the programs in the kernel write it.
class VictimMarksTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = UniqueFd(::memfd_create("victims", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(file_.get(), sizeof(oomw_victims)), 0);
    page_ = static_cast<oomw_victims*>(
        ::mmap(nullptr, sizeof(oomw_victims), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0));
    ASSERT_NE(page_, MAP_FAILED);
    ASSERT_TRUE(VictimMarks::attach(file_.get()));
  }
  void TearDown() override {
    VictimMarks::detach();
    (void)::munmap(page_, sizeof(oomw_victims));
  }
  void mark(int pid, Nanoseconds ago = {}) {
    const auto time = static_cast<std::uint32_t>((SystemClock().now() - ago).ns >> OOMW_VICTIM_TIME_SHIFT);
    page_->marks[static_cast<unsigned>(pid) % OOMW_VICTIM_SLOTS] = static_cast<std::uint64_t>(pid) << 32 | time;
  }

  UniqueFd file_;
  oomw_victims* page_ = nullptr;
};

TEST_F(VictimMarksTest, who_is_marked_is_known_and_nobody_else) {
  EXPECT_FALSE(VictimMarks::has(700));
  mark(700);
  EXPECT_TRUE(VictimMarks::has(700));
  EXPECT_FALSE(VictimMarks::has(700 + OOMW_VICTIM_SLOTS)) << "the same slot";
  EXPECT_FALSE(VictimMarks::has(0));
  EXPECT_FALSE(VictimMarks::has(-1));
}

TEST_F(VictimMarksTest, a_mark_ends_when_the_pid_may_be_anothers) {
  mark(700, VictimMarks::kValid - std::chrono::seconds(1));
  EXPECT_TRUE(VictimMarks::has(700));
  mark(700, VictimMarks::kValid + std::chrono::seconds(4));
  EXPECT_FALSE(VictimMarks::has(700));
}

TEST_F(VictimMarksTest, a_mark_made_just_now_by_a_clock_that_is_ahead_holds) {
  mark(700, -std::chrono::seconds(1));  // less than a unit of the mark: one ahead at most
  EXPECT_TRUE(VictimMarks::has(700));
}

TEST_F(VictimMarksTest, memory_of_who_is_marked_is_not_read) {
  const int word = 7;
  int copy = 0;
  const ProcessMemory memory(::getpid());
  const auto read = [&] {
    return memory.read_some(reinterpret_cast<std::uint64_t>(&word), std::as_writable_bytes(std::span(&copy, 1)));
  };
  ASSERT_EQ(read().value_or(0), sizeof word);
  mark(::getpid());
  const auto refused = read();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
  VictimMarks::detach();
  EXPECT_TRUE(read());
}

TEST_F(VictimMarksTest, page_map_of_who_is_marked_is_not_read_for_its_resident_pages) {
  const int word = 7;
  int copy = 0;
  const UniqueFd mem(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  const UniqueFd page_map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const MemorySource unmarked(mem.get());  // would be read
  const ResidentSource resident(unmarked, page_map.get(), ResidentSource::Absent::kNothing, ::getpid());
  const auto read = [&] {
    return resident.read_some(reinterpret_cast<std::uint64_t>(&word), std::as_writable_bytes(std::span(&copy, 1)));
  };
  ASSERT_EQ(read().value_or(0), sizeof word);
  mark(::getpid());
  EXPECT_EQ(read().error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace oomw
