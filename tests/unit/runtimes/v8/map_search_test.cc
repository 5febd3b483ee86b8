// SPDX-License-Identifier: Apache-2.0
// Four blocks: one with the map of maps, one with maps, one with a second map of maps and maps of it, one with objects.
#include "runtimes/v8/map_search.h"

#include <gtest/gtest.h>

#include "unit/runtimes/v8/fake_heap.h"

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kBase = 0x40000, kMapBytes = 80;
constexpr std::size_t kBlocks = 4;
constexpr std::uint16_t kMapType = 255, kObject = 1057;

class MapSearchTest : public testing::Test {
 protected:
  MapSearchTest() : words_(kBlocks * kBlockBytes / 8) {
    meta_ = at(0, 0);
    put_map(meta_, meta_, kMapType, kMapBytes);
    for (std::uint64_t i = 1; i < 40; ++i) put_map(at(0, i * kMapBytes), meta_, kObject, 16);
    map_ = at(1, 0);
    put_map(map_, meta_, kObject, 24);
    second_meta_ = at(2, 0);
    put_map(second_meta_, second_meta_, kMapType, kMapBytes);
    second_map_ = at(2, kMapBytes);
    put_map(second_map_, second_meta_, kObject, 32);
    object_ = at(3, 0);
    set(object_, 0, map_);
  }

  [[nodiscard]] static std::uint64_t at(std::size_t block, std::uint64_t offset) {
    return kBase + block * kBlockBytes + offset + 1;
  }
  void set(std::uint64_t tagged, std::uint64_t offset, std::uint64_t value) {
    words_[(tagged - 1 + offset - kBase) / 8] = value;
  }
  void put_map(std::uint64_t tagged, std::uint64_t meta, std::uint16_t type, std::uint64_t bytes) {
    set(tagged, 0, meta);
    set(tagged, 8, bytes / 8 | std::uint64_t{type} << 32);
  }
  [[nodiscard]] std::vector<PageRange> blocks() const {
    std::vector<PageRange> blocks;
    for (std::uint64_t i = 0; i < kBlocks; ++i)
      blocks.push_back({kBase + i * kBlockBytes, kBase + (i + 1) * kBlockBytes});
    return blocks;
  }
  // Of the objects of a map; 0: it is none that is known.
  [[nodiscard]] static std::uint32_t bytes_of(MapSearch& maps, std::uint64_t tagged, bool is_behind_object) {
    return maps.find(tagged, is_behind_object).bytes();
  }

  std::vector<std::uint64_t> words_;
  std::uint64_t meta_ = 0, map_ = 0, second_meta_ = 0, second_map_ = 0, object_ = 0;
  const Constants constants_ = constants_of(test::exported_by_v8()).value();
  const SpanSource memory_{std::as_bytes(std::span(words_)), kBase};
  const AddressSpace space_{memory_,
                            MemoryMap::parse("40000-140000 rw-p 00000000 00:00 0\n"),
                            PresentPages({{kBase, kBase + kBlocks* kBlockBytes}}),
                            {},
                            1u << 28};
};

TEST_F(MapSearchTest, map_is_read_by_itself_and_the_block_in_which_it_lies_is_not) {
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  EXPECT_EQ(bytes_of(*maps, map_, false), 24u);
  EXPECT_EQ(bytes_of(*maps, object_, false), 0u);
  EXPECT_LT(space_.bytes_read(), kBlockBytes + 100);  // that of the map of maps, and some words
}

TEST_F(MapSearchTest, block_with_many_maps_is_searched_for_all_of_them) {
  constexpr std::uint64_t kMany = 200, kLast = kMany - 1;
  for (std::uint64_t i = 0; i < kMany; ++i) put_map(at(1, i * kMapBytes), meta_, kObject, 24);
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  for (std::uint64_t i = 0; i < kMany / 2; ++i) EXPECT_EQ(bytes_of(*maps, at(1, i * kMapBytes), false), 24u);
  const std::uint64_t read = space_.bytes_read();
  EXPECT_GT(read, 2 * kBlockBytes);
  EXPECT_LT(read, 2 * kBlockBytes + 1000);
  EXPECT_EQ(bytes_of(*maps, at(1, kLast * kMapBytes), false), 24u);
  EXPECT_EQ(space_.bytes_read(), read);
}

