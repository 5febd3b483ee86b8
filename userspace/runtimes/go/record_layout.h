// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "runtimes/go/bucket_bytes.h"
#include "runtimes/go/heap_snapshot.h"

namespace oomw::go {

// Weighs the two record layouts on real buckets. With the wrong one, a reader walks everything, verifies every hash and
// returns garbage without an error, so a layout is used only when proved:
//
// - 128 B holds if in every cycle bytes == objects x size, and not all of them are zero.
// - 128 B is impossible if a neighbour begins before the record would end.
// - 64 B holds if frees never exceed allocs, counts are of a size a heap can have, and among many
//   buckets some are neighbours exactly 64 B after a stack.
// Torn reads may break single buckets: a layout survives if 19 of 20 hold.
class LayoutEvidence {
 public:
  void add(const RawBucket& bucket);
  // `gap` bytes lie between the end of a bucket's stack and the next bucket's address.
  void add_gap(std::uint64_t gap);
  [[nodiscard]] RecordLayout decide() const;
  [[nodiscard]] std::string describe() const;

 private:
  std::uint64_t long_holds_ = 0, long_broken_ = 0;      // objects and bytes
  std::uint64_t short_holds_ = 0, short_broken_ = 0;    // objects only
  std::uint64_t overlaps_ = 0;                          // a 128 B record would run into its neighbour
  std::uint64_t short_overlaps_ = 0;                    // even a 64 B one would
  std::uint64_t long_strides_ = 0, short_strides_ = 0;  // the next bucket begins exactly there
};

// The counters of a bucket in a proved layout. `is_torn` is set if its objects and bytes disagree.
struct DecodedRecord {
  Counts active, future;
  bool is_torn = false;
};
[[nodiscard]] DecodedRecord decode_record(const RawBucket& bucket, RecordLayout layout);

}  // namespace oomw::go
