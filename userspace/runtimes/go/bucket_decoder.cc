// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/bucket_decoder.h"

#include <algorithm>

namespace oomw::go {

BucketDecoder::Verdict BucketDecoder::add(const RawBucket& bucket) {
  if (buckets_.size() + pending_.size() >= limits_.max_buckets) return Verdict::kFull;
  if (pcs_.size() + bucket.pcs.size() > limits_.max_pcs) return Verdict::kFull;
  if (bucket.is_clipped()) {
    ++counts_.clipped;
  } else if (bucket_hash(bucket.pcs, bucket.size) != bucket.hash) {
    ++counts_.rejected_hash;
    return Verdict::kRejected;
  }
  const std::uint32_t first_pc = pcs_.append(bucket.pcs);
  evidence_.add(bucket);
  if (is_settled_) {
    decode(bucket, first_pc);
  } else {
    pending_.push_back({bucket, first_pc});
    if (pending_.size() == kProofBuckets) settle();
  }
  return Verdict::kTaken;
}

// Distances to the next bucket in memory. Buckets are laid out by a bump allocator, so many are true neighbours; a
// large gap means another chunk or foreign data and proves nothing.
void BucketDecoder::gather_gaps() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;  // start, end of stack
  extents.reserve(pending_.size());
  for (const Pending& p : pending_) {
    extents.emplace_back(p.raw.address, p.raw.address + sizeof(BucketHeader) + p.raw.stack_depth * 8);
  }
  std::sort(extents.begin(), extents.end());
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) {
    const std::uint64_t next = extents[i + 1].first;
    if (next >= extents[i].second) evidence_.add_gap(next - extents[i].second);
  }
}

void BucketDecoder::settle() {
  gather_gaps();
  layout_ = evidence_.decide();
  is_settled_ = true;
  buckets_.reserve(pending_.size());
  for (const Pending& p : pending_) decode(p.raw, p.first_pc);
  std::deque<Pending>().swap(pending_);
}

void BucketDecoder::decode(const RawBucket& raw, std::uint32_t first_pc) {
  if (layout_ == RecordLayout::kUnknown) return;
  const DecodedRecord record = decode_record(raw, layout_);
  if (record.is_torn) ++counts_.torn;
  Bucket bucket;
  bucket.first_pc = first_pc;
  bucket.pc_count = static_cast<std::uint32_t>(raw.pcs.size());
  bucket.size = raw.size;
  bucket.active = record.active;
  bucket.future = record.future;
  buckets_.push_back(bucket);
}

void BucketDecoder::finish(HeapSnapshot& snapshot) {
  if (!is_settled_) settle();
  // The first buckets may carry no counts yet, and later ones may contradict them.
  const RecordLayout overall = evidence_.decide();
  if (layout_ != overall) layout_ = RecordLayout::kUnknown;
  snapshot.layout = layout_;
  snapshot.counts = counts_;
  if (layout_ == RecordLayout::kUnknown) {
    snapshot.complete = false;
    snapshot.reason = "bucket record layout unknown (" + evidence_.describe() + ")";
    return;
  }
  snapshot.buckets = std::move(buckets_);
  snapshot.pcs = std::move(pcs_);
}

}  // namespace oomw::go
