// SPDX-License-Identifier: Apache-2.0
// Victims that lay out the list themselves, and everything that must not be walked.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <numeric>

#include "bpf/fake_list.h"
#include "bpf/heap_fixture.h"
#include "bpf/programs.h"

namespace oomw::test {
namespace {

constexpr Nanoseconds kBudgetPeriod = std::chrono::seconds(1);

class HostileHeapTest : public HeapTest {
 protected:
  static int leak() {
    touch_memory(mebibytes(200));
    return 0;
  }

  // With the programs that forget a process at its exec and exit.
  static KernelConfig config() { return config_of_only({"oom_kill", "process_lifecycle", "heap_at_kill"}); }

  // Less than one long walk takes, for all of a container.
  static KernelConfig config_of_a_small_budget() {
    KernelConfig small = config();
    small.walk_max_time = small.walk_cgroup_time = std::chrono::milliseconds(1);
    return small;
  }

  // Kills a child that has `list`, registered under `key_of`.
  HeapWalked kill_with(FakeList& list) { return kill_at(list.addresses()); }
  HeapWalked kill_at(const HeapAddresses& addresses) {
    cgroup_->set_limit(mebibytes(48));
    ChildProcess child(cgroup_.get(), leak);
    EXPECT_TRUE(heap().watch(child.key(), addresses).has_value());
    child.go();
    EXPECT_TRUE(WIFSIGNALED(child.wait()));
    return only_walk_of(child.pid());
  }

  // Chunks never come back twice or not at all: a walk of all of them succeeds afterwards.
  void expect_good_walk(std::size_t buckets = 2000) {
    FakeList list(mebibytes(8));
    list.fill(buckets);
    auto walk = kill_with(list);
    EXPECT_EQ(walk.stop, WalkStop::kEnd);
    EXPECT_EQ(take(walk).size(), buckets);
  }
};

TEST_F(HostileHeapTest, buckets_arrive_as_they_were_laid_out) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(1));
  list.push(3);
  list.push(4, 0x7f00'0000'0000);  // no 32-bit offset from text
  list.push(0);
  list.push(1000);
  list.push(128);
  auto walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(walk.clipped, 1u);
  EXPECT_FALSE(walk.has_rate);
  EXPECT_FALSE(walk.has_cycle);
  auto buckets = take(walk);
  ASSERT_EQ(buckets.size(), 5u);
  const std::size_t kDepths[] = {128, 1000, 0, 4, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    const auto& bucket = buckets[i];
    EXPECT_EQ(bucket.header.stack_depth, kDepths[i]);
    EXPECT_EQ(bucket.pcs.size(), std::min<std::size_t>(kDepths[i], 128));
    EXPECT_EQ(bucket.header.hash, 0xfeedu);
    EXPECT_EQ(bucket.header.size, 64u);
    EXPECT_EQ(bucket.header.pc_bytes, i == 3 ? 8 : 4);
    for (std::size_t pc = 0; pc < bucket.pcs.size(); ++pc) {
      EXPECT_EQ(bucket.pcs[pc], (i == 3 ? 0x7f00'0000'0000u : 0x400100u) + pc);
    }
    ASSERT_EQ(bucket.record.size(), 16u);
    EXPECT_EQ(bucket.record[0], 7u);
    EXPECT_EQ(bucket.header.stored_words, 1u);
  }
}

