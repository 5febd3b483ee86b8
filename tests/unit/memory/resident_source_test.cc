// SPDX-License-Identifier: Apache-2.0
#include "memory/resident_source.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "memory/present_pages.h"
#include "process/open_memory.h"
#include "process/process_files.h"

namespace oomw {
namespace {

constexpr std::size_t kMappedPages = 100;  // more than are asked for at once

// Memory of this process, and how often a reader of it gets at each page.
class Watched final : public ByteSource {
 public:
  explicit Watched(int fd) : memory_(fd) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    pages.push_back(address / kPageBytes);
    return memory_.read_some(address, out);
  }
  mutable std::vector<std::uint64_t> pages;

 private:
  MemorySource memory_;
};

class ResidentSourceTest : public testing::Test {
 protected:
  ~ResidentSourceTest() override { ::munmap(memory_, kMappedPages * kPageBytes); }
  void map(int flags, int file = -1) {
    memory_ = static_cast<char*>(::mmap(nullptr, kMappedPages * kPageBytes, PROT_READ | PROT_WRITE, flags, file, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    ::madvise(memory_, kMappedPages * kPageBytes, MADV_NOHUGEPAGE);
  }
  [[nodiscard]] std::uint64_t page(std::size_t number) const {
    return reinterpret_cast<std::uint64_t>(memory_) + number * kPageBytes;
  }
  [[nodiscard]] Result<std::size_t> read(ResidentSource::Absent absent, std::uint64_t address, std::size_t size) {
    out_.assign(size, std::byte{0xee});
    return ResidentSource(watched_, page_map_.get(), absent).read_some(address, out_);
  }

  char* memory_ = nullptr;
  std::vector<std::byte> out_;
  const UniqueFd mem_{::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
  const UniqueFd page_map_{::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)};
  Watched watched_{mem_.get()};
};

TEST_F(ResidentSourceTest, untouched_pages_are_zeros_that_nobody_reads) {
  map(MAP_PRIVATE | MAP_ANONYMOUS);
  memory_[1 * kPageBytes] = 'a';
  memory_[90 * kPageBytes + 5] = 'b';
  ASSERT_EQ(read(ResidentSource::Absent::kZeros, page(0), kMappedPages * kPageBytes).value(),
            kMappedPages * kPageBytes);
  EXPECT_EQ(out_[0], std::byte{0});
  EXPECT_EQ(out_[kPageBytes], std::byte{'a'});
  EXPECT_EQ(out_[90 * kPageBytes + 5], std::byte{'b'});
  EXPECT_EQ(watched_.pages, (std::vector<std::uint64_t>{page(1) / kPageBytes, page(90) / kPageBytes}));
}

TEST_F(ResidentSourceTest, data_that_must_be_there_ends_at_an_untouched_page) {
  map(MAP_PRIVATE | MAP_ANONYMOUS);
  memory_[1 * kPageBytes] = memory_[2 * kPageBytes] = 'a';
  EXPECT_EQ(read(ResidentSource::Absent::kNothing, page(1) + 100, 3 * kPageBytes).value(), 2 * kPageBytes - 100);
  EXPECT_EQ(read(ResidentSource::Absent::kNothing, page(3), 8).value(), 0u);
}

// A file system that does not answer would be asked for these.
TEST_F(ResidentSourceTest, pages_of_a_file_are_not_read_until_they_are_the_processs_own) {
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), kMappedPages * kPageBytes), 0);
  ASSERT_EQ(::pwrite(file.get(), "f", 1, 0), 1);
  map(MAP_PRIVATE, file.get());
  ASSERT_EQ(*static_cast<volatile char*>(memory_), 'f');  // in memory, but the file's
  memory_[3 * kPageBytes] = 'm';
  ASSERT_EQ(read(ResidentSource::Absent::kZeros, page(0), 4 * kPageBytes).value(), 4 * kPageBytes);
  EXPECT_EQ(out_[0], std::byte{0});
  EXPECT_EQ(out_[3 * kPageBytes], std::byte{'m'});
  EXPECT_EQ(watched_.pages, (std::vector<std::uint64_t>{page(3) / kPageBytes}));
}

TEST_F(ResidentSourceTest, addresses_beyond_any_process_hold_nothing) {
  for (const std::uint64_t address : {~std::uint64_t{0}, ~std::uint64_t{0} - 4095, std::uint64_t{1} << 60}) {
    EXPECT_EQ(read(ResidentSource::Absent::kNothing, address, 64).value_or(0), 0u) << address;
  }
}

}  // namespace
}  // namespace oomw
