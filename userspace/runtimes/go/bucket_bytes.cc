// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/bucket_bytes.h"

namespace oomw::go {

namespace {
// User space ends at 2^47 (2^48 on arm64, 2^56 with five-level tables; Go asks for no more than 2^48).
constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 48;
// No block can be larger than the address space.
constexpr std::uint64_t kMaxBlockBytes = kAddressLimit;

bool is_pointer_or_null(std::uint64_t value) { return value < kAddressLimit && value % 8 == 0; }
}  // namespace

bool is_plausible(const BucketHeader& header) {
  return header.type == kMemoryProfile && header.stack_depth <= kMaxStackDepth && header.size <= kMaxBlockBytes &&
         is_pointer_or_null(header.next) && is_pointer_or_null(header.allnext);
}

std::uint64_t bucket_hash(std::span<const std::uint64_t> pcs, std::uint64_t size) {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t word) {
    hash += word;
    hash += hash << 10;
    hash ^= hash >> 6;
  };
  for (const std::uint64_t pc : pcs) mix(pc);
  mix(size);
  hash += hash << 3;
  hash ^= hash >> 11;
  return hash;
}

}  // namespace oomw::go
