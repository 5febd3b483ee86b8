// SPDX-License-Identifier: Apache-2.0
// What Python says of its own frames, and the parts of its evaluation loop, in files made by hand.
#include "growth/python_offsets.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "growth/code_jumps.h"
#include "growth/python_code.h"
#include "memory/byte_source.h"
#include "support/elf_header.h"

namespace oomw::growth {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kAddress = 0x400000, kHead = 4096;

// An ELF file of one segment.
class FileOf {
 public:
  explicit FileOf(std::span<const std::byte> content) : bytes_(kHead + content.size()) {
    const Elf64_Ehdr head = test::executable_header(1);
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_offset = kHead;
    segment.p_vaddr = kAddress;
    segment.p_filesz = segment.p_memsz = content.size();
    std::memcpy(bytes_.data(), &head, sizeof head);
    std::memcpy(bytes_.data() + sizeof head, &segment, sizeof segment);
    std::ranges::copy(content, bytes_.begin() + kHead);
  }
  [[nodiscard]] elf::File elf() { return elf::File::open(reader_).value(); }

 private:
  std::vector<std::byte> bytes_;
  SpanSource source_{bytes_};
  CachedReader reader_{source_, 1u << 20, 4096};
};

// The beginning of _PyRuntime of Debian's 3.14.10, as words of 8 bytes behind the cookie.
constexpr std::array<std::uint64_t, 80> k3_14 = {
    0x30e0af0, 0,    316616, 784,  808, 225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16,  7784,
    0,         7800, 7792,   7992, 0,   832,    0,    8,    16,   72,   152,  160,  232,  32,   88,  8,
    0,         56,   80,     74,   64,  0,      216,  112,  120,  128,  136,  68,   52,   96,   104, 208,
    0,         16,   8,      416,  24,  88,     168,  40,   32,   16,   40,   24,   16,   200,  24,  40,
    32,        48,   32,     40,   24,  16,     32,   16,   24,   40,   16,   32,   64,   32,   16,  40};

std::optional<PythonOffsets> offsets_of(std::array<std::uint64_t, 80> words) {
  std::vector<std::byte> content(8);
  std::memcpy(content.data(), "xdebugpy", 8);
  const auto bytes = std::as_bytes(std::span(words));
  content.insert(content.end(), bytes.begin(), bytes.end());
  FileOf file(content);
  return python_offsets(0x030e, file.elf(), kAddress);
}

TEST(PythonOffsets, python_3_14_says_where_its_frames_are) {
  const auto offsets = offsets_of(k3_14);
  ASSERT_TRUE(offsets);
  EXPECT_EQ(offsets->threads, 7344u);
  EXPECT_EQ(offsets->holder_of_interpreter, 7792u);
  EXPECT_EQ(offsets->frame_of_thread, 72u);
  EXPECT_EQ(offsets->previous_of_frame, 8u);
  EXPECT_EQ(offsets->instruction_of_frame, 56u);
  EXPECT_EQ(offsets->function, 128u);
  EXPECT_EQ(offsets->instructions, 208u);
  EXPECT_EQ(offsets->items_of_tuple, 32u);
  EXPECT_EQ(offsets->text, 40u);
}

TEST(PythonOffsets, other_builds_of_3_14_are_not_known) {
  auto words = k3_14;
  words[1] = 1;  // without the lock
  EXPECT_FALSE(offsets_of(words));
  words = k3_14;
  words[0] = 0x30d05f0;  // it says that it is another version
  EXPECT_FALSE(offsets_of(words));
  words = k3_14;
  words[40] = ~std::uint64_t{0};
  EXPECT_FALSE(offsets_of(words));
}

TEST(PythonCode, reference_of_a_frame_to_its_code_has_marks_in_its_lowest_bits) {
  EXPECT_EQ(PythonReader::address_of(0x7f0000001231), 0x7f0000001230u);
}

TEST(CodeJumps, jumps_that_stay_inside_lead_nowhere_else) {
  const std::vector<unsigned char> code = {0x90, 0xe9, 0x00, 0x00, 0x00, 0x00,         // to the next
                                           0x0f, 0x84, 0xf4, 0x00, 0x00, 0x00,         // to 0x100
                                           0xe9, 0xef, 0x00, 0x00, 0x00,               // the same
                                           0xe8, 0x00, 0x10, 0x00, 0x00,               // a call
                                           0xe9, 0xf5, 0xff, 0xff, 0xff, 0x0f, 0x85};  // inside; cut
  FileOf file(std::as_bytes(std::span(code)));
  EXPECT_THAT(jumps_out_of(file.elf(), {kAddress, kAddress + code.size()}), ElementsAre(kAddress + 0x100));
}

}  // namespace
}  // namespace oomw::growth