std::uint64_t sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST_F(HostileHeapTest, goroutines_are_counted_by_state_and_reason) {
  KernelConfig patient = config();
  patient.walk_max_time = patient.walk_cgroup_time = std::chrono::seconds(10);
  OOMW_SHARE_OR_SKIP("patient", patient, "heap_at_kill");
  FakeList list(mebibytes(1));
  list.fill(10);
  FakeGoroutines goroutines(1000);
  for (std::size_t i = 0; i < 100; ++i) goroutines.set(i, FakeGoroutines::kRunnable, 14);
  for (std::size_t i = 100; i < 400; ++i) goroutines.set(i, FakeGoroutines::kWaiting | FakeGoroutines::kScanBit, 14);
  for (std::size_t i = 400; i < 405; ++i) goroutines.set(i, FakeGoroutines::kWaiting, 200);
  auto walk = kill_at(goroutines.beside(list.addresses()));
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(take(walk).size(), 10u);
  EXPECT_EQ(walk.goroutines_stop, WalkStop::kEnd);
  EXPECT_EQ(walk.goroutines, 1000u);
  EXPECT_EQ(walk.goroutines_absent, 0u);
  ASSERT_EQ(walk.goroutine_states.size(), OOMW_GO_STATES);
  EXPECT_EQ(walk.goroutine_states[1], 100u);
  EXPECT_EQ(walk.goroutine_states[4], 900u);
  EXPECT_EQ(sum(walk.goroutine_states), 1000u);
  EXPECT_EQ(walk.goroutine_waits[14], 300u);
  EXPECT_EQ(walk.goroutine_waits[1], 595u);
  EXPECT_EQ(walk.goroutine_waits[OOMW_GO_REASONS - 1], 5u) << "reasons above go into the last";
}

TEST_F(HostileHeapTest, list_of_goroutines_that_lies_is_bounded_and_ends_with_its_reason) {
  KernelConfig patient = config();
  patient.walk_max_time = patient.walk_cgroup_time = std::chrono::seconds(10);
  OOMW_SHARE_OR_SKIP("patient", patient, "heap_at_kill");
  struct Case {
    const char* name;
    std::function<void(FakeGoroutines&)> forge;
    WalkStop stop;
    std::uint64_t counted, absent;
  };
  const Case kCases[] = {
      {"2^60 long", [](auto& list) { list.length() = std::uint64_t{1} << 60; }, WalkStop::kFault, 1024, 0},
      {"one goroutine again and again",
       [](auto& list) {
         for (std::size_t i = 1; i < list.length(); ++i) list.pointer(i) = list.pointer(0);
       },
       WalkStop::kLoop, 1, 0},
      {"null", [](auto& list) { list.pointer(200) = 0; }, WalkStop::kMalformed, 200, 0},
      {"not aligned", [](auto& list) { list.pointer(200) += 1; }, WalkStop::kMalformed, 200, 0},
      {"another's self", [](auto& list) { list.of(200)[FakeGoroutines::kSelf] ^= 8; }, WalkStop::kMalformed, 200, 0},
      {"no status", [](auto& list) { list.set(200, 77, 0); }, WalkStop::kMalformed, 200, 0},
      {"a page that is not there", [](auto& list) { list.pointer(200) = 4096; }, WalkStop::kEnd, 1023, 1},
      {"the kernel's", [](auto& list) { list.pointer(200) = ~std::uint64_t{7}; }, WalkStop::kEnd, 1023, 1},
  };
  for (const Case& forged : kCases) {
    FakeList list(mebibytes(1));
    list.fill(10);
    FakeGoroutines goroutines(1024);
    forged.forge(goroutines);
    auto walk = kill_at(goroutines.beside(list.addresses()));
    EXPECT_EQ(walk.goroutines_stop, forged.stop) << forged.name << ": " << to_string(walk.goroutines_stop);
    EXPECT_EQ(sum(walk.goroutine_states), forged.counted) << forged.name;
    EXPECT_EQ(walk.goroutines_absent, forged.absent) << forged.name;
    EXPECT_EQ(walk.stop, WalkStop::kEnd) << forged.name;
    EXPECT_EQ(take(walk).size(), 10u) << forged.name;
  }
}

