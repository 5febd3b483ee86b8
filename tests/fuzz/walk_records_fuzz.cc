// SPDX-License-Identifier: Apache-2.0
// Records of a walk at the kill: decoding must end within the bytes, and what comes out must have
// verified or been clipped.
#include <span>

#include "fuzz/text_target.h"
#include "runtimes/go/walk_records.h"

void fuzz_text(std::string_view text) {
  using namespace oomw::go;
  constexpr std::uint64_t kText = 0x401000;
  BucketDecoder decoder({1000, 20'000});
  const auto bytes = std::as_bytes(std::span(text));
  const bool is_whole = decode_bucket_records(bytes, kText, decoder).has_value();
  (void)decode_bucket_records(bytes, kText, decoder);
  HeapSnapshot snapshot;
  decoder.finish(snapshot);
  if (is_whole && snapshot.counts.rejected_shape > 0) __builtin_trap();
  if (snapshot.layout == RecordLayout::kUnknown && !snapshot.buckets.empty()) __builtin_trap();
  if (snapshot.buckets.size() > 1000) __builtin_trap();
  for (const Bucket& bucket : snapshot.buckets) {
    if (in_use(bucket.held_now()).bytes < 0) __builtin_trap();
    (void)unsample(in_use(bucket.held_now()), 524288);
    (void)snapshot.pcs_of(bucket);
  }
}
