// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/bucket_walk.h"

namespace oomw::go {

bool BucketWalk::stop(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

// The tortoise waits; the walker passes it again only on a loop. Its place moves up after 1, 2, 4 ... steps.
bool BucketWalk::loops(std::uint64_t address) {
  if (address == tortoise_) return true;
  if (++steps_ == lap_) {
    tortoise_ = address;
    lap_ *= 2;
    steps_ = 0;
  }
  return false;
}

Result<BucketHeader> BucketWalk::read_header(std::uint64_t address) {
  ASSIGN_OR_RETURN(const auto header, memory_.get<BucketHeader>(address));
  if (!is_plausible(header)) return fail(ErrorCode::kInvalid, "not a bucket");
  return header;
}

// Reads stack and record and passes the bucket on; false if the walk has to end.
bool BucketWalk::take(std::uint64_t address, const BucketHeader& header) {
  pcs_.resize(header.stack_depth);
  RawBucket bucket;
  bucket.address = address;
  bucket.hash = header.hash;
  bucket.size = header.size;
  bucket.stack_depth = header.stack_depth;
  bucket.pcs = pcs_;
  const std::uint64_t stack = address + sizeof(BucketHeader);
  const auto read = memory_.read(stack, std::as_writable_bytes(std::span(pcs_)));
  // What was never written lies on no page and is 0: the newest record may reach into one (1 in 500 small heaps). In
  // the 64-byte layout the 128 bytes may run past the end of the chunk.
  const auto record = memory_.read_some(stack + pcs_.size() * 8, std::as_writable_bytes(std::span(bucket.record)));
  if (!read.has_value()) return stop("stack of a bucket: " + read.error().message);
  if (!record.has_value()) return stop("record of a bucket: " + record.error().message);
  bucket.record_words = kRecordWords;
  switch (decoder_.add(bucket)) {
    case BucketDecoder::Verdict::kTaken:
      return true;
    case BucketDecoder::Verdict::kRejected:
      return decoder_.counts().rejected_hash <= kMaxRejected || stop("bucket hashes do not verify");
    case BucketDecoder::Verdict::kFull:
      return stop("more buckets than the limit");
  }
  return false;
}

bool BucketWalk::run(std::uint64_t head) {
  for (std::uint64_t address = head; address != 0;) {
    if (loops(address)) {
      found_loop_ = true;
      return stop("the list of buckets loops");
    }
    decoder_.count_link();
    const auto header = read_header(address);
    if (!header.has_value()) {
      decoder_.reject_shape();
      return stop("bucket " + std::to_string(decoder_.counts().walked) + ": " + header.error().message);
    }
    if (!take(address, *header)) return false;
    address = header->allnext;
  }
  return decoder_.counts().rejected_hash == 0 || stop("bucket hashes do not verify");
}

}  // namespace oomw::go
