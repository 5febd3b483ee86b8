// SPDX-License-Identifier: Apache-2.0
// Files and memory that are made to cost time: each search ends within its bound, counted in reads, not in seconds.
#include <elf.h>

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "memory/byte_source.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/bucket_bytes.h"
#include "runtimes/go/heap_reader.h"
#include "support/elf_header.h"

namespace oomw::go {
namespace {

class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(const ByteSource& source) : source_(source) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    ++reads;
    auto n = source_.read_some(offset, out);
    bytes += n.value_or(0);
    return n;
  }
  mutable std::uint64_t reads = 0, bytes = 0;

 private:
  const ByteSource& source_;
};

constexpr std::uint64_t kBss = 0x100000;

Result<std::uint64_t> scan(const CountingSource& memory, std::uint64_t bytes) {
  return scan_for_list_head(memory, {kBss, kBss + bytes});
}

TEST(HostileMemory, pointers_to_nothing_end_the_scan) {
  std::vector<std::uint64_t> words(4U << 20);  // 32 MiB
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x10'0000'0000 + i * 0x10000;
  const SpanSource source(std::as_bytes(std::span(words)), kBss);
  const CountingSource memory(source);
  const auto head = scan(memory, words.size() * 8);
  ASSERT_FALSE(head.has_value());
  EXPECT_EQ(head.error().code, ErrorCode::kLimit);
  EXPECT_LE(memory.reads, 70'000U);
}

TEST(HostileMemory, pointers_to_what_is_nearly_a_bucket_end_the_scan) {
  std::vector<std::uint64_t> words(256U << 10);
  const BucketHeader header{.type = kMemoryProfile, .hash = 1, .size = 64, .stack_depth = kMaxStackDepth};
  const std::size_t first_word = words.size() - 2048;
  std::memcpy(&words[first_word], &header, sizeof header);
  std::fill(words.begin(), words.begin() + 200'000, kBss + first_word * 8);
  const SpanSource source(std::as_bytes(std::span(words)), kBss);
  const auto head = scan(CountingSource(source), words.size() * 8);
  ASSERT_FALSE(head.has_value());
  EXPECT_EQ(head.error().code, ErrorCode::kLimit);
}

// An executable without sections, so that its function table is searched in the segments, all of which show the same
// bytes.
std::vector<std::byte> overlapping_segments(std::uint16_t count, std::size_t bytes, std::uint32_t filling) {
  std::vector<std::byte> file(bytes);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) std::memcpy(&file[at], &filling, sizeof filling);
  const Elf64_Ehdr header = oomw::test::executable_header(count);
  std::memcpy(file.data(), &header, sizeof header);
  for (std::uint16_t i = 0; i < count; ++i) {
    const Elf64_Phdr segment{.p_type = PT_LOAD,
                             .p_flags = PF_R,
                             .p_offset = 0,
                             .p_vaddr = std::uint64_t{i} << 32,
                             .p_paddr = 0,
                             .p_filesz = bytes,
                             .p_memsz = bytes,
                             .p_align = 4096};
    std::memcpy(&file[sizeof header + i * sizeof segment], &segment, sizeof segment);
  }
  return file;
}

TEST(HostileFile, segments_that_show_the_same_bytes_are_searched_once) {
  const auto bytes = overlapping_segments(250, 2U << 20, 0);
  const SpanSource source(bytes);
  const CountingSource file(source);
  (void)inspect_binary(file);
  EXPECT_LE(file.bytes, 3U << 20);
}

TEST(HostileFile, false_starts_of_a_function_table_end_the_search) {
  constexpr std::uint32_t kMagic120 = 0xfffffff1;
  const auto bytes = overlapping_segments(1, 2U << 20, kMagic120);
  const SpanSource source(bytes);
  const auto binary = inspect_binary(source);
  ASSERT_TRUE(binary.has_value());
  EXPECT_EQ(binary->why, "too much looks like a function table");
}

}  // namespace
}  // namespace oomw::go
