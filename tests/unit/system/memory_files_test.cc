// SPDX-License-Identifier: Apache-2.0
#include "system/memory_files.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(MemoryFiles, limit_text_forms) {
  EXPECT_EQ(parse_limit("4096\n").bytes, 4096u);
  EXPECT_EQ(parse_limit("0\n").bytes, 0u);
  EXPECT_TRUE(parse_limit("max\n").valid);
  EXPECT_EQ(parse_limit("max\n").bytes, std::nullopt);
  EXPECT_TRUE(parse_limit("9223372036854771712\n").valid);
  EXPECT_EQ(parse_limit("9223372036854771712\n").bytes, std::nullopt);
}

TEST(MemoryFiles, limit_of_64k_pages_is_none_too) {
  EXPECT_EQ(parse_limit("9223372036854710272").bytes, std::nullopt);
  EXPECT_EQ(parse_limit("9223372036854710272").valid, true);
}

TEST(MemoryFiles, limit_garbage_is_not_valid) {
  for (const char* text : {"", "\n", "-1", "12k", "0x10", "99999999999999999999999"}) {
    EXPECT_FALSE(parse_limit(text).valid) << text;
  }
}

TEST(MemoryFiles, find_value_matches_whole_keys) {
  EXPECT_EQ(find_value("oom_kill_disable 0\noom_kill 7\n", "oom_kill"), 7u);
  EXPECT_EQ(find_value("oom_group_kill 7\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(find_value("oom_kill seven\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(find_value("oom_kill 7", "oom_kill"), 7u);
}

TEST(MemoryFiles, stat_skips_lines_that_are_none) {
  const auto stat = parse_stat("anon 1\n\n x 2\nno_number\nfile -3\nshmem 4", CgroupVersion::kV2);
  EXPECT_EQ(stat.size(), 2u);
  EXPECT_EQ(stat.at("shmem"), 4u);
}

TEST(MemoryFiles, stat_keys_are_bounded) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "key" + std::to_string(i) + " 1\n";
  EXPECT_EQ(parse_stat(text, CgroupVersion::kV2).size(), kMaxStatKeys);
}

TEST(MemoryFiles, of_v1_totals_are_kept_and_the_limit_of_memory_and_swap) {
  const auto stat =
      parse_stat("rss 5\nhierarchical_memory_limit 7\nhierarchical_memsw_limit 8\ntotal_rss 6\n", CgroupVersion::kV1);
  EXPECT_EQ(stat, (std::map<std::string, std::uint64_t>{{"anon", 6}, {"hierarchical_memsw_limit", 8}}));
}

TEST(MemoryFiles, v1_own_values_are_not_mistaken_for_totals) {
  EXPECT_EQ(reclaimable("active_file 5\ninactive_file 6\n", CgroupVersion::kV1), std::nullopt);
  EXPECT_EQ(reclaimable("total_active_file 5\ntotal_inactive_file 6\n", CgroupVersion::kV1), 11u);
}

}  // namespace
}  // namespace oomw
