// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_sampler.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/proc_stat.h"

namespace oomw {
namespace {

constexpr std::size_t kStep = 512u << 10, kSteps = 400;

[[noreturn]] void grow_on() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* memory =
      mmap(nullptr, kSteps * kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::_Exit(1);
  madvise(memory, kSteps * kStep, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < kSteps * kStep; at += 4096) {
    static_cast<volatile char*>(memory)[at] = 1;
    if (at % kStep == 0) std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  for (;;) pause();
}

class GrowthSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (auto made = GrowthPrograms::make({.max_processes = 1}); !made) GTEST_SKIP() << made.error().message;
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) grow_on();
    const auto stat = read_file("/proc/" + std::to_string(pid_) + "/stat", ProcStat::kMaxBytes);
    ASSERT_TRUE(stat);
    process_ = {pid_, ProcStat(*stat).start_ticks().value_or(0)};
  }
  void TearDown() override { end_child(); }

  void end_child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  GrowthSampler::Deliver keep() {
    return [this](GrowthProfile profile, const ShareOwner& owner, bool is_last) {
      const std::lock_guard lock(mutex_);
      delivered_.push_back({std::move(profile), owner, is_last});
      news_.notify_all();
      return true;
    };
  }

  struct Delivered {
    GrowthProfile profile;
    ShareOwner owner;
    bool is_last = false;
  };
  // The first that is_last is true or false of. A sample is delivered after a second.
  std::optional<Delivered> wait_for(bool is_last) {
    std::unique_lock lock(mutex_);
    const auto find = [&] {
      return std::ranges::find_if(delivered_, [&](const Delivered& one) { return one.is_last == is_last; });
    };
    news_.wait_for(lock, std::chrono::seconds(60), [&] { return find() != delivered_.end(); });
    return find() == delivered_.end() ? std::nullopt : std::optional(*find());
  }

  pid_t pid_ = 0;
  ProcessKey process_;
  SystemClock clock_;
  MemoryBudget memory_{64u << 20};
  reader::Reader reader_{clock_};
  std::mutex mutex_;
  std::condition_variable news_;
  std::vector<Delivered> delivered_;
};

// The kernel's log may report the kill after the end of the process.
TEST_F(GrowthSamplerTest, kill_that_is_reported_after_the_exit_finds_the_profile) {
  GrowthSampler sampler(reader_, memory_, clock_, "/proc", keep());
  sampler.arm(process_, CgroupId{7}, 64u << 20, {"shop", "prod"});
  ASSERT_TRUE(wait_for(false));
  end_child();
  sampler.forget(process_);
  sampler.kill(process_);
  const auto last = wait_for(true);
  ASSERT_TRUE(last);
  EXPECT_GT(last->profile.samples, 0u);
  EXPECT_GT(last->profile.grown_bytes, 0u);
  EXPECT_EQ(last->profile.process, process_);
  EXPECT_EQ(last->owner, (ShareOwner{"shop", "prod"}));
  EXPECT_EQ(sampler.dropped(), 0u);
}

}  // namespace
}  // namespace oomw
