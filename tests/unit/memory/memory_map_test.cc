// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_map.h"

#include <gmock/gmock.h>

namespace oomw {
namespace {

using testing::SizeIs;

constexpr std::string_view kText =
    "5585a000-5585b000 r--p 00001000 fe:01 1234                       /usr/lib/libpython3.11.so.1.0\n"
    "5586a000-558ca000 rw-p 00000000 00:00 0                          [heap]\n"
    "7f000000-7f100000 rw-s 00000000 00:05 77                         /dev/zero (deleted)\n"
    "7f200000-7f300000 rw-p 00000000 00:00 0 \n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]\n";

TEST(MemoryMap, lines_of_the_kernel_are_taken_apart) {
  const MemoryMap map = MemoryMap::parse(kText);
  ASSERT_THAT(map.mappings(), SizeIs(4));
  EXPECT_TRUE(map.is_complete());
  const Mapping& library = map.mappings()[0];
  EXPECT_EQ(library.begin, 0x5585a000u);
  EXPECT_EQ(library.file_offset, 0x1000u);
  EXPECT_EQ(library.inode, 1234u);
  EXPECT_EQ(library.file_name(), "libpython3.11.so.1.0");
  EXPECT_EQ(map.mappings()[1].name, "[heap]");
  EXPECT_TRUE(map.mappings()[2].is_shared);
  EXPECT_EQ(map.mappings()[2].file_name(), "zero");
  EXPECT_EQ(map.mappings()[3].name, "");
}

TEST(MemoryMap, an_address_is_found_only_inside_a_mapping) {
  const MemoryMap map = MemoryMap::parse(kText);
  EXPECT_EQ(map.at(0x5586a000), &map.mappings()[1]);
  EXPECT_EQ(map.at(0x558c9fff), &map.mappings()[1]);
  EXPECT_EQ(map.at(0x558ca000), nullptr);
  EXPECT_EQ(map.at(0), nullptr);
}

TEST(MemoryMap, lines_that_overlap_or_make_no_sense_are_dropped_and_said) {
  for (const char* text : {"2000-1000 rw-p 0 0:0 0\n", "1000-3000 rw-p 0 0:0 0\n2000-4000 rw-p 0 0:0 0\n", "nonsense\n",
                           "1000-2000 rw\n", "1000-ffffffff00000000 rw-p 0 0:0 0\n"}) {
    const MemoryMap map = MemoryMap::parse(text);
    EXPECT_FALSE(map.is_complete()) << text;
    EXPECT_LE(map.mappings().size(), 1u) << text;
  }
}

TEST(MemoryMap, a_long_name_keeps_its_end) {
  const MemoryMap map = MemoryMap::parse("1000-2000 r--p 0 0:0 5 /" + std::string(5000, 'x') + "/libpython3.so\n");
  ASSERT_THAT(map.mappings(), SizeIs(1));
  EXPECT_EQ(map.mappings()[0].file_name(), "libpython3.so");
  EXPECT_EQ(map.mappings()[0].name.size(), MemoryMap::kMaxName);
}

}  // namespace
}  // namespace oomw
