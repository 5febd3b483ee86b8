// SPDX-License-Identifier: Apache-2.0
// ioctl PAGEMAP_SCAN of /proc/PID/pagemap as <linux/fs.h> has it since 6.7; Debian 12 has the headers of 6.1.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace oomw::pagemap {

struct Region {
  std::uint64_t begin = 0, end = 0, categories = 0;
};

struct ScanArgument {
  std::uint64_t size = sizeof(ScanArgument);
  std::uint64_t flags = 0;
  std::uint64_t begin = 0, end = 0;
  std::uint64_t walk_end = 0;  // set by the kernel
  std::uint64_t regions = 0, region_count = 0;
  std::uint64_t max_pages = 0;
  std::uint64_t inverted = 0, required = 0, any_of = 0, reported = 0;  // categories
};
static_assert(sizeof(ScanArgument) == 96);

inline constexpr std::uint64_t kFile = 1u << 2, kPresent = 1u << 3, kZeroPage = 1u << 5;
inline constexpr unsigned long kScan = _IOWR('f', 16, ScanArgument);
static_assert(kScan == 0xc0606610);  // the reader's filter has this number

}  // namespace oomw::pagemap
