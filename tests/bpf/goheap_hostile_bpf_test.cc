// SPDX-License-Identifier: Apache-2.0
// Victims that lay out the list of buckets themselves, and lie.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>

#include "bpf/fake_list.h"
#include "bpf/heap_fixture.h"
#include "bpf/programs.h"

namespace oomw::test {
namespace {

class HostileHeapTest : public HeapTest {
 protected:
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

}  // namespace
}  // namespace oomw::test
