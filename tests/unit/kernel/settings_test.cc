// SPDX-License-Identifier: Apache-2.0
#include "kernel/settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace oomw {
namespace {

std::vector<std::uint32_t> levels_of(const oomw_settings& settings) {
  return {settings.levels_percent, settings.levels_percent + settings.level_count};
}

TEST(KernelSettingsTest, defaults_reach_the_programs_unchanged) {
  auto settings = make_settings({});
  EXPECT_EQ(levels_of(settings), (std::vector<std::uint32_t>{50, 70, 80, 85, 90, 95}));
  EXPECT_EQ(settings.rearm_percent, 5u);
  EXPECT_EQ(settings.growth_interval_ns, 10'000'000u);
  EXPECT_EQ(settings.time_to_limit_ns, 500'000'000u);
  EXPECT_EQ(settings.own_tgid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(settings.page_size, static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
}

TEST(KernelSettingsTest, levels_are_sorted_unique_and_without_zero) {
  KernelConfig config;
  config.levels_percent = {90, 0, 70, 90, 80};
  EXPECT_EQ(levels_of(make_settings(config)), (std::vector<std::uint32_t>{70, 80, 90}));
}

TEST(KernelSettingsTest, too_many_levels_keep_the_highest) {
  KernelConfig config;
  config.levels_percent = {10, 20, 30, 40, 50, 60, 70, 80, 90, 95};
  EXPECT_EQ(levels_of(make_settings(config)), (std::vector<std::uint32_t>{30, 40, 50, 60, 70, 80, 90, 95}));
}

TEST(KernelSettingsTest, rearm_stays_below_the_lowest_level) {
  KernelConfig config;
  config.levels_percent = {5, 50};
  config.rearm_percent = 20;
  EXPECT_EQ(make_settings(config).rearm_percent, 4u);
  config.levels_percent.clear();
  EXPECT_EQ(make_settings(config).rearm_percent, 0u);
  EXPECT_EQ(make_settings(config).level_count, 0u);
}

TEST(KernelSettingsTest, ring_is_a_power_of_two_of_at_least_a_page) {
  KernelConfig config;
  config.ring_bytes = 1;
  EXPECT_EQ(make_map_entries(config).at("ring"), static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
  config.ring_bytes = 300'000;
  EXPECT_EQ(make_map_entries(config).at("ring"), 524'288u);
}

TEST(KernelSettingsTest, walks_are_bounded_as_configured) {
  auto settings = make_settings({});
  EXPECT_EQ(settings.walk_max_buckets, 131'072u);
  EXPECT_EQ(settings.walk_max_ns, 20'000'000u);
  EXPECT_EQ(settings.walk_cgroup_ns, 100'000'000u);
  KernelConfig config;
  config.walk_max_buckets = 0xffff'ffff;
  EXPECT_EQ(make_settings(config).walk_max_buckets, (1u << 23) - 1) << "bpf_loop() refuses more";
}

TEST(KernelSettingsTest, pool_is_of_whole_chunks_and_never_empty) {
  EXPECT_EQ(walk_chunks({}), 208u);
  KernelConfig config;
  config.walk_pool_bytes = 0;
  EXPECT_EQ(walk_chunks(config), 1u);
  EXPECT_EQ(make_map_entries(config).at("go_chunks"), 1u);
  EXPECT_EQ(make_map_entries(config).at("go_free_chunks"), 1u);
}

TEST(KernelSettingsTest, maps_grow_with_the_number_of_cgroups) {
  KernelConfig config;
  config.max_cgroups = 100;
  EXPECT_EQ(make_map_entries(config).at("memcg_states"), 100u);
  EXPECT_EQ(make_map_entries(config).at("reclaims"), 100u);
  EXPECT_EQ(make_map_entries(config).at("level_gates"), 200u);
  config.max_cgroups = 0;
  EXPECT_EQ(make_map_entries(config).at("memcg_states"), 1u);
}

}  // namespace
}  // namespace oomw
