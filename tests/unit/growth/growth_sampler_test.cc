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

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/proc_stat.h"

namespace oomw {
namespace {

constexpr std::size_t kStep = 512u << 10, kSteps = 400;

[[noreturn]] void wait_on() {
  for (;;) pause();
}

[[noreturn]] void grow_on() {
  void* memory =
      mmap(nullptr, kSteps * kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::_Exit(1);
  madvise(memory, kSteps * kStep, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < kSteps * kStep; at += 4096) {
    static_cast<volatile char*>(memory)[at] = 1;
    if (at % kStep == 0) std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  wait_on();
}

class GrowthSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    if (auto made = GrowthPrograms::make({.max_processes = 1}); !made) GTEST_SKIP() << made.error().message;
    process_ = start(grow_on);
  }
  void TearDown() override {
    while (!children_.empty()) end(*children_.begin());
  }

  ProcessKey start(void (*body)()) {
    const pid_t pid = fork();
    OOMW_CHECK(pid >= 0);
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      body();
    }
    children_.insert(pid);
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat", ProcStat::kMaxBytes);
    return {pid, stat ? ProcStat(*stat).start_ticks().value_or(0) : 0};
  }
  void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    children_.erase(pid);
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

  // The profile of process_ before others, of its own and of another namespace, had all the places.
  std::optional<Delivered> take_its_place(GrowthSampler& sampler) {
    sampler.arm(process_, CgroupId{7}, 64u << 20, shop_);
    auto delivered = wait_for(false);
    ::kill(process_.pid, SIGSTOP);  // from here on it is the one that climbed least lately
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (std::size_t i = 1; i < GrowthSampler::kMaxProcesses; ++i) {
      sampler.arm(idle_ = start(wait_on), CgroupId{7}, 64u << 20, shop_);
    }
    sampler.arm(start(wait_on), CgroupId{8}, 64u << 20, {"post", "mail"});
    const auto count_losers = [&sampler] {
      ShareExcesses excesses;
      sampler.add_excesses(excesses);
      return excesses[ShareKind::kGrowthProcesses].count;
    };
    for (int tries = 0; tries < 600 && count_losers() == 0; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_EQ(count_losers(), 1u);
    EXPECT_EQ(sampler.dropped(), 1u);
    return delivered;
  }

  const ShareOwner shop_{"shop", "prod"};
  ProcessKey idle_;
  std::set<pid_t> children_;
  ProcessKey process_;  // grows
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
  end(process_.pid);
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

TEST_F(GrowthSamplerTest, container_with_all_the_places_leaves_one_to_another) {
  const ShareOwner crowd{"crowd", "prod"};
  GrowthSampler sampler(reader_, memory_, clock_, "/proc", keep());
  for (std::size_t i = 0; i < GrowthSampler::kMaxProcesses; ++i) {
    sampler.arm(start(wait_on), CgroupId{8}, 64u << 20, crowd);
  }
  sampler.arm(process_, CgroupId{7}, 64u << 20, {"shop", "prod"});
  const auto delivered = wait_for(false);
  ASSERT_TRUE(delivered);
  EXPECT_EQ(delivered->profile.process, process_);
  ShareExcesses excesses;
  sampler.add_excesses(excesses);
  EXPECT_EQ(excesses[ShareKind::kGrowthProcesses].count, 1u);
  EXPECT_EQ(excesses[ShareKind::kGrowthProcesses].last, crowd);
}

// All that end on the node are reported, and few of them were armed.
TEST_F(GrowthSamplerTest, many_that_end_take_nobodys_place) {
  GrowthSampler sampler(reader_, memory_, clock_, "/proc", keep());
  for (std::size_t i = 0; i < 50 * GrowthSampler::kMaxCommands; ++i) sampler.forget({static_cast<std::int32_t>(i), 1});
  EXPECT_EQ(sampler.dropped(), 0u);
}

TEST_F(GrowthSamplerTest, kill_of_one_that_lost_its_place_finds_the_profile) {
  GrowthSampler sampler(reader_, memory_, clock_, "/proc", keep());
  const auto known = take_its_place(sampler);
  ASSERT_TRUE(known);
  sampler.kill(process_);
  const auto last = wait_for(true);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->profile.process, process_);
  EXPECT_GE(last->profile.grown_bytes, known->profile.grown_bytes);
}

// It grows on while nobody looks.
TEST_F(GrowthSamplerTest, one_that_has_a_place_again_goes_on_with_what_was_known) {
  GrowthSampler sampler(reader_, memory_, clock_, "/proc", keep());
  const auto known = take_its_place(sampler);
  ASSERT_TRUE(known);
  ::kill(process_.pid, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  sampler.forget(idle_);  // which makes room at once
  end(idle_.pid);
  sampler.arm(process_, CgroupId{7}, 256u << 20, shop_);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  sampler.kill(process_);
  const auto last = wait_for(true);
  ASSERT_TRUE(last);
  EXPECT_GT(last->profile.samples, known->profile.samples);
  EXPECT_GT(last->profile.grown_bytes, known->profile.grown_bytes);
  EXPECT_THAT(last->profile.notes, testing::Contains(testing::HasSubstr("more grew while nothing was sampled")));
}

}  // namespace
}  // namespace oomw
