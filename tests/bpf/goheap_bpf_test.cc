// SPDX-License-Identifier: Apache-2.0
// Real Go programs that the kernel really kills for memory.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include "bpf/heap_fixture.h"
#include "bpf/programs.h"
#include "runtimes/go/walk_records.h"

namespace oomw::test {
namespace {

using go::BucketDecoder;
using go::HeapSnapshot;

struct Way {
  const char* name;
  Rung rung;
  bool at_delivery;
};

class GoHeapTest : public HeapTest, public ::testing::WithParamInterface<Way> {
 protected:
  static KernelConfig config() {
    // A victim lives for seconds here, in which the rest of the machine could fill the ring.
    KernelConfig config = config_of_only({"oom_kill", "heap_at_kill"});
    config.forced["heap_at_kill"] = GetParam().rung;
    config.walk_at_delivery = GetParam().at_delivery;
    return config;
  }

  [[nodiscard]] HeapSnapshot decode_walk(const HeapWalked& walk) {
    BucketDecoder decoder({});
    auto taken = heap().take_chunks(walk, [&](std::span<const std::byte> bytes) {
      EXPECT_TRUE(go::decode_bucket_records(bytes, walk.text_address, decoder).has_value());
    });
    EXPECT_TRUE(taken.has_value()) << taken.error().message;
    HeapSnapshot snapshot;
    decoder.finish(snapshot);
    return snapshot;
  }
};

// Somebody else's growth kills the idle victim, so its heap is to the byte what was read before.
TEST_P(GoHeapTest, victim_that_is_not_the_trigger_has_the_heap_that_was_read_before) {
  OOMW_BUILD_OR_SKIP(program, "1.26", "strip");
  OOMW_SHARE_OR_SKIP(GetParam().name, config(), "heap_at_kill");
  ASSERT_EQ(rung_of(*source_, "heap_at_kill"), GetParam().rung);
  GoVictim victim(*cgroup_, program.path, "1");
  victim.ask("stacks 3000");
  victim.ask("rate 524288");
  victim.ask("stacks 400000");
  victim.ask("gc");
  ::kill(victim.pid(), SIGSTOP);
  auto live = victim.read();
  ASSERT_TRUE(live.has_value()) << live.error().message;
  auto addresses = victim.addresses();
  ASSERT_TRUE(addresses.has_value());
  auto key = victim.key();
  ASSERT_TRUE(heap().watch(key, *addresses).has_value());
  EXPECT_EQ(heap().watched(), 1u);
  victim.set_oom_score_adj(900);
  cgroup_->set_limit(cgroup_->usage_bytes() + mebibytes(24));
  ChildProcess grower(cgroup_.get(), [] {
    touch_memory(mebibytes(32));
    return 0;
  });
  grower.go();
  grower.wait();

  auto walk = only_walk_of(key.pid);
  EXPECT_EQ(walk.process, key);
  EXPECT_EQ(walk.cgroup, cgroup_->id());
  EXPECT_EQ(walk.stop, WalkStop::kEnd);
  EXPECT_EQ(walk.walked, live->counts.walked);
  ASSERT_TRUE(walk.has_rate && walk.has_cycle);
  EXPECT_EQ(walk.rate, 524288u);
  EXPECT_EQ(walk.cycle_before, live->cycle->after);
  EXPECT_EQ(walk.cycle_after, live->cycle->after);
  auto dead = decode_walk(walk);
  EXPECT_EQ(dead.layout, live->layout);
  EXPECT_EQ(dead.counts.rejected_hash, 0u);
  ASSERT_EQ(dead.buckets.size(), live->buckets.size());
  ASSERT_GT(dead.buckets.size(), 3000u);
  for (std::size_t i = 0; i < dead.buckets.size(); ++i) {
    auto pcs = dead.pcs_of(dead.buckets[i]), expected = live->pcs_of(live->buckets[i]);
    EXPECT_TRUE(std::equal(pcs.begin(), pcs.end(), expected.begin(), expected.end())) << i;
    EXPECT_EQ(dead.buckets[i].size, live->buckets[i].size);
    EXPECT_EQ(dead.buckets[i].held_now(), live->buckets[i].held_now());
    EXPECT_EQ(dead.buckets[i].live_at_last_gc(), live->buckets[i].live_at_last_gc());
  }
  EXPECT_EQ(heap().watched(), 0u);
}

TEST_P(GoHeapTest, victim_that_outgrows_its_own_limit_is_walked_whole) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "pie-strip");
  OOMW_SHARE_OR_SKIP(GetParam().name, config(), "heap_at_kill");
  for (int kill = 0; kill < repetitions(5); ++kill) {
    GoVictim victim(*cgroup_, program.path);
    victim.ask("leak 2");
    auto addresses = victim.addresses();
    ASSERT_TRUE(addresses.has_value()) << addresses.error().message;
    ASSERT_TRUE(heap().watch(victim.key(), *addresses).has_value());
    victim.outgrow(mebibytes(96));
    auto walk = only_walk_of(victim.pid());
    EXPECT_EQ(walk.stop, WalkStop::kEnd);
    EXPECT_EQ(walk.rate, 524288u);
    auto dead = decode_walk(walk);
    std::int64_t held = 0;
    for (const auto& bucket : dead.buckets) {
      auto sampled = in_use(bucket.held_now());
      held += unsample(sampled, static_cast<std::int64_t>(walk.rate)).bytes;
    }
    EXPECT_GT(held, static_cast<std::int64_t>(mebibytes(96)) / 2);
    EXPECT_EQ(heap().take_chunks(walk, [](auto) {}).error().code, ErrorCode::kNotFound) << "taken already";
  }
  EXPECT_EQ(heap().unreported(later(2)).size(), 0u);
}

