// SPDX-License-Identifier: Apache-2.0
#include "memory/address_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/unique_fd.h"

namespace oomw {
namespace {

using testing::ElementsAre;

TEST(PresentPages, bytes_of_a_part_are_counted_to_its_edges) {
  const PresentPages pages({{kPageBytes, 3 * kPageBytes}, {5 * kPageBytes, 6 * kPageBytes}});
  EXPECT_EQ(pages.bytes(), 3 * kPageBytes);
  EXPECT_EQ(pages.bytes_in(0, 100 * kPageBytes), 3 * kPageBytes);
  EXPECT_EQ(pages.bytes_in(2 * kPageBytes + 100, 5 * kPageBytes + 50), kPageBytes - 100 + 50);
  EXPECT_EQ(pages.bytes_in(3 * kPageBytes, 5 * kPageBytes), 0u);
  EXPECT_EQ(pages.bytes_in(kPageBytes + 8, kPageBytes + 16), 8u);
}

// What this process has made for the test: 16 pages, of which some are touched.
class Pages {
 public:
  explicit Pages(int flags)
      : bytes_(static_cast<char*>(
            ::mmap(nullptr, 16 * kPageBytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0))) {}
  ~Pages() { ::munmap(bytes_, 16 * kPageBytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void write(std::uint64_t page, char value) { std::memset(bytes_ + page * kPageBytes, value, kPageBytes); }
  [[nodiscard]] char read(std::uint64_t page) const { return *static_cast<volatile char*>(bytes_ + page * kPageBytes); }
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes_); }

 private:
  char* bytes_;
};

// Of this process only the mappings with these pages: a sanitizer has reserved terabytes before them, which pread, page
// by page, does not get through.
MemoryMap map_of(const Pages& pages) {
  const UniqueFd maps(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  const MemoryMap all = MemoryMap::read(FdSource(maps.get())).value();
  std::string text;
  for (const Mapping& mapping : all.mappings()) {
    if (mapping.end <= pages.address() || mapping.begin >= pages.address() + 16 * kPageBytes) continue;
    const std::uint64_t begin = std::max(mapping.begin, pages.address());
    const std::uint64_t end = std::min(mapping.end, pages.address() + 16 * kPageBytes);
    text += fmt::format("{:x}-{:x} rw-{} 0 0:0 0\n", begin, end, mapping.is_shared ? 's' : 'p');
  }
  return MemoryMap::parse(text);
}

std::vector<PageRange> present_of(const Pages& pages, bool may_scan) {
  const UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const PresentPages present = PageScanner(pagemap.get(), may_scan).scan(map_of(pages)).value();
  std::vector<PageRange> ranges;
  for (const PageRange& range : present.ranges_in(pages.address(), pages.address() + 16 * kPageBytes)) {
    const std::uint64_t begin = std::max(range.begin, pages.address());
    const std::uint64_t end = std::min(range.end, pages.address() + 16 * kPageBytes);
    ranges.push_back({(begin - pages.address()) / kPageBytes, (end - pages.address()) / kPageBytes});
  }
  return ranges;
}

class PageScannerTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PageMap, PageScannerTest, testing::Values(true, false));

TEST_P(PageScannerTest, only_touched_pages_of_private_memory_are_present) {
  Pages pages(MAP_PRIVATE);
  ::madvise(reinterpret_cast<void*>(pages.address()), 16 * kPageBytes, MADV_NOHUGEPAGE);
  pages.write(1, 'a');
  pages.write(2, 'b');
  pages.write(7, 'c');
  EXPECT_THAT(present_of(pages, GetParam()), ElementsAre(PageRange{1, 3}, PageRange{7, 8}));
}

TEST_P(PageScannerTest, shared_memory_is_never_present) {
  Pages pages(MAP_SHARED);
  pages.write(3, 'x');
  EXPECT_THAT(present_of(pages, GetParam()), ElementsAre());
}

// Memory from 0x10000 on, each page filled with its number.
class AddressSpaceTest : public testing::Test {
 protected:
  AddressSpaceTest() : bytes_(8 * kPageBytes) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i / kPageBytes + 1);
  }
  [[nodiscard]] AddressSpace space(std::vector<PageRange> present, std::uint64_t max_bytes = 1u << 20) const {
    return {memory_,
            MemoryMap::parse("10000-14000 r--p 00000000 00:01 9 /lib/x.so\n14000-18000 rw-p 0 00:00 0\n"),
            PresentPages(std::move(present)),
            {{&file_, 1, 9}},
            max_bytes};
  }
  std::vector<std::byte> bytes_;
  SpanSource memory_{bytes_, 0x10000};
  std::vector<std::byte> file_bytes_ = std::vector<std::byte>(4 * kPageBytes, std::byte{'f'});
  SpanSource file_{file_bytes_};
};

TEST_F(AddressSpaceTest, a_page_that_is_not_present_is_never_asked_of_the_process) {
  const AddressSpace from = space({{0x14000, 0x15000}, {0x16000, 0x18000}});
  std::vector<std::byte> out(4 * kPageBytes);
  EXPECT_EQ(from.read_some(0x14000, out).value(), kPageBytes);
  EXPECT_EQ(from.read_some(0x15000, out).value(), 0u);
  EXPECT_EQ(from.bytes_read(), kPageBytes);
  EXPECT_EQ(from.read_present(0x14000, out).value(), 3 * kPageBytes);
  EXPECT_EQ(out[0], std::byte{5});
  EXPECT_EQ(out[kPageBytes], std::byte{0});
  EXPECT_EQ(out[3 * kPageBytes], std::byte{8});
}

TEST_F(AddressSpaceTest, unchanged_pages_of_a_file_come_from_the_file) {
  const AddressSpace from = space({{0x11000, 0x12000}});
  std::vector<std::byte> out(3 * kPageBytes);
  EXPECT_EQ(from.read_some(0x10000, out).value(), 3 * kPageBytes);
  EXPECT_EQ(out[0], std::byte{'f'});
  EXPECT_EQ(out[kPageBytes], std::byte{2});
  EXPECT_EQ(out[2 * kPageBytes], std::byte{'f'});
  EXPECT_EQ(from.bytes_read(), kPageBytes);
}

TEST_F(AddressSpaceTest, reads_fail_past_the_limit) {
  const AddressSpace from = space({{0x14000, 0x18000}}, 2 * kPageBytes);
  std::vector<std::byte> out(2 * kPageBytes);
  EXPECT_TRUE(from.read_some(0x14000, out).has_value());
  EXPECT_EQ(from.read_some(0x16000, out).error().code, ErrorCode::kLimit);
}

TEST_F(AddressSpaceTest, an_address_at_the_end_of_everything_is_not_there) {
  const AddressSpace from = space({{0x14000, 0x18000}});
  std::vector<std::byte> out(64);
  EXPECT_EQ(from.read_some(~std::uint64_t{0} - 8, out).value(), 0u);
  EXPECT_EQ(from.read_present(~std::uint64_t{0} - 8, out).value(), 0u);
}

}  // namespace
}  // namespace oomw
