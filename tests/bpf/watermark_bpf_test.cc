// SPDX-License-Identifier: Apache-2.0
// Real growth against a real limit; the child grows by steps that the test commands.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "bpf/kernel_fixture.h"
#include "bpf/programs.h"

namespace oomw::test {
namespace {

class WatermarkTest : public KernelTest, public ::testing::WithParamInterface<Rung> {
 protected:
  static KernelConfig config() {
    KernelConfig config = config_of_only({"watermark"});
    config.forced["watermark"] = GetParam();
    config.time_to_limit = Nanoseconds(0);
    return config;
  }

  [[nodiscard]] std::vector<WatermarkCrossed> marks_of(CgroupId cgroup, WatermarkReason reason) const {
    return events_where<WatermarkCrossed>(
        [=](const WatermarkCrossed& mark) { return mark.cgroup == cgroup && mark.reason == reason; });
  }

  [[nodiscard]] std::vector<std::uint32_t> levels_of(CgroupId cgroup) const {
    std::vector<std::uint32_t> levels;
    for (const auto& mark : marks_of(cgroup, WatermarkReason::kLevel)) levels.push_back(mark.level_percent);
    return levels;
  }
};

using Levels = std::vector<std::uint32_t>;

// Pages as the kernel hands them out, so that madvise() gives them back at once. Small ones: a huge page is 3.1 % of
// 64 MiB, comes whole and stays whole when a part of it is given back (seen on 6.1: 80 % for 48 MiB).
char* reserve_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OOMW_CHECK(memory != MAP_FAILED);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  return static_cast<char*>(memory);
}

// From `from` to `to`, at a steady rate if step_delay_us is set.
void grow(char* memory, std::size_t from, std::size_t to, int step_delay_us = 0) {
  constexpr std::size_t kStep = 64u << 10;
  for (std::size_t at = from; at < to; at += kStep) {
    std::memset(memory + at, 1, std::min(kStep, to - at));
    if (step_delay_us > 0) ::usleep(static_cast<useconds_t>(step_delay_us));
  }
}

TEST_P(WatermarkTest, growth_through_all_levels_reports_each_once_in_order) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  cgroup_->set_limit(mebibytes(64));
  ChildProcess child(cgroup_.get(), [] {
    grow(reserve_memory(mebibytes(62)), 0, mebibytes(62), 100);
    return 0;
  });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  collect();

  EXPECT_EQ(levels_of(cgroup_->id()), (Levels{50, 70, 80, 85, 90, 95}));
  for (const auto& mark : marks_of(cgroup_->id(), WatermarkReason::kLevel)) {
    EXPECT_EQ(mark.leaf_cgroup, cgroup_->id());
    EXPECT_EQ(mark.limit_bytes, mebibytes(64));
    EXPECT_EQ(mark.pid, child.pid());
    EXPECT_GE(mark.usage_bytes * 100, mark.limit_bytes * mark.level_percent);
    // Reported where it happened: a batch of 64 pages is 0.4 % here, and below 6.2 the hook comes once in 64 pages.
    EXPECT_LT(mark.usage_bytes * 100, mark.limit_bytes * (mark.level_percent + 2));
  }
}

TEST_P(WatermarkTest, fall_below_rearm_and_growth_again_reports_again) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  cgroup_->set_limit(mebibytes(64));
  run_in(cgroup_.get(), [] {
    char* memory = reserve_memory(mebibytes(50));
    grow(memory, 0, mebibytes(50));
    ::madvise(memory + mebibytes(20), mebibytes(30), MADV_DONTNEED);
    grow(memory, mebibytes(20), mebibytes(48));
    return 0;
  });

  EXPECT_EQ(levels_of(cgroup_->id()), (Levels{50, 70, 50, 70}));
}