// The figures of bpf/README.md are printed here. Stacks of 36 frames: 12 MiB would end at 50,000.
TEST_P(GoHeapTest, sixty_thousand_deep_stacks_are_walked_whole_again_and_again) {
  OOMW_BUILD_OR_SKIP(program, "1.26", "plain");
  KernelConfig large = config();
  large.walk_pool_bytes = 16u << 20;
  large.walk_max_time = large.walk_cgroup_time = std::chrono::seconds(1);  // the list, not the clock, ends the walk
  OOMW_LOAD_OR_SKIP(large, "heap_at_kill");
  for (const char* stacks : {"stacks 20000", "stacks 61000", "stacks 61000"}) {
    cgroup_->set_limit(mebibytes(600));
    GoVictim victim(*cgroup_, program.path, "1");
    victim.ask(stacks);
    auto addresses = victim.addresses();
    ASSERT_TRUE(addresses.has_value());
    ASSERT_TRUE(heap().watch(victim.key(), *addresses).has_value());
    victim.outgrow(cgroup_->usage_bytes() + mebibytes(8));
    auto walk = only_walk_of(victim.pid());
    EXPECT_EQ(walk.stop, WalkStop::kEnd) << to_string(walk.stop);
    EXPECT_EQ(walk.clipped, 0u);
    auto took = static_cast<double>((walk.time - walk.started).count());
    auto buckets = static_cast<double>(walk.walked);
    std::cout << GetParam().name << ": " << walk.walked << " buckets, " << took / 1e6 << " ms, " << took / buckets
              << " ns and " << static_cast<double>(walk.bytes) / buckets << " bytes a bucket, " << walk.chunk_count
              << " chunks\n";
    auto dead = decode_walk(walk);
    EXPECT_EQ(dead.buckets.size(), walk.walked);
    events_.clear();
  }
  EXPECT_EQ(lost(LostStage::kWalkPool), 0u);
}

