// SPDX-License-Identifier: Apache-2.0
// Whose exits are walked, when, and within which budget.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include "bpf/fake_list.h"
#include "bpf/heap_fixture.h"
#include "bpf/programs.h"

namespace oomw::test {
namespace {

constexpr Nanoseconds kBudgetPeriod = std::chrono::seconds(1);

class WalkedExitsTest : public HeapTest {
 protected:
  // Less than one long walk takes, for all of a container.
  static KernelConfig config_of_a_small_budget() {
    KernelConfig small = config();
    small.walk_max_time = small.walk_cgroup_time = std::chrono::milliseconds(1);
    return small;
  }
};

TEST_F(WalkedExitsTest, walks_of_one_cgroup_share_a_budget_of_each_second_and_others_have_their_own) {
  OOMW_LOAD_OR_SKIP(config_of_a_small_budget(), "heap_at_kill");
  FakeList list(mebibytes(60));
  list.fill_apart(10'000);  // 10 ms
  const auto walks_of_two = [&](TestCgroup* cgroup) {
    std::vector<std::unique_ptr<ChildProcess>> victims;
    cgroup->set_limit(mebibytes(8));
    for (int i = 0; i < 2; ++i) {
      victims.push_back(std::make_unique<ChildProcess>(cgroup, leak));
      EXPECT_TRUE(heap().watch(victims.back()->key(), list.addresses()).has_value());
    }
    for (auto& victim : victims) victim->go();
    for (auto& victim : victims) victim->wait();
    std::vector<HeapWalked> walks;
    for (auto& victim : victims) {
      walks.push_back(only_walk_of(victim->pid()));
      EXPECT_EQ(walks.back().stop, WalkStop::kTimeLimit) << walks.back().walked << " buckets";
      take(walks.back());
    }
    std::sort(walks.begin(), walks.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
    return walks;
  };
  auto other = std::move(*TestCgroup::make());
  for (TestCgroup* cgroup : {cgroup_.get(), other.get()}) {
    const auto walks = walks_of_two(cgroup);
    EXPECT_GT(walks[0].walked, 0u);
    const Nanoseconds apart = walks[1].started - walks[0].time;
    const bool is_measurable = apart > Nanoseconds::zero() && walks[1].started - walks[0].started < kBudgetPeriod;
    if (!is_measurable) GTEST_SKIP() << "the second walk began " << apart.count() / 1'000'000 << " ms after the first";
    EXPECT_EQ(walks[1].walked, 0u) << "nothing is left of this second";
  }
}

// A container may make cgroups below its own.
TEST_F(WalkedExitsTest, walks_of_one_owner_share_a_budget_though_their_cgroups_differ) {
  OOMW_LOAD_OR_SKIP(config_of_a_small_budget(), "heap_at_kill");
  FakeList list(mebibytes(60));
  list.fill_apart(10'000);  // 10 ms
  const auto walk_of = [&](std::uint64_t owner) {
    const auto cgroup = std::move(*TestCgroup::make());
    cgroup->set_limit(mebibytes(8));
    ChildProcess victim(cgroup.get(), leak);
    HeapAddresses addresses = list.addresses();
    addresses.owner = owner;
    EXPECT_TRUE(heap().watch(victim.key(), addresses).has_value());
    victim.go();
    victim.wait();
    HeapWalked walk = only_walk_of(victim.pid());
    take(walk);
    return walk;
  };
  const HeapWalked first = walk_of(7), second = walk_of(7), of_another = walk_of(8);
  EXPECT_GT(first.walked, 0u);
  EXPECT_GT(of_another.walked, 0u);
  if (second.started - first.started >= kBudgetPeriod) GTEST_SKIP() << "the second walk began in another second";
  EXPECT_EQ(second.stop, WalkStop::kTimeLimit);
  EXPECT_EQ(second.walked, 0u) << "nothing is left of this second";
}

TEST_F(WalkedExitsTest, sixteen_victims_of_one_moment_are_all_walked) {
  KernelConfig patient = config();
  patient.walk_max_time = std::chrono::seconds(10);  // an emulated CPU may stand still for longer than the default
  OOMW_LOAD_OR_SKIP(patient, "heap_at_kill");
  constexpr std::size_t kVictims = 16;
  FakeList list(mebibytes(2));
  list.fill(3000);
  std::vector<std::unique_ptr<TestCgroup>> cgroups;
  std::vector<std::unique_ptr<ChildProcess>> victims;
  for (std::size_t i = 0; i < kVictims; ++i) {
    cgroups.push_back(std::move(*TestCgroup::make()));
    cgroups.back()->set_limit(mebibytes(16));
    victims.push_back(std::make_unique<ChildProcess>(cgroups.back().get(), leak));
    ASSERT_TRUE(heap().watch(victims.back()->key(), list.addresses()).has_value());
  }
  for (auto& victim : victims) victim->go();
  for (auto& victim : victims) victim->wait();
  for (auto& victim : victims) {
    auto walk = only_walk_of(victim->pid());
    EXPECT_EQ(walk.stop, WalkStop::kEnd);
    EXPECT_EQ(take(walk).size(), 3000u);
  }
  EXPECT_EQ(lost(LostStage::kWalkSlots), 0u);
}

// SIGKILL is queued before mark_victim: a victim that runs on another CPU may be through before.
TEST_F(WalkedExitsTest, victim_that_leaves_before_it_is_marked_is_walked_too) {
  constexpr int kKills = 40;
  for (bool at_delivery : {false, true}) {
    KernelConfig config = WalkedExitsTest::config();
    config.walk_at_delivery = at_delivery;
    OOMW_LOAD_OR_SKIP(config, "heap_at_kill");
    events_.clear();
    FakeList list(mebibytes(1));
    list.fill(5);
    int before_mark = 0;
    for (int i = 0; i < kKills; ++i) {
      cgroup_->set_limit(mebibytes(48));
      ChildProcess victim(cgroup_.get(), [] {
        ::alarm(10);
        write_oom_score_adj(900);
        touch_memory(mebibytes(28));
        while (::getppid() > 0) ::getpid();
        return 0;
      });
      ASSERT_TRUE(heap().watch(victim.key(), list.addresses()).has_value());
      victim.go();
      while (cgroup_->usage_bytes() < mebibytes(28)) ::usleep(1000);
      ChildProcess grower(cgroup_.get(), [] {
        touch_memory(mebibytes(30));
        return 0;
      });
      grower.go();
      grower.wait();
      victim.wait();
      auto walk = only_walk_of(victim.pid());
      EXPECT_EQ(walk.stop, WalkStop::kEnd);
      EXPECT_EQ(take(walk).size(), 5u);
      auto kills = events_where<OomKill>([&](const OomKill& kill) { return kill.victim == walk.process; });
      ASSERT_FALSE(kills.empty()) << kLostKill;
      before_mark += walk.started < kills.front().time;
    }
    std::cout << (at_delivery ? "at delivery: " : "at exit: ") << before_mark << " of " << kKills
              << " walks began before the mark\n";
  }
}

// No assertion on time: the figures are printed for the reader.
TEST_F(WalkedExitsTest, cost_of_every_other_signal_and_exit_is_measured) {
  for (bool at_delivery : {false, true}) {
    KernelConfig config = WalkedExitsTest::config();
    config.walk_at_delivery = at_delivery;
    OOMW_LOAD_OR_SKIP(config, "heap_at_kill");
    if (auto enabled = source_->enable_run_time_stats(); !enabled) GTEST_SKIP() << enabled.error().message;
    ChildProcess child(nullptr, [] {
      ::signal(SIGUSR1, [](int) {});
      for (int i = 0; i < 100'000; ++i) ::raise(SIGUSR1);
      for (int i = 0; i < 5'000; ++i) std::thread([] {}).join();
      return 0;
    });
    child.go();
    ASSERT_EQ(child.wait(), 0);
    int counted = 0;
    for (const ProgramStats& stats : source_->program_stats()) {
      if (!stats.program.starts_with("on_heap_") || stats.runs == 0) continue;
      ++counted;
      std::cout << stats.program << ": " << stats.run_ns / stats.runs << " ns, " << stats.runs << " runs\n";
    }
    EXPECT_GE(counted, 2);
  }
}

TEST_F(WalkedExitsTest, who_is_not_registered_or_somebody_else_is_not_walked) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(1));
  list.fill(10);
  cgroup_->set_limit(mebibytes(16));
  for (int way = 0; way < 3; ++way) {
    ChildProcess child(cgroup_.get(), leak);
    auto key = child.key();
    ++key.start_ticks;
    if (way == 1) {
      EXPECT_TRUE(heap().watch(key, list.addresses()).has_value());
    }
    if (way == 2) {
      ASSERT_TRUE(heap().watch(child.key(), list.addresses()).has_value());
      heap().unwatch(key);  // another process's entry stays
      EXPECT_EQ(heap().watched(), 1u);
      heap().unwatch(child.key());
    }
    child.go();
    child.wait();
    collect();
    EXPECT_TRUE(walks_of(child.pid()).empty()) << way;
  }
  EXPECT_TRUE(heap().unreported(later(2)).empty());
  EXPECT_EQ(heap().watched(), 0u);
}

TEST_F(WalkedExitsTest, kill_by_hand_is_not_walked_and_its_exit_forgets_it) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(1));
  list.fill(10);
  ChildProcess child(cgroup_.get(), [] { return ::pause(); });
  ASSERT_TRUE(heap().watch(child.key(), list.addresses()).has_value());
  EXPECT_EQ(heap().watched(), 1u);
  child.go();
  ::kill(child.pid(), SIGKILL);
  child.wait();
  collect();
  EXPECT_TRUE(walks_of(child.pid()).empty());
  EXPECT_TRUE(heap().unreported(later(2)).empty());
  EXPECT_EQ(heap().watched(), 0u);
}

TEST_F(WalkedExitsTest, exec_forgets_what_the_process_was) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(1));
  ChildProcess child(cgroup_.get(), [] { return ::execl("/bin/sleep", "sleep", "10", nullptr); });
  ASSERT_TRUE(heap().watch(child.key(), list.addresses()).has_value());
  child.go();
  auto execs = [&] { return events_where<ProcessExec>([&](const auto& exec) { return exec.process == child.key(); }); };
  for (int i = 0; i < 200 && execs().empty(); ++i) collect(std::chrono::milliseconds(10));
  ASSERT_EQ(execs().size(), 1u);
  EXPECT_EQ(heap().watched(), 0u);
}

TEST_F(WalkedExitsTest, walk_whose_event_does_not_fit_the_ring_is_found) {
  KernelConfig config = config_of_only({"cgroup_lifecycle", "process_lifecycle", "heap_at_kill"});
  config.ring_bytes = 4096;
  OOMW_LOAD_OR_SKIP(config, "heap_at_kill");
  FakeList list(mebibytes(1));
  list.fill(100);
  // Fill it from elsewhere: on v2 a cgroup with children takes no processes.
  auto other = TestCgroup::make();
  ASSERT_TRUE(other.has_value()) << other.error().message;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*other)->make_child().has_value());
  for (int i = 0; i < 8; ++i) {  // an exit is the smallest record: what is left is less than a walk's
    ChildProcess short_lived(nullptr, [] { return 0; });
    short_lived.go();
    short_lived.wait();
  }
  cgroup_->set_limit(mebibytes(16));
  ChildProcess child(cgroup_.get(), leak);
  ASSERT_TRUE(heap().watch(child.key(), list.addresses()).has_value());
  child.go();
  child.wait();
  EXPECT_EQ(lost(LostStage::kRingbufWalk), 1u);
  EXPECT_TRUE(heap().unreported(SystemClock().now()).empty()) << "younger than a second";
  auto found = heap().unreported(later(2));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().process, child.key());
  EXPECT_EQ(take(found.front()).size(), 100u);
  EXPECT_TRUE(heap().unreported(later(2)).empty());
}

