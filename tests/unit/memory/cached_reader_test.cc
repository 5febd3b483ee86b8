// SPDX-License-Identifier: Apache-2.0
#include "memory/cached_reader.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

std::vector<std::byte> counting(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(CachedReader, read_across_two_blocks_is_whole) {
  const auto bytes = counting(64);
  const SpanSource source(bytes);
  CachedReader reader(source, 1024, 16);
  EXPECT_EQ(*reader.get<std::uint64_t>(12), 0x131211100f0e0d0cU);
}

TEST(CachedReader, neighbours_cost_one_fetch) {
  const auto bytes = counting(64);
  const SpanSource source(bytes);
  CachedReader reader(source, 1024, 64);
  for (std::uint64_t at = 0; at < 64; at += 8) ASSERT_TRUE(reader.get<std::uint64_t>(at).has_value());
  EXPECT_EQ(reader.fetches(), 1U);
}

TEST(CachedReader, blocks_that_alternate_at_any_distance_are_fetched_once) {
  const auto bytes = counting(4096);
  const SpanSource source(bytes);
  CachedReader reader(source, 4096, 16);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(reader.get<std::uint8_t>(0).has_value());
    ASSERT_TRUE(reader.get<std::uint8_t>(16 * CachedReader::kBlocks).has_value());
  }
  EXPECT_EQ(reader.fetches(), 2U);
}

TEST(CachedReader, the_block_unused_for_longest_goes_first) {
  const auto bytes = counting(4096);
  const SpanSource source(bytes);
  CachedReader reader(source, 4096, 16);
  for (std::uint64_t block = 0; block <= CachedReader::kBlocks; ++block) {
    ASSERT_TRUE(reader.get<std::uint8_t>(0).has_value());
    ASSERT_TRUE(reader.get<std::uint8_t>(block * 16).has_value());
  }
  EXPECT_EQ(reader.fetches(), CachedReader::kBlocks + 1);
}

TEST(CachedReader, read_past_the_end_is_an_error) {
  const auto bytes = counting(20);
  const SpanSource source(bytes);
  CachedReader reader(source, 1024, 16);
  EXPECT_TRUE(reader.get<std::uint32_t>(16).has_value());
  EXPECT_FALSE(reader.get<std::uint64_t>(16).has_value());
  EXPECT_FALSE(reader.get<std::uint64_t>(~0ULL - 3).has_value());
}

TEST(CachedReader, block_that_begins_in_a_hole_still_gives_its_end) {
  const auto bytes = counting(64);
  const SpanSource source(bytes, 1000);  // 1000 is not a multiple of the block
  CachedReader reader(source, 1024, 64);
  EXPECT_EQ(*reader.get<std::uint8_t>(1003), 3);
}

TEST(CachedReader, more_bytes_than_allowed_are_refused) {
  const auto bytes = counting(256);
  const SpanSource source(bytes);
  CachedReader reader(source, 64, 32);
  EXPECT_TRUE(reader.get<std::uint8_t>(0).has_value());
  EXPECT_TRUE(reader.get<std::uint8_t>(32).has_value());
  const auto third = reader.get<std::uint8_t>(64);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, ErrorCode::kLimit);
}

TEST(CachedReader, reads_that_fail_cost_as_much_as_others) {
  const auto bytes = counting(64);
  const SpanSource source(bytes);
  CachedReader reader(source, 1 << 20);
  std::uint64_t tries = 0;
  while (!reader.is_used_up() && tries < 1000) {
    EXPECT_FALSE(reader.get<std::uint64_t>(++tries << 32).has_value());
  }
  EXPECT_EQ(reader.bytes_fetched(), 0U);
  EXPECT_LE(reader.fetches(), (1U << 20) / CachedReader::kLeastCost);
  EXPECT_TRUE(reader.is_used_up());
}

TEST(CachedReader, text_is_cut_at_the_limit_and_refused_without_an_end) {
  const std::string text = "runtime.mbuckets";
  const SpanSource source(std::as_bytes(std::span(text)));
  CachedReader reader(source, 1024, 8);
  EXPECT_EQ(*reader.c_string(0, 7), "runtime");
  EXPECT_FALSE(reader.c_string(0, 100).has_value());
}

}  // namespace
}  // namespace oomw
