// SPDX-License-Identifier: Apache-2.0
#include "model/memory_model.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using namespace test;

// pod 1 > container 2 > nested 3
MemoryModel tree() {
  MemoryModel model;
  apply_all(model, {created(1, 0, "/pod"), created(2, 1, "/pod/c"), created(3, 2, "/pod/c/nested")});
  return model;
}

TEST(MemoryModelTest, effective_limit_when_the_parent_is_nearer_to_full_is_the_parents) {
  MemoryModel model = tree();
  apply_all(model, {sampled(1, 0, 500, 512), sampled(2, 0, 100, 256)});
  const auto limit = model.effective_limit({3});
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->owner.value, 1u);
  EXPECT_EQ(limit->usage_bytes, 500 * kMiB);
}

TEST(MemoryModelTest, effective_limit_when_equal_headroom_is_the_nearest) {
  MemoryModel model = tree();
  apply_all(model, {sampled(1, 0, 100, 256), sampled(2, 0, 100, 256)});
  EXPECT_EQ(model.effective_limit({3})->owner.value, 2u);
}

TEST(MemoryModelTest, effective_limit_when_usage_exceeds_it_has_no_headroom) {
  MemoryModel model = tree();
  apply_all(model, {sampled(1, 0, 255, 256), sampled(2, 0, 257, 256)});
  EXPECT_EQ(model.effective_limit({2})->owner.value, 2u);
}

TEST(MemoryModelTest, effective_limit_when_nobody_has_one_is_none) {
  MemoryModel model = tree();
  model.apply(sampled(2, 0, 100, std::nullopt));
  EXPECT_FALSE(model.effective_limit({3}).has_value());
  EXPECT_FALSE(model.effective_limit({99}).has_value());
}

TEST(MemoryModelTest, walks_when_parents_form_a_ring_end) {
  MemoryModel model;
  apply_all(model, {created(1, 2, "/a"), created(2, 1, "/b"), seen(10, 5, 1)});
  EXPECT_FALSE(model.effective_limit({1}).has_value());
  EXPECT_EQ(model.container_of({1}), nullptr);
  EXPECT_FALSE(model.is_under({1}, {7}));
  EXPECT_EQ(model.processes_under({1}, 1).size(), 1u);
}

TEST(MemoryModelTest, watermark_when_crossed_updates_reading_series_and_growth) {
  MemoryModel model = tree();
  WatermarkCrossed mark = crossed(2, 100, 80);
  apply_all(model, {sampled(2, 0, 10, 256, 5), mark});
  const CgroupState& state = *model.find_cgroup({2});
  EXPECT_EQ(state.usage_bytes, mark.usage_bytes);
  EXPECT_EQ(state.limit_bytes, 256 * kMiB);
  EXPECT_FALSE(state.nonreclaimable_bytes.has_value());
  EXPECT_EQ(state.series.size(), 2u);
  EXPECT_NEAR(*state.growth_bytes_per_second, static_cast<double>(mark.usage_bytes - 10 * kMiB) / 0.1, 1e5);
}

TEST(MemoryModelTest, watermark_when_older_than_the_reading_keeps_the_reading) {
  MemoryModel model = tree();
  apply_all(model, {sampled(2, 200, 10, 256, 5), crossed(2, 100, 80)});
  EXPECT_EQ(model.find_cgroup({2})->usage_bytes, 10 * kMiB);
  EXPECT_EQ(model.find_cgroup({2})->watermarks.size(), 1u);
}

TEST(MemoryModelTest, watermarks_when_many_keep_the_newest) {
  MemoryModel model = tree();
  for (int i = 0; i < 100; ++i) model.apply(crossed(2, i * 10, 80));
  const auto& marks = model.find_cgroup({2})->watermarks;
  ASSERT_EQ(marks.size(), CgroupState::kMaxWatermarks);
  EXPECT_EQ(marks.back().time, at_ms(990));
}