TEST_F(WalkedExitsTest, more_processes_than_entries_are_refused_and_counted) {
  KernelConfig config = WalkedExitsTest::config();
  config.max_go_processes = 2;
  OOMW_LOAD_OR_SKIP(config, "heap_at_kill");
  HeapAddresses somewhere{.buckets = 4096};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(heap().watch({(1 << 22) + i, 1}, somewhere).has_value());
  EXPECT_EQ(heap().watch({(1 << 22) + 2, 1}, somewhere).error().code, ErrorCode::kLimit);
  EXPECT_EQ(lost(LostStage::kGoTargets), 1u);
  EXPECT_TRUE(heap().watch({1 << 22, 2}, somewhere).has_value()) << "its own entry is replaced";
  EXPECT_FALSE(heap().watch({1, 1}, {}).has_value());
}

TEST_F(WalkedExitsTest, forced_to_none_there_is_no_go_heap) {
  KernelConfig config = WalkedExitsTest::config();
  config.forced["heap_at_kill"] = Rung::kNone;
  OOMW_LOAD_OR_SKIP(config, "oom_kill");
  EXPECT_EQ(source_->heap_walks(), nullptr);
  EXPECT_EQ(rung_of(*source_, "heap_at_kill"), Rung::kNone);
}

}  // namespace
}  // namespace oomw::test
