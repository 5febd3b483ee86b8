// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/heap_pages.h"

#include <gtest/gtest.h>

#include "runtimes/v8/shapes.h"

namespace oomw::v8 {
namespace {

TEST(DescribedPage, page_without_objects_is_known_by_its_head) {
  constexpr std::uint64_t kAt = 0x7f0000040000;
  using Words = std::vector<std::uint64_t>;
  const auto end_of = [](std::uint64_t begin, const Words& words) {
    const auto page = described_page(begin, words);
    return page ? page->range.end : 0;
  };
  // Node 20, 22, and what Node 24 has beside the page.
  EXPECT_EQ(end_of(kAt, Words{0x40000, 4, 0x2b13eea0, kAt + 0x1130, kAt + 0x40000}), kAt + 0x40000);
  EXPECT_EQ(end_of(kAt, Words{10, kAt, 0x40000, 0x2b13eea0, kAt + 0x1140, kAt + 0x90000}), kAt + 0x90000);
  EXPECT_EQ(end_of(kAt, Words{0, kAt, 0, 0, 0, 0, 0, kAt + 0x40000, 0, kAt + 0x10}), kAt + 0x40000);
  // Large ones of Node 18 and 24, and an arena of glibc.
  EXPECT_EQ(end_of(kAt, Words{0x6c000, 0x24, 0x55f1, kAt + 0x1130, kAt + 0x6b638, 0x6a508, 0, 0x1130}), kAt + 0x6c000);
  EXPECT_EQ(end_of(kAt, Words{0x7f4a, kAt, 0x41000, 0x40010, 0, 0x10, 0x41000, kAt + 0x40020, 0x5560, kAt + 0x10}),
            kAt + 0x41000);
  EXPECT_EQ(end_of(kAt, Words{kAt + 0x30, 0, 0x7b000, 0x7b000, 0x1000, 0, 0x200000000, 1, 0, kAt + 0x2de70}), 0u);
  EXPECT_EQ(end_of(kAt, Words{kAt, kAt + 0x40000, kAt + 0x9, 7}), 0u);
  EXPECT_EQ(end_of(kAt, Words{kAt + 0x1130, kAt + 0x40008, kAt + (1ull << 40)}), 0u);
  EXPECT_EQ(end_of(kAt, {}), 0u);
}

constexpr std::uint64_t kFirstBlock = 0x40000, kBlockCount = 5;

// A page, a large one of two blocks, memory of somebody else, a page that claims to go on behind the mapping.
class HeapPagesTest : public testing::Test {
 protected:
  HeapPagesTest() : words_(kBlockCount * kBlockBytes / 8) {
    put(0, {kBlockBytes, 0, 7, at(0) + 0x1130, at(1)});
    put(1, {0x6c000, 0, 7, at(1) + 0x1130, at(1) + 0x6b638, 0x6a508});
    put(2, {at(2) + 0x1130, at(3)});  // words of the large object
    put(3, {1, 2, 3});
    put(4, {kBlockBytes, 0, 7, at(4) + 0x1130, at(4) + 2 * kBlockBytes});
  }
  [[nodiscard]] static std::uint64_t at(std::uint64_t block) { return kFirstBlock + block * kBlockBytes; }
  void put(std::uint64_t block, const std::vector<std::uint64_t>& head) {
    for (std::size_t i = 0; i < head.size(); ++i) words_[block * kBlockBytes / 8 + i] = head[i];
  }
  [[nodiscard]] std::vector<PageRange> blocks() const {
    std::vector<PageRange> blocks;
    for (std::uint64_t i = 0; i < kBlockCount; ++i) blocks.push_back({at(i), at(i + 1)});
    return blocks;
  }

  std::vector<std::uint64_t> words_;
  const SpanSource memory_{std::as_bytes(std::span(words_)), kFirstBlock};
  const AddressSpace space_{memory_,
                            MemoryMap::parse("40000-180000 rw-p 00000000 00:00 0\n"),
                            PresentPages({{kFirstBlock, kFirstBlock + kBlockCount* kBlockBytes}}),
                            {},
                            1u << 20};
};

TEST_F(HeapPagesTest, pages_are_found_by_their_heads_and_each_once) {
  const auto pages = HeapPages::find(space_, blocks());
  ASSERT_TRUE(pages.has_value());
  ASSERT_EQ(pages->pages().size(), 2u);
  EXPECT_EQ(pages->pages()[0].range, (PageRange{at(0), at(1)}));
  EXPECT_FALSE(pages->pages()[0].is_large());
  EXPECT_EQ(pages->pages()[1].range, (PageRange{at(1), at(1) + 0x6c000}));
  EXPECT_TRUE(pages->pages()[1].is_large());
  EXPECT_EQ(pages->pages()[1].first_object, at(1) + 0x1130);
  EXPECT_LT(space_.bytes_read(), 1000u);
}

TEST_F(HeapPagesTest, only_pages_are_claimed) {
  const auto pages = HeapPages::find(space_, blocks());
  ASSERT_TRUE(pages.has_value());
  EXPECT_EQ(pages->claim(at(0), at(5)), at(1));
  EXPECT_EQ(pages->claim(at(2), at(5)), at(1) + 0x6c000);
  EXPECT_EQ(pages->claim(at(3), at(5)), at(3));
  EXPECT_EQ(pages->next(at(3), at(5)), at(5));
  EXPECT_EQ(pages->next(kFirstBlock - 4096, at(5)), at(0));
}

}  // namespace
}  // namespace oomw::v8
