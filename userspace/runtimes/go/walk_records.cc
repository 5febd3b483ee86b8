// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/walk_records.h"

#include <oomwitness/goheap.h>

#include <array>
#include <cstring>

namespace oomw::go {

namespace {

static_assert(OOMW_GO_MAX_RECORD_WORDS == kRecordWords);
static_assert(OOMW_GO_MAX_DEPTH == kMaxStackDepth);
static_assert(sizeof(oomw_go_bucket) == 32);

using Stack = std::array<std::uint64_t, OOMW_GO_MAX_PCS>;

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

bool has_valid_lengths(const oomw_go_bucket& header) {
  return (header.pc_bytes == 4 || header.pc_bytes == 8) && header.pc_count <= OOMW_GO_MAX_PCS &&
         header.pc_count <= header.stack_depth && header.stored_words <= header.record_words &&
         header.record_words <= kRecordWords;
}

bool is_memory_bucket(const oomw_go_bucket& header) {
  BucketHeader shape;
  shape.type = kMemoryProfile;
  shape.hash = header.hash;
  shape.size = header.size;
  shape.stack_depth = header.stack_depth;
  return header.address % 8 == 0 && is_plausible(shape) && header.record_words >= kRecordWords / 2;
}

void read_pcs(std::span<const std::byte> bytes, unsigned pc_bytes, std::uint64_t text_address,
              std::span<std::uint64_t> pcs) {
  for (std::size_t i = 0; i < pcs.size(); ++i) {
    if (pc_bytes == 8) {
      std::memcpy(&pcs[i], bytes.data() + i * 8, 8);
    } else {
      std::uint32_t offset = 0;
      std::memcpy(&offset, bytes.data() + i * 4, 4);
      pcs[i] = text_address + offset;
    }
  }
}

// Takes one record off the front of `rest`. False if it cannot be one.
bool take_record(std::span<const std::byte>& rest, std::uint64_t text_address, RawBucket& bucket, Stack& stack) {
  oomw_go_bucket header;
  if (rest.size() < sizeof(header)) return false;
  std::memcpy(&header, rest.data(), sizeof(header));
  if (!has_valid_lengths(header) || !is_memory_bucket(header)) return false;
  const std::size_t pcs_bytes = padded(std::size_t{header.pc_count} * header.pc_bytes);
  const std::size_t record_bytes = std::size_t{header.stored_words} * 8;
  if (rest.size() < sizeof(header) + pcs_bytes + record_bytes) return false;
  const std::span pcs(stack.data(), header.pc_count);
  read_pcs(rest.subspan(sizeof(header), pcs_bytes), header.pc_bytes, text_address, pcs);
  bucket.address = header.address;
  bucket.hash = header.hash;
  bucket.size = header.size;
  bucket.stack_depth = header.stack_depth;
  bucket.pcs = pcs;
  bucket.record.fill(0);
  bucket.record_words = header.record_words;
  if (record_bytes > 0) std::memcpy(bucket.record.data(), rest.data() + sizeof(header) + pcs_bytes, record_bytes);
  rest = rest.subspan(sizeof(header) + pcs_bytes + record_bytes);
  return true;
}

}  // namespace

Result<> decode_bucket_records(std::span<const std::byte> records, std::uint64_t text_address, BucketDecoder& decoder) {
  Stack stack;
  RawBucket bucket;
  while (!records.empty()) {
    decoder.count_link();
    if (!take_record(records, text_address, bucket, stack)) {
      decoder.reject_shape();
      return fail(ErrorCode::kInvalid, "bucket " + std::to_string(decoder.counts().walked) + " is not a bucket");
    }
    if (decoder.add(bucket) == BucketDecoder::Verdict::kFull) {
      return fail(ErrorCode::kLimit, "more buckets than the limit");
    }
  }
  return {};
}

}  // namespace oomw::go
