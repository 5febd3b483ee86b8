// SPDX-License-Identifier: Apache-2.0
// A Go heap profile as read from the runtime's own buckets, by any method. Plain data.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/go/binary.h"
#include "runtimes/heap_reading.h"

namespace oomw::go {

// How a bucket's counters are laid out. Chosen by the data, never by the Go version.
enum class RecordLayout {
  kNoData,           // no bucket carried a count: nothing to prove, nothing lost
  kObjectsAndBytes,  // 4 cycles of {allocs, frees, alloc_bytes, free_bytes}, 128 B: Go 1.26 and older
  kObjects,          // 4 cycles of {allocs, frees}, 64 B; bytes = objects x size: Go 1.27
  kUnknown,          // neither holds on the data: a newer runtime, or not a runtime's list
};
[[nodiscard]] constexpr std::string_view to_string(RecordLayout layout) {
  constexpr std::array<std::string_view, 4> kNames = {"no_data", "objects_and_bytes", "objects", "unknown"};
  return kNames[static_cast<std::size_t>(layout)];
}

struct Counts {
  std::uint64_t allocs = 0, frees = 0, alloc_bytes = 0, free_bytes = 0;
  [[nodiscard]] bool is_zero() const { return (allocs | frees | alloc_bytes | free_bytes) == 0; }
  friend bool operator==(const Counts&, const Counts&) = default;
};
// Sums of unsigned words wrap as the runtime's own do.
[[nodiscard]] constexpr Counts operator+(const Counts& a, const Counts& b) {
  return {a.allocs + b.allocs, a.frees + b.frees, a.alloc_bytes + b.alloc_bytes, a.free_bytes + b.free_bytes};
}

// A torn read can show more frees than allocs: that is 0, not a negative heap.
[[nodiscard]] constexpr std::int64_t excess(std::uint64_t more, std::uint64_t less) {
  return std::max<std::int64_t>(static_cast<std::int64_t>(more - less), 0);
}
// Not freed yet.
[[nodiscard]] constexpr HeapAmount in_use(const Counts& counts) {
  return {excess(counts.allocs, counts.frees), excess(counts.alloc_bytes, counts.free_bytes)};
}
[[nodiscard]] constexpr HeapAmount allocated(const Counts& counts) {
  return {excess(counts.allocs, 0), excess(counts.alloc_bytes, 0)};
}

// One call stack and block size, all counts as sampled.
struct Bucket {
  std::uint32_t first_pc = 0;  // place in HeapSnapshot::pcs
  std::uint32_t pc_count = 0;
  std::uint64_t size = 0;  // bytes of one block
  Counts active;           // as of the last published collection
  Counts future;           // since then: sum of the three pending cycles

  [[nodiscard]] Counts live_at_last_gc() const { return active; }
  [[nodiscard]] Counts held_now() const { return active + future; }
};

// State of runtime.mProfCycle, around the walk.
struct CycleState {
  std::uint32_t before = 0, after = 0;  // raw words: cycle << 1 | flushed
  std::uint32_t retries = 0;            // walks discarded because it moved
  [[nodiscard]] std::uint32_t cycle() const { return after >> 1; }
  // A collection published counts while we read: each bucket may be off by one cycle.
  [[nodiscard]] bool is_torn() const { return before != after; }
};

// What became of the buckets. Everything that is not in the snapshot is counted here.
struct WalkCounts {
  std::uint64_t walked = 0;          // links followed
  std::uint64_t rejected_hash = 0;   // stack and size do not give the stored hash
  std::uint64_t rejected_shape = 0;  // type, depth or alignment impossible
  std::uint64_t clipped = 0;         // stacks cut short (their hash cannot be checked)
  std::uint64_t torn = 0;            // bytes and objects disagreed; bytes recomputed
};

struct HeapSnapshot {
  std::string go_version;
  std::int64_t rate = 0;            // runtime.MemProfileRate, bytes per sample
  bool is_rate_assumed = false;     // its address is unknown: 512 KiB, the default, was taken
  std::optional<CycleState> cycle;  // nothing if mProfCycle was not found
  RecordLayout layout = RecordLayout::kNoData;
  LocateMethod method = LocateMethod::kNone;
  std::vector<Bucket> buckets;  // newest first
  PcPool pcs;
  std::uint64_t load_bias = 0;  // pcs minus this are addresses in the file
  WalkCounts counts;
  std::uint64_t bytes_read = 0, reads = 0;
  bool complete = false;  // the whole list, in a proved layout
  std::string reason;     // why not complete, or what to know about it

  [[nodiscard]] std::span<const std::uint64_t> pcs_of(const Bucket& bucket) const {
    return pcs.at(bucket.first_pc, bucket.pc_count);
  }
};

}  // namespace oomw::go