TEST_F(HostileHeapTest, goroutines_get_what_is_left_of_the_time) {
  KernelConfig small = config();
  small.walk_max_time = Nanoseconds(static_cast<std::int64_t>(time_factor() * 1e6));
  OOMW_SHARE_OR_SKIP("small budget", small, "heap_at_kill");
  FakeList list(mebibytes(1));
  list.fill(10);
  FakeGoroutines goroutines(100'000);
  auto walk = kill_at(goroutines.beside(list.addresses()));
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(walk.goroutines_stop, WalkStop::kTimeLimit);
  EXPECT_LT(sum(walk.goroutine_states), 100'000u);  // 0 where the CPU was taken away meanwhile
  std::cout << sum(walk.goroutine_states) << " goroutines in " << (walk.time - walk.started).count() / 1000 << " us\n";
  EXPECT_EQ(take(walk).size(), 10u);
}

TEST_F(HostileHeapTest, list_that_leads_back_into_itself_is_a_loop) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  for (std::size_t length : {1u, 2u, 3u, 1000u}) {
    FakeList list(mebibytes(1));
    auto last = list.push();
    list.fill(length - 1);
    FakeList::next_of(last) = list.head();
    auto walk = kill_with(list);
    EXPECT_EQ(walk.stop, WalkStop::kLoop) << length;
    EXPECT_GE(walk.walked, length);
    EXPECT_LE(walk.walked, 3 * length + 3);
    take(walk);
  }
  expect_good_walk();
}

TEST_F(HostileHeapTest, what_is_no_bucket_ends_the_walk_with_what_came_before) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  struct Case {
    std::size_t word;
    std::uint64_t value;
    WalkStop stop;
  };
  const Case kCases[] = {
      {5, 1027, WalkStop::kMalformed},  // depth
      {5, ~0ull, WalkStop::kMalformed},
      {2, 2, WalkStop::kMalformed},                  // a block profile's bucket
      {1, 0x1234'5679, WalkStop::kMalformed},        // the next one is not aligned
      {1, 0x1000, WalkStop::kFault},                 // nothing there
      {1, 0xffff'8000'0000'0000, WalkStop::kFault},  // the kernel's own
  };
  for (const Case& bad : kCases) {
    FakeList list(mebibytes(1));
    auto victim = list.push();
    list.fill(10);
    FakeList::word(victim, bad.word) = bad.value;
    auto walk = kill_with(list);
    EXPECT_EQ(walk.stop, bad.stop) << bad.word << " " << bad.value;
    EXPECT_EQ(take(walk).size(), bad.stop == WalkStop::kFault ? 11u : 10u);
  }
}

TEST_F(HostileHeapTest, head_that_is_not_there_or_not_aligned_is_an_empty_walk) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(1));
  list.head() = list.end() + 1;
  auto walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kMalformed);
  EXPECT_EQ(take(walk).size(), 0u);
  list.head() = 0;
  walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(walk.chunk_count, 0u);
  EXPECT_EQ(take(walk).size(), 0u);
}

TEST_F(HostileHeapTest, page_never_touched_is_a_fault) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(4));
  FakeList::next_of(list.push()) = list.end() - 4096;
  list.fill(5);
  auto walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kFault);
  EXPECT_EQ(take(walk).size(), 6u);
}

TEST_F(HostileHeapTest, last_bucket_of_a_mapping_with_the_short_record_is_read) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  FakeList list(mebibytes(1));
  auto first = list.push();
  std::uint64_t edge = list.end() - (FakeList::kHeader + 3 + 8) * 8;
  std::memcpy(reinterpret_cast<void*>(edge), reinterpret_cast<void*>(first), (FakeList::kHeader + 3 + 8) * 8);
  FakeList::next_of(first) = edge;
  auto walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  auto buckets = take(walk);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(walk.absent, 1u) << "what lies behind the mapping is taken as 0";
  EXPECT_EQ(buckets[1].header.record_words, 16u);
  EXPECT_EQ(buckets[1].header.stored_words, buckets[0].header.stored_words);
  EXPECT_GT(buckets[1].header.stored_words, 0u);
}

// The newest bucket of a chunk of the runtime's: its record reaches into a page that was never used.
TEST_F(HostileHeapTest, record_in_a_page_never_touched_is_zero_there_and_the_walk_goes_on) {
  OOMW_SHARE_OR_SKIP("best", config(), "heap_at_kill");
  constexpr std::size_t kInPage = (FakeList::kHeader + 3 + 4) * 8;  // header, stack, a quarter of the record
  FakeList list(mebibytes(4));
  auto first = list.push();
  std::uint64_t edge = list.end() - 8192 - kInPage;
  std::memcpy(reinterpret_cast<void*>(edge), reinterpret_cast<void*>(first), kInPage);
  FakeList::next_of(first) = edge;
  auto walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(walk.absent, 1u);
  auto buckets = take(walk);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[1].header.hash, buckets[0].header.hash);
  EXPECT_LE(buckets[1].header.stored_words, 4u);
  EXPECT_GT(buckets[1].header.stored_words, 0u);
}