TEST_F(MapSearchTest, map_that_the_census_came_across_is_not_read_again) {
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  const std::uint64_t read = space_.bytes_read();
  maps->take(map_, std::span(words_).subspan(kBlockBytes / 8));
  EXPECT_EQ(bytes_of(*maps, map_, false), 24u);
  EXPECT_EQ(space_.bytes_read(), read);
}

TEST_F(MapSearchTest, map_of_a_second_map_of_maps_is_found_by_its_reference) {
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  EXPECT_EQ(maps->shapes().meta_maps(), 1u);
  EXPECT_EQ(bytes_of(*maps, second_map_, true), 32u);
  EXPECT_EQ(maps->shapes().meta_maps(), 2u);  // what tells the census to begin again
}

TEST_F(MapSearchTest, map_in_a_block_that_was_searched_before_its_map_of_maps_is_found_too) {
  constexpr std::uint64_t kMany = 100;
  for (std::uint64_t i = 0; i < kMany; ++i) put_map(at(1, i * kMapBytes), meta_, kObject, 24);
  for (std::uint64_t i = kMany; i < 2 * kMany; ++i) put_map(at(1, i * kMapBytes), second_meta_, kObject, 40);
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  for (std::uint64_t i = 0; i < 2 * kMany; ++i) {
    EXPECT_EQ(bytes_of(*maps, at(1, i * kMapBytes), true), i < kMany ? 24u : 40u) << i;
  }
}

TEST_F(MapSearchTest, words_that_lead_nowhere_are_followed_a_few_times_and_settling_finds_the_rest) {
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bytes_of(*maps, object_, false), 0u);
  const std::uint64_t read = space_.bytes_read();
  EXPECT_EQ(bytes_of(*maps, map_, false), 0u);
  EXPECT_EQ(space_.bytes_read(), read);
  ASSERT_TRUE(maps->settle().has_value());
  EXPECT_EQ(bytes_of(*maps, map_, false), 24u);
  EXPECT_EQ(bytes_of(*maps, second_map_, false), 32u);
  const std::uint64_t settled = space_.bytes_read();
  maps->start_block();
  EXPECT_EQ(bytes_of(*maps, object_, true), 0u);
  EXPECT_EQ(space_.bytes_read(), settled);
}

TEST_F(MapSearchTest, map_of_many_objects_is_found_behind_words_that_lead_nowhere) {
  for (const bool is_walked : {false, true}) {  // as a block is that was read before it had the map
    auto maps = MapSearch::begin(space_, constants_, blocks());
    ASSERT_TRUE(maps.has_value());
    if (is_walked) maps->end_block(blocks()[1]);
    const auto objects_found_of_100 = [&] {
      maps->start_block();
      for (std::uint64_t i = 1; i < 100; ++i) EXPECT_EQ(bytes_of(*maps, at(is_walked ? 1 : 3, i * 64), false), 0u);
      int found = 0;
      for (int i = 0; i < 100; ++i) found += bytes_of(*maps, map_, false) == 24 ? 1 : 0;
      return found;
    };
    EXPECT_GT(objects_found_of_100(), 90);
    EXPECT_EQ(objects_found_of_100(), 100);
  }
}

TEST_F(MapSearchTest, words_that_come_often_are_few) {
  auto maps = MapSearch::begin(space_, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  maps->start_block();
  const std::uint64_t before = space_.bytes_read();
  for (int times = 0; times < 50; ++times) {
    for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(bytes_of(*maps, at(3, i * 8), false), 0u);
  }
  EXPECT_LT(space_.bytes_read() - before, 4000u);
}

TEST_F(MapSearchTest, memory_when_it_cannot_be_read_is_an_error) {
  const AddressSpace space(memory_, MemoryMap::parse("40000-140000 rw-p 00000000 00:00 0\n"),
                           PresentPages({{kBase, kBase + kBlocks * kBlockBytes}}), {}, kBlockBytes + 4096);
  auto maps = MapSearch::begin(space, constants_, blocks());
  ASSERT_TRUE(maps.has_value());
  EXPECT_FALSE(maps->settle().has_value());
  EXPECT_EQ(bytes_of(*maps, map_, true), 0u);
  ASSERT_FALSE(maps->status().has_value());
  EXPECT_EQ(maps->status().error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace oomw::v8