TEST_P(GoHeapTest, list_that_does_not_fit_the_pool_is_kept_as_far_as_it_goes_and_the_next_is_whole) {
  OOMW_BUILD_OR_SKIP(program, "1.27", "plain");
  KernelConfig small = config();
  small.walk_pool_bytes = 4 * OOMW_GO_CHUNK_BYTES;
  OOMW_LOAD_OR_SKIP(small, "heap_at_kill");
  for (bool fits : {false, true, false, true}) {
    cgroup_->set_limit(mebibytes(600));
    GoVictim victim(*cgroup_, program.path, "1");
    victim.ask(fits ? "stacks 100" : "stacks 10000");
    auto addresses = victim.addresses();
    ASSERT_TRUE(addresses.has_value());
    ASSERT_TRUE(heap().watch(victim.key(), *addresses).has_value());
    victim.outgrow(cgroup_->usage_bytes() + mebibytes(8));
    auto walk = only_walk_of(victim.pid());
    EXPECT_EQ(walk.stop, fits ? WalkStop::kEnd : WalkStop::kPoolFull) << to_string(walk.stop);
    EXPECT_GT(walk.walked, fits ? 100u : 500u);
    EXPECT_EQ(take(walk).size(), walk.walked);
  }
  EXPECT_EQ(lost(LostStage::kWalkPool), 2u);
}

// 1,500 senders to a channel that nobody receives from: the count is known, and so is what they wait for.
TEST_P(GoHeapTest, goroutines_are_counted_where_the_living_process_proved_them) {
  KernelConfig patient = config();  // the list, not the clock, ends the count
  patient.walk_max_time = patient.walk_cgroup_time = std::chrono::seconds(10);
  OOMW_SHARE_OR_SKIP(std::string(GetParam().name) + " patient", patient, "heap_at_kill");
  ::setenv("HOLD", "goroutines", 1);
  for (const char* version : {"1.19", "1.22", "1.27"}) {
    const auto program = go::test::go_program(version, "strip", "go-holders");
    if (program.path.empty()) continue;
    GoVictim victim(*cgroup_, program.path);
    auto counts = victim.goroutines();
    for (int i = 0; i < 300 && counts && counts->groups.front().count < 1500; ++i) {  // some are on their way
      ::usleep(100'000);
      counts = victim.goroutines();
    }
    ASSERT_TRUE(counts.has_value()) << version << ": " << counts.error().message;
    ::kill(victim.pid(), SIGSTOP);
    const auto& list = counts->list;
    ASSERT_TRUE(list.has_value()) << version << ": " << counts->why_no_list;
    auto addresses = victim.addresses();
    ASSERT_TRUE(addresses.has_value());
    addresses->goroutines = list->address;
    addresses->status_offset = list->status_offset;
    addresses->reason_offset = list->reason_offset;
    ASSERT_TRUE(heap().watch(victim.key(), *addresses).has_value());
    victim.set_oom_score_adj(1000);
    cgroup_->set_limit(cgroup_->usage_bytes() + mebibytes(24));
    // Several that are small: 1000 weighs as much as so small a limit, and one that fills it would be chosen. More of
    // them than fit, since what the victim before had of the limit comes free.
    std::vector<std::unique_ptr<ChildProcess>> growers;
    for (int i = 0; i < 8; ++i) {
      growers.push_back(std::make_unique<ChildProcess>(cgroup_.get(), [] {
        touch_memory(mebibytes(12));
        return ::pause();
      }));
      growers.back()->go();
    }
    for (int i = 0; i < 400 && walks_of(victim.pid()).empty(); ++i) collect();  // it dies in its own time
    auto walk = only_walk_of(victim.pid());
    ASSERT_FALSE(walk.goroutine_waits.empty());
    EXPECT_EQ(walk.goroutines_stop, WalkStop::kEnd) << version;
    const auto sending = std::ranges::find(list->wait_reasons, "chan send") - list->wait_reasons.begin();
    EXPECT_EQ(walk.goroutine_waits.at(static_cast<std::size_t>(sending)), 1500u) << version;
    EXPECT_GE(walk.goroutines, 1504u) << version;
    (void)heap().take_chunks(walk, [](auto) {});
    cgroup_->set_limit(mebibytes(512));
  }
  ::unsetenv("HOLD");
}

INSTANTIATE_TEST_SUITE_P(Ways, GoHeapTest,
                         ::testing::Values(Way{"exit_tp_btf", Rung::kTpBtf, false},
                                           Way{"exit_raw_tp", Rung::kRawTp, false},
                                           Way{"delivery_tp_btf", Rung::kTpBtf, true},
                                           Way{"delivery_raw_tp", Rung::kRawTp, true}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace oomw::test