TEST_P(WatermarkTest, swings_across_the_levels_are_reported_a_few_times_a_second) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  constexpr std::size_t kSwings = 60, kLevels = 6, kRearmsASecond = 8;
  cgroup_->set_limit(mebibytes(12));  // a quarter is left for page tables and what the kernel charges ahead
  ChildProcess child(cgroup_.get(), [] {
    char* memory = reserve_memory(mebibytes(9));
    for (std::size_t i = 0; i < kSwings; ++i) {
      grow(memory, 0, mebibytes(9));
      ::madvise(memory, mebibytes(9), MADV_DONTNEED);
    }
    return 0;
  });
  const MonotonicTime begun = SystemClock().now();
  child.go();
  ASSERT_EQ(child.wait(), 0);
  const auto seconds = static_cast<std::size_t>((SystemClock().now() - begun) / std::chrono::seconds(1)) + 2;
  collect();
  const std::size_t reports = levels_of(cgroup_->id()).size();
  EXPECT_GE(reports, 2u);
  EXPECT_LE(reports, kLevels + kRearmsASecond * seconds) << "within " << seconds << " s";
}

TEST_P(WatermarkTest, wobble_within_rearm_distance_stays_silent) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  cgroup_->set_limit(mebibytes(64));
  ChildProcess child(cgroup_.get(), [] {
    char* memory = reserve_memory(mebibytes(40));
    grow(memory, 0, mebibytes(33));
    for (int i = 0; i < 5; ++i) {  // 50 % is 32 MiB; 5 % below are 28.8
      ::madvise(memory + mebibytes(31), mebibytes(2), MADV_DONTNEED);
      grow(memory, mebibytes(31), mebibytes(34));
    }
    return 0;
  });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  collect();

  EXPECT_EQ(levels_of(cgroup_->id()), (Levels{50}));
}

TEST_P(WatermarkTest, limited_parent_is_reported_with_the_leaf_that_grew) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  cgroup_->set_limit(mebibytes(32));
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  run_in(leaf->get(), [] {
    touch_memory(mebibytes(20));
    return 0;
  });

  auto marks = marks_of(cgroup_->id(), WatermarkReason::kLevel);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks.front().leaf_cgroup, (*leaf)->id());
  EXPECT_EQ(marks.front().limit_bytes, mebibytes(32));
  EXPECT_TRUE(levels_of((*leaf)->id()).empty());
}

// As in a pod whose containers fill its limit together, each below its own.
TEST_P(WatermarkTest, limited_parent_is_reported_though_the_leaf_is_far_below_a_limit_of_its_own) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  cgroup_->set_limit(mebibytes(32));
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  (*leaf)->set_limit(mebibytes(512));
  run_in(leaf->get(), [] {
    touch_memory(mebibytes(28));
    return 0;
  });

  EXPECT_EQ(levels_of(cgroup_->id()), (Levels{50, 70, 80, 85}));
  EXPECT_TRUE(levels_of((*leaf)->id()).empty());
}

// Fills a file in memory by write(): nothing of it is in a resident set.
int write_unmapped(std::size_t bytes) {
  static char block[64u << 10];
  const int fd = ::memfd_create("oomw-unmapped", MFD_CLOEXEC);
  if (fd < 0) return 1;
  for (std::size_t done = 0; done < bytes; done += sizeof(block)) {
    if (::write(fd, block, sizeof(block)) < 0) return 2;
  }
  return 0;
}

// The victim's own pages go after the kill, and would lead to a report then.
TEST_P(WatermarkTest, memory_that_no_process_maps_is_told_before_the_kill) {
  KernelConfig wanted = config();
  wanted.forced.erase("oom_kill");
  OOMW_LOAD_RUNG_OR_SKIP(wanted, "watermark", GetParam());
  cgroup_->set_limit(mebibytes(64));
  ChildProcess child(cgroup_.get(), [] { return write_unmapped(mebibytes(128)); });
  child.go();
  ASSERT_TRUE(WIFSIGNALED(child.wait())) << "the kernel should have killed it";
  collect();

  const auto kills = events_where<OomKill>([&](const OomKill& kill) { return kill.victim.pid == child.pid(); });
  ASSERT_FALSE(kills.empty()) << kLostKill;
  const auto marks = marks_of(cgroup_->id(), WatermarkReason::kLevel);
  ASSERT_FALSE(marks.empty());
  EXPECT_EQ(marks.back().level_percent, 95u);
  EXPECT_LT(marks.back().time, kills.front().time);
  EXPECT_EQ(marks.back().leaf_cgroup, cgroup_->id());
}

