// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "runtimes/go/bucket_bytes.h"
#include "runtimes/go/heap_snapshot.h"
#include "runtimes/go/record_layout.h"

namespace oomw::go {

// Turns raw buckets, in the order of the list, into a HeapSnapshot. Pure: the live reader feeds it
// from process memory, a walk at the kill from recorded bytes.
//
// - Every whole bucket is verified by its hash; a mismatch is counted and the bucket left out.
//   A clipped stack cannot be verified: it is kept and counted.
// - The layout is decided on the first kProofBuckets and checked on the rest. If it is or becomes unknown, the snapshot
//   has no buckets but a reason: wrong numbers are never handed out.
// - Bounded: max_buckets and max_pcs; add() refuses the rest.
class BucketDecoder {
 public:
  static constexpr std::size_t kProofBuckets = 2048;
  struct Limits {
    std::uint64_t max_buckets = 200'000;  // 80 B each
    std::uint64_t max_pcs = 4U << 20;     // 32 MiB
  };
  enum class Verdict { kTaken, kRejected, kFull };

  explicit BucketDecoder(Limits limits) : limits_(limits) {}

  [[nodiscard]] Verdict add(const RawBucket& bucket);
  void reject_shape() { ++counts_.rejected_shape; }
  void count_link() { ++counts_.walked; }
  [[nodiscard]] const WalkCounts& counts() const { return counts_; }

  // Moves buckets, pcs, counts and layout into `snapshot`; complete = false with a reason if the layout is unknown
  // (otherwise `complete` is left to the walker, which knows).
  void finish(HeapSnapshot& snapshot);

 private:
  struct Pending {
    RawBucket raw;  // its pcs live in pcs_
    std::uint32_t first_pc;
  };

  void settle();
  void gather_gaps();
  void decode(const RawBucket& raw, std::uint32_t first_pc);

  Limits limits_;
  LayoutEvidence evidence_;
  RecordLayout layout_ = RecordLayout::kNoData;
  bool is_settled_ = false;
  std::deque<Pending> pending_;  // 200 B each: as a vector it would be mapped and unmapped as it grows
  std::vector<Bucket> buckets_;
  PcPool pcs_;
  WalkCounts counts_;
};

}  // namespace oomw::go
