// SPDX-License-Identifier: Apache-2.0
// Buckets as the programs record them at a kill.
#pragma once

#include <oomwitness/goheap.h>

#include <array>
#include <string>
#include <vector>

#include "events/event.h"
#include "runtimes/go/bucket_bytes.h"

namespace oomw::test {

constexpr std::uint64_t kText = 0x401000;

// One bucket of the layout up to Go 1.26: `allocs` blocks counted in the pending cycle `cycle`
// (0 = published), none freed.
struct Recorded {
  std::vector<std::uint64_t> pcs = {kText + 0x100, kText + 0x200};
  std::uint64_t size = 4096, allocs = 1, address = 0xc000100000;
  std::size_t cycle = 0, depth = 0;  // depth 0: as deep as pcs
  unsigned pc_bytes = 4;
};

inline std::string bytes_of(const Recorded& r) {
  std::array<std::uint64_t, go::kRecordWords> words{};
  words[r.cycle * 4] = r.allocs;
  words[r.cycle * 4 + 2] = r.allocs * r.size;
  oomw_go_bucket header{};
  header.address = r.address;
  header.hash = go::bucket_hash(r.pcs, r.size);
  header.size = r.size;
  header.pc_count = static_cast<__u16>(r.pcs.size());
  header.stack_depth = static_cast<__u16>(r.depth ? r.depth : r.pcs.size());
  header.record_words = go::kRecordWords;
  header.stored_words = static_cast<__u8>(r.cycle * 4 + 3);
  header.pc_bytes = static_cast<__u8>(r.pc_bytes);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const std::uint64_t pc : r.pcs) {
    const std::uint64_t value = r.pc_bytes == 4 ? pc - kText : pc;
    bytes.append(reinterpret_cast<const char*>(&value), r.pc_bytes);
  }
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes.append(reinterpret_cast<const char*>(words.data()), header.stored_words * 8U);
}

inline std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// The end of a walk over so many buckets, without their records.
inline HeapWalked walk_of(std::uint64_t buckets) {
  HeapWalked walk;
  walk.time = {2'000'000};
  walk.started = {1'000'000};
  walk.process = {41, 4100};
  walk.cgroup = {9};
  walk.text_address = kText;
  walk.has_rate = true;
  walk.rate = 1;
  walk.walked = buckets;
  return walk;
}

}  // namespace oomw::test