TEST_P(WatermarkTest, steady_growth_is_measured_and_predicts_the_limit) {
  KernelConfig wanted = config();
  wanted.time_to_limit = std::chrono::seconds(2);  // 4 MiB remain at the end: enough for 2 MB/s, as in a slow VM
  OOMW_LOAD_OR_SKIP(wanted, "watermark");
  cgroup_->set_limit(mebibytes(128));
  ChildProcess child(cgroup_.get(), [] {  // 64 KiB every ms and more: below 64 MB/s
    grow(reserve_memory(mebibytes(124)), 0, mebibytes(124), 1000);
    return 0;
  });
  auto started = SystemClock().now();
  child.go();
  ASSERT_EQ(child.wait(), 0);
  const double seconds = to_seconds(SystemClock().now() - started);
  const double rate = static_cast<double>(mebibytes(124)) / seconds;
  collect();

  auto levels = marks_of(cgroup_->id(), WatermarkReason::kLevel);
  ASSERT_FALSE(levels.empty());
  ASSERT_TRUE(levels.front().growth_bytes_per_second.has_value());
  EXPECT_GT(*levels.front().growth_bytes_per_second, rate / 4);
  EXPECT_LT(*levels.front().growth_bytes_per_second, rate * 4);

  auto times = marks_of(cgroup_->id(), WatermarkReason::kTimeToLimit);
  ASSERT_GE(times.size(), 1u);
  ASSERT_TRUE(times.front().time_to_limit.has_value());
  EXPECT_LT(*times.front().time_to_limit, std::chrono::seconds(2));
  EXPECT_GE(times.front().usage_bytes, mebibytes(64));
  EXPECT_LE(times.size(), 2 + seconds) << "reported once a second";  // a busy VM takes 6 s and more
}

TEST_P(WatermarkTest, sawtooth_at_the_limit_is_told_once_a_second) {
  KernelConfig wanted = config();
  wanted.time_to_limit = std::chrono::seconds(2);
  OOMW_LOAD_OR_SKIP(wanted, "watermark");
  cgroup_->set_limit(mebibytes(64));
  ChildProcess child(cgroup_.get(), [] {
    char* memory = reserve_memory(mebibytes(62));
    grow(memory, 0, mebibytes(40));
    for (int i = 0; i < repetitions(20); ++i) {  // each fall ends the prediction, each rise makes it again
      grow(memory, mebibytes(40), mebibytes(60), 100);
      ::madvise(memory + mebibytes(24), mebibytes(36), MADV_DONTNEED);
      ::usleep(30'000);
      grow(memory, mebibytes(24), mebibytes(40));
    }
    return 0;
  });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  collect();

  auto times = marks_of(cgroup_->id(), WatermarkReason::kTimeToLimit);
  ASSERT_GE(times.size(), 1u);
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i].time - times[i - 1].time, std::chrono::seconds(1)) << "mark " << i << " of " << times.size();
  }
}

std::string name_of(const ::testing::TestParamInfo<Rung>& rung) { return std::string(to_string(rung.param)); }

INSTANTIATE_TEST_SUITE_P(Rungs, WatermarkTest, ::testing::Values(Rung::kFentry, Rung::kTpBtf, Rung::kRawTp), name_of);

// Memory that no page table holds changes no resident set: only the hook on charges sees it.
class UnmappedGrowthTest : public WatermarkTest {};

TEST_P(UnmappedGrowthTest, writes_to_shared_memory_report_the_levels) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "watermark", GetParam());
  cgroup_->set_limit(mebibytes(64));
  run_in(cgroup_.get(), [] { return write_unmapped(mebibytes(48)); });

  EXPECT_EQ(levels_of(cgroup_->id()), (Levels{50, 70}));
}

INSTANTIATE_TEST_SUITE_P(Rungs, UnmappedGrowthTest, ::testing::Values(Rung::kFentry), name_of);

}  // namespace
}  // namespace oomw::test
