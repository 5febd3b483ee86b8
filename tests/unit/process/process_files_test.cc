// SPDX-License-Identifier: Apache-2.0
#include "process/process_files.h"

#include <sys/mman.h>

#include <cstring>

#include <gtest/gtest.h>

#include "process/open_memory.h"
#include "support/process_space.h"
#include "unit/captures/child_process.h"

namespace oomw {
namespace {

std::uint64_t known_word() {
  static const std::uint64_t word = 0x1234'5678'9abc'def0;
  return reinterpret_cast<std::uint64_t>(&word);
}

TEST(ProcessFiles, living_process_is_read_through_its_descriptors) {
  const ChildProcess child;
  const auto files = ProcessFiles::open("/proc", {child.pid(), 0});
  ASSERT_TRUE(files) << files.error().message;
  const MemorySource memory(files->memory.get());
  std::uint64_t word = 0;
  EXPECT_EQ(memory.read_some(known_word(), std::as_writable_bytes(std::span(&word, 1))).value_or(0), sizeof word);
  EXPECT_EQ(word, 0x1234'5678'9abc'def0u);
  EXPECT_TRUE(files->is_still_there());
}

// Of a child's fresh memory, which lies on three pages and ends at one that may not be read.
TEST(ProcessFiles, a_long_read_crosses_pages_and_ends_where_nothing_is) {
  constexpr std::size_t kPages = 3;
  auto* area = static_cast<char*>(
      ::mmap(nullptr, (kPages + 1) * kReadPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(area, MAP_FAILED);
  for (std::size_t i = 0; i < kPages * kReadPiece; ++i) area[i] = static_cast<char>(i % 251);
  ASSERT_EQ(::munmap(area + kPages * kReadPiece, kReadPiece), 0);
  const ChildProcess child;
  const auto files = ProcessFiles::open("/proc", {child.pid(), 0});
  ASSERT_TRUE(files) << files.error().message;
  std::vector<std::byte> bytes(kPages * kReadPiece);
  const MemorySource by_file(files->memory.get());
  const ProcessMemory by_call(child.pid());
  for (const ByteSource* memory :
       {static_cast<const ByteSource*>(&by_file), static_cast<const ByteSource*>(&by_call)}) {
    const auto n = memory->read_some(reinterpret_cast<std::uint64_t>(area) + 100, bytes);
    ASSERT_TRUE(n) << n.error().message;
    EXPECT_EQ(*n, kPages * kReadPiece - 100);
    EXPECT_EQ(std::memcmp(bytes.data(), area + 100, *n), 0);
  }
  (void)::munmap(area, kPages * kReadPiece);
}

TEST(ProcessFiles, process_that_ended_gives_nothing) {
  ChildProcess child;
  const auto files = ProcessFiles::open("/proc", {child.pid(), 0});
  ASSERT_TRUE(files) << files.error().message;
  child.kill();
  EXPECT_FALSE(files->is_still_there());
  const MemorySource memory(files->memory.get());
  std::uint64_t word = 0;
  EXPECT_EQ(memory.read_some(known_word(), std::as_writable_bytes(std::span(&word, 1))).value_or(0), 0u);
}

TEST(ProcessFiles, other_process_with_that_pid_is_refused) {
  const ChildProcess child;
  EXPECT_FALSE(ProcessFiles::open("/proc", {child.pid(), 1}));
}

// map_files is readable for root only.
TEST(ProcessFiles, mapped_library_is_opened_by_what_is_mapped) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for map_files";
  const ChildProcess child;
  const std::string_view wanted[] = {"libc.so"};
  const auto files = ProcessFiles::open("/proc", {child.pid(), 0}, wanted);
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->libraries.size(), 1u);
  EXPECT_EQ(files->libraries[0].name.substr(0, 7), "libc.so");
  char magic[4] = {};
  ASSERT_EQ(::pread(files->libraries[0].file.get(), magic, 4, 0), 4);
  EXPECT_EQ(std::memcmp(magic, "\177ELF", 4), 0);
}

TEST(MemorySource, address_that_nothing_lies_at_gives_nothing) {
  const auto files = ProcessFiles::open("/proc", {::getpid(), 0});
  ASSERT_TRUE(files) << files.error().message;
  const MemorySource memory(files->memory.get());
  std::byte byte{};
  EXPECT_EQ(memory.read_some(0, std::span(&byte, 1)).value_or(9), 0u);
  EXPECT_EQ(memory.read_some(~std::uint64_t{0}, std::span(&byte, 1)).value_or(9), 0u);
}

}  // namespace
}  // namespace oomw