TEST(MemoryModelTest, watermarks_when_hovering_at_the_limit_keep_the_levels) {
  MemoryModel model = tree();
  model.apply(crossed(2, 0, 80));
  WatermarkCrossed near = crossed(2, 0, 95);
  near.reason = WatermarkReason::kTimeToLimit;
  for (int i = 1; i < 100; ++i) {
    near.time = at_ms(i * 1000);
    model.apply(near);
  }
  const auto& marks = model.find_cgroup({2})->watermarks;
  ASSERT_EQ(marks.size(), CgroupState::kMaxWatermarks);
  EXPECT_EQ(marks.front().time, at_ms(0));
  EXPECT_EQ(marks.back().time, at_ms(99'000));
}

// A Go program that grows by 2 MiB a second, in steps of 64 MiB: one comes each half minute.
TEST(MemoryModelTest, growth_of_a_program_that_grows_by_bursts_is_that_of_half_a_minute) {
  MemoryModel model = tree();
  for (int s = 0; s < 60; ++s) {
    model.apply(sampled(2, s * 1000, static_cast<std::uint64_t>(s / 32) * 64 + 10));
    if (s != 32) continue;
    WatermarkCrossed mark = crossed(2, s * 1000 + 40, 50);
    mark.growth_bytes_per_second = 50e6;
    mark.usage_bytes = 74 * kMiB;
    model.apply(mark);
    EXPECT_LT(*model.find_cgroup({2})->growth_bytes_per_second, 2e6);
  }
  EXPECT_NEAR(*model.find_cgroup({2})->growth_bytes_per_second, 2.0 * kMiB, 1.2 * kMiB);
}

// "0.1 s are left" by a burst, seen every second for 50 s: nothing more was read of that process.
TEST(MemoryModelTest, a_burst_is_no_time_to_the_limit_where_usage_hardly_rises) {
  MemoryModel model = tree();
  WatermarkCrossed burst = crossed(2, 10'000, 80, 100);
  burst.time_to_limit = std::chrono::milliseconds(100);
  model.apply(burst);
  EXPECT_EQ(model.time_to_limit(burst), burst.time_to_limit) << "the only reading";
  model.apply(sampled(2, 10'500, 81, 100));
  burst.time = burst.time + std::chrono::seconds(2);
  burst.usage_bytes = 82 * kMiB;
  model.apply(burst);
  EXPECT_NEAR(to_seconds(*model.time_to_limit(burst)), 18 / (1 / 1.5), 0.1);
  burst.time = burst.time + std::chrono::seconds(1);
  burst.usage_bytes = 90 * kMiB;
  model.apply(burst);
  EXPECT_EQ(model.time_to_limit(burst), burst.time_to_limit) << "8 % since the last one: nobody knows how fast";
  burst.time = burst.time + std::chrono::seconds(1);
  model.apply(burst);
  EXPECT_EQ(model.time_to_limit(burst), std::nullopt) << "it stands still";
}

TEST(MemoryModelTest, growth_is_the_kernels_while_there_is_one_reading) {
  MemoryModel model = tree();
  WatermarkCrossed mark = crossed(2, 10'000, 80);
  mark.growth_bytes_per_second = 50e6;
  model.apply(mark);
  EXPECT_EQ(model.find_cgroup({2})->growth_bytes_per_second, 50e6);
}

TEST(MemoryModelTest, growth_when_later_samples_are_flat_decays) {
  MemoryModel model = tree();
  WatermarkCrossed mark = crossed(2, 0, 80);
  mark.growth_bytes_per_second = 50e6;
  model.apply(mark);
  for (int s = 1; s <= 10; ++s) model.apply(sampled(2, s * 1000, 205));
  EXPECT_NEAR(*model.find_cgroup({2})->growth_bytes_per_second, 0, 1e5);
}

// A sample right after the kill, with the victim's memory still there, brought its growth back, for a container that
// then stood idle.
TEST(MemoryModelTest, growth_after_a_kill_is_of_what_lives) {
  MemoryModel model = tree();
  for (int s = 0; s <= 5; ++s) model.apply(sampled(2, s * 1000, 100 + 20 * s));
  EXPECT_GT(model.find_cgroup({2})->growth_bytes_per_second.value_or(0), 15e6);
  OomKill kill = killed(10, 5, 2, 2, 5'100);
  kill.owner_usage_bytes.reset();
  model.apply(kill);
  model.apply(sampled(2, 5'150, 203));
  EXPECT_FALSE(model.find_cgroup({2})->growth_bytes_per_second.has_value());
  model.apply(sampled(2, 6'000, 1));
  EXPECT_FALSE(model.find_cgroup({2})->growth_bytes_per_second.has_value());
  model.apply(sampled(2, 7'000, 1));
  EXPECT_NEAR(model.find_cgroup({2})->growth_bytes_per_second.value_or(-1), 0, 1);
}

TEST(MemoryModelTest, sample_when_its_limit_was_lifted_forgets_the_limit) {
  MemoryModel model = tree();
  apply_all(model, {sampled(2, 0, 10, 256), sampled(2, 10, 10, std::nullopt)});
  EXPECT_FALSE(model.find_cgroup({2})->limit_bytes.has_value());
}

TEST(MemoryModelTest, expire_when_a_minute_passed_forgets_cgroup_and_process) {
  MemoryModel model = tree();
  apply_all(model, {seen(10, 5, 3), exited(10, 5, 10), removed(3, 20)});
  model.expire(at_ms(59'000));
  EXPECT_NE(model.find_cgroup({3}), nullptr);
  EXPECT_NE(model.find_process({10, 5}), nullptr);
  model.expire(at_ms(60'021));
  EXPECT_EQ(model.find_cgroup({3}), nullptr);
  EXPECT_EQ(model.find_process({10, 5}), nullptr);
  EXPECT_NE(model.find_cgroup({2}), nullptr);
}

TEST(MemoryModelTest, processes_under_when_nested_finds_the_living_of_all_levels) {
  MemoryModel model = tree();
  apply_all(model, {seen(10, 5, 2), seen(11, 5, 3), seen(12, 5, 1), seen(13, 5, 3), exited(13, 5, 1)});
  EXPECT_EQ(model.processes_under({2}, 10).size(), 2u);
  EXPECT_EQ(model.processes_under({1}, 10).size(), 3u);
  EXPECT_EQ(model.processes_under({1}, 2).size(), 2u);
}

TEST(MemoryModelTest, processes_under_at_a_time_finds_who_lived_then) {
  MemoryModel model = tree();
  apply_all(model, {seen(10, 5, 2), seen(11, 5, 2), exited(11, 5, 100)});
  EXPECT_EQ(model.processes_under({2}, 10).size(), 1u);
  EXPECT_EQ(model.processes_under({2}, 10, at_ms(99)).size(), 2u);
  EXPECT_EQ(model.processes_under({2}, 10, at_ms(101)).size(), 1u);
}

TEST(MemoryModelTest, container_of_when_nested_is_the_nearest_named) {
  MemoryModel model = tree();
  model.apply(identified(2, std::string(64, 'a'), "web"));
  EXPECT_EQ(model.container_of({3})->id.value, 2u);
  EXPECT_EQ(model.container_of({1}), nullptr);
}

TEST(MemoryModelTest, identity_when_the_path_comes_after_the_bundle_keeps_the_bundles) {
  MemoryModel model = tree();
  apply_all(model, {identified(2, std::string(64, 'a'), "web"), identified(2, std::string(64, 'a'), "", false)});
  EXPECT_EQ(model.find_cgroup({2})->identity.name, "web");
}

TEST(MemoryModelTest, created_when_the_path_was_cut_does_not_overwrite) {
  MemoryModel model = tree();
  CgroupCreated cut = created(2, 1, "/po");
  cut.path_complete = false;
  model.apply(cut);
  EXPECT_EQ(model.find_cgroup({2})->path, "/pod/c");
}

TEST(MemoryModelTest, created_when_the_model_is_full_counts_the_drop) {
  MemoryModel model;
  for (std::uint64_t id = 1; id <= MemoryModel::kMaxCgroups + 2; ++id) model.apply(created(id, 0, "/x"));
  EXPECT_EQ(model.cgroups().size(), MemoryModel::kMaxCgroups);
  EXPECT_EQ(model.dropped(), 2u);
}

TEST(MemoryModelTest, lost_when_reported_again_is_the_newest_total) {
  MemoryModel model;
  apply_all(model, {EventsLost{at_ms(0), "ringbuf_kill", 3}, EventsLost{at_ms(1), "ringbuf_kill", 5}});
  EXPECT_EQ(model.lost().at("ringbuf_kill"), 5u);
}

TEST(MemoryModelTest, created_when_the_id_is_used_again_starts_afresh) {
  MemoryModel model = tree();
  OomKill kill = killed(10, 5, 3, 3, 5);
  apply_all(model, {identified(3, std::string(64, 'a'), "old"), sampled(3, 1, 100, 256), crossed(3, 2, 90), kill,
                    removed(3, 10)});
  CgroupCreated again = created(3, 1, "/pod/new");
  again.time = at_ms(20);
  model.apply(again);
  const CgroupState& state = *model.find_cgroup({3});
  EXPECT_EQ(state.path, "/pod/new");
  EXPECT_EQ(state.identity.name, "");
  EXPECT_FALSE(state.sampled);
  EXPECT_EQ(state.series.size(), 0u);
  EXPECT_TRUE(state.watermarks.empty());
  EXPECT_FALSE(model.is_under({3}, {2}));
  EXPECT_TRUE(model.is_under({3}, {1}));
}

TEST(MemoryModelTest, expire_when_the_id_was_used_again_keeps_the_new_one) {
  MemoryModel model = tree();
  apply_all(model, {removed(3, 10), created(3, 1, "/pod/new")});
  model.expire(at_ms(70'000));
  ASSERT_NE(model.find_cgroup({3}), nullptr);
  model.apply(removed(3, 71'000));
  model.expire(at_ms(140'000));
  EXPECT_EQ(model.find_cgroup({3}), nullptr);
}

TEST(MemoryModelTest, limit_when_changed_at_run_time_remembers_what_it_was) {
  MemoryModel model = tree();
  apply_all(model, {sampled(2, 0, 10, 256), sampled(2, 10, 10, 256)});
  EXPECT_FALSE(model.find_cgroup({2})->limit_change.has_value());
  OomKill kill = killed(10, 5, 2, 2, 20);
  kill.owner_limit_bytes = 64 * kMiB;
  model.apply(kill);
  const auto& change = model.find_cgroup({2})->limit_change;
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->from, 256 * kMiB);
  EXPECT_EQ(change->to, 64 * kMiB);
  EXPECT_EQ(change->seen_at, at_ms(20));
}

TEST(MemoryModelTest, path_up_is_nearest_first_and_ends_in_a_ring) {
  MemoryModel model = tree();
  EXPECT_EQ(model.path_up({3}), (std::vector<CgroupId>{{3}, {2}, {1}}));
  MemoryModel ring;
  apply_all(ring, {created(1, 2, "/a"), created(2, 1, "/b")});
  EXPECT_EQ(ring.path_up({1}).size(), MemoryModel::kMaxDepth);
}

}  // namespace
}  // namespace oomw
