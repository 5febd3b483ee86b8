// SPDX-License-Identifier: Apache-2.0
// The runtime's profile bucket as bytes: header, stack, record. Pure; every byte is hostile.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace oomw::go {

// Same in Go 1.19 to 1.27 (64-bit). Immutable once the bucket is on the list.
struct BucketHeader {
  std::uint64_t next = 0;     // in the hash chain
  std::uint64_t allnext = 0;  // in the list of all buckets
  std::uint64_t type = 0;
  std::uint64_t hash = 0;
  std::uint64_t size = 0;
  std::uint64_t stack_depth = 0;
};
static_assert(sizeof(BucketHeader) == 48);

constexpr std::uint64_t kMemoryProfile = 1;         // BucketHeader::type of a heap bucket
constexpr std::uint64_t kMaxStackDepth = 1024 + 2;  // GODEBUG profstackdepth stops at 1024; two more for inlining
constexpr std::size_t kRecordWords = 16;            // the longer layout: 128 B

// A bucket whose header passed check_header.
struct RawBucket {
  std::uint64_t address = 0;
  std::uint64_t hash = 0, size = 0;
  std::uint64_t stack_depth = 0;       // as the runtime stored it
  std::span<const std::uint64_t> pcs;  // fewer than stack_depth if clipped
  std::array<std::uint64_t, kRecordWords> record{};
  std::size_t record_words = 0;  // of the layout that was read for: 8 at least
  [[nodiscard]] bool is_clipped() const { return pcs.size() < stack_depth; }
};

// Shape only: type, depth, alignment of the links, a plausible size.
[[nodiscard]] bool is_plausible(const BucketHeader& header);

// The runtime's hash of a stack and a block size (unchanged since it was written in C).
[[nodiscard]] std::uint64_t bucket_hash(std::span<const std::uint64_t> pcs, std::uint64_t size);

}  // namespace oomw::go
