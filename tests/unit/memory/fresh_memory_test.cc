// SPDX-License-Identifier: Apache-2.0
#include "memory/fresh_memory.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::Each;

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kShared = std::uint64_t{1} << 61;

// Three pages from address 0x1000 on: an unmapped one in the picture, one that has come since, and a shared one.
struct Fixture {
  Fixture() : bytes(4 * 4096, std::byte{7}), entries{0, 0, kPresent, kPresent | kShared} {}
  std::vector<std::byte> bytes;
  std::array<std::uint64_t, 4> entries;
  SpanSource memory{bytes};
  SpanSource page_map{std::as_bytes(std::span(entries))};
  AddressSpace space{memory, MemoryMap::parse("1000-4000 rw-p 00000000 00:00 0\n"), PresentPages(), {}, 1u << 20};
  FreshMemory fresh{space, memory, page_map};
};

TEST(FreshMemory, page_that_came_since_is_read_to_its_end) {
  Fixture fixture;
  std::vector<std::byte> out(8192);
  const auto n = fixture.fresh.read_some(0x2010, out);
  ASSERT_TRUE(n.has_value());
  EXPECT_EQ(*n, 4096u - 0x10);
  EXPECT_EQ(fixture.fresh.bytes_read(), *n);
}

TEST(FreshMemory, absent_and_shared_pages_are_not_read) {
  Fixture fixture;
  std::vector<std::byte> out(16);
  EXPECT_EQ(fixture.fresh.read_some(0x1000, out).value(), 0u);
  EXPECT_EQ(fixture.fresh.read_some(0x3000, out).value(), 0u);
}

TEST(FreshMemory, what_is_not_present_reads_as_zeros) {
  Fixture fixture;
  std::vector<std::byte> out(3 * 4096, std::byte{1});
  ASSERT_TRUE(fixture.fresh.read_present(0x1000, out).has_value());
  EXPECT_THAT(std::span(out).first(4096), Each(std::byte{0}));
  EXPECT_THAT(std::span(out).subspan(4096, 4096), Each(std::byte{7}));
  EXPECT_THAT(std::span(out).subspan(8192), Each(std::byte{0}));
}

}  // namespace
}  // namespace oomw