TEST_F(HostileHeapTest, millions_of_buckets_end_at_the_limit_or_with_the_pool) {
  KernelConfig config = HostileHeapTest::config();
  config.walk_max_buckets = 5000;
  OOMW_LOAD_OR_SKIP(config, "heap_at_kill");
  FakeList list(mebibytes(80));
  list.fill(300'000);
  auto walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kBucketLimit);
  EXPECT_EQ(take(walk).size(), 5000u);

  KernelConfig small = HostileHeapTest::config();
  small.walk_pool_bytes = 1u << 20;
  load(small);
  cgroup_ = std::move(*TestCgroup::make());
  events_.clear();
  walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kPoolFull);
  EXPECT_EQ(walk.chunk_count, 9u) << "half of the pool is for first chunks, of which it has one";
  expect_good_walk(300);  // while the other's chunks are not taken yet
  take(walk);
  expect_good_walk();

  KernelConfig hasty = HostileHeapTest::config();
  hasty.walk_max_time = Nanoseconds(50'000);
  load(hasty);
  cgroup_ = std::move(*TestCgroup::make());
  walk = kill_with(list);
  EXPECT_EQ(walk.stop, WalkStop::kTimeLimit);
  EXPECT_EQ(walk.walked % 64, 0u);
  take(walk);
}

TEST_F(HostileHeapTest, walks_of_one_cgroup_share_a_budget_of_each_second_and_others_have_their_own) {
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
TEST_F(HostileHeapTest, walks_of_one_owner_share_a_budget_though_their_cgroups_differ) {
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

TEST_F(HostileHeapTest, sixteen_victims_of_one_moment_are_all_walked) {
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
TEST_F(HostileHeapTest, victim_that_leaves_before_it_is_marked_is_walked_too) {
  constexpr int kKills = 40;
  for (bool at_delivery : {false, true}) {
    KernelConfig config = HostileHeapTest::config();
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
TEST_F(HostileHeapTest, cost_of_every_other_signal_and_exit_is_measured) {
  for (bool at_delivery : {false, true}) {
    KernelConfig config = HostileHeapTest::config();
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

TEST_F(HostileHeapTest, who_is_not_registered_or_somebody_else_is_not_walked) {
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

TEST_F(HostileHeapTest, kill_by_hand_is_not_walked_and_its_exit_forgets_it) {
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

TEST_F(HostileHeapTest, exec_forgets_what_the_process_was) {
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

TEST_F(HostileHeapTest, walk_whose_event_does_not_fit_the_ring_is_found) {
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

TEST_F(HostileHeapTest, more_processes_than_entries_are_refused_and_counted) {
  KernelConfig config = HostileHeapTest::config();
  config.max_go_processes = 2;
  OOMW_LOAD_OR_SKIP(config, "heap_at_kill");
  HeapAddresses somewhere{.buckets = 4096};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(heap().watch({(1 << 22) + i, 1}, somewhere).has_value());
  EXPECT_EQ(heap().watch({(1 << 22) + 2, 1}, somewhere).error().code, ErrorCode::kLimit);
  EXPECT_EQ(lost(LostStage::kGoTargets), 1u);
  EXPECT_TRUE(heap().watch({1 << 22, 2}, somewhere).has_value()) << "its own entry is replaced";
  EXPECT_FALSE(heap().watch({1, 1}, {}).has_value());
}

TEST_F(HostileHeapTest, forced_to_none_there_is_no_go_heap) {
  KernelConfig config = HostileHeapTest::config();
  config.forced["heap_at_kill"] = Rung::kNone;
  OOMW_LOAD_OR_SKIP(config, "oom_kill");
  EXPECT_EQ(source_->heap_walks(), nullptr);
  EXPECT_EQ(rung_of(*source_, "heap_at_kill"), Rung::kNone);
}

}  // namespace
}  // namespace oomw::test
