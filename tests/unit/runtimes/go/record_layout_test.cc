// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/record_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtimes/go/bucket_decoder.h"

namespace oomw::go {
namespace {

RawBucket raw(std::uint64_t size, std::array<std::uint64_t, kRecordWords> record) {
  RawBucket bucket;
  bucket.size = size;
  bucket.record = record;
  bucket.record_words = kRecordWords;
  return bucket;
}

RawBucket long_record(std::uint64_t allocs, std::uint64_t frees) {
  return raw(64, {allocs, frees, allocs * 64, frees * 64});
}

// As a reader of 128 B sees a 64 B record: the next bucket's header follows.
RawBucket short_record(std::uint64_t allocs, std::uint64_t frees) {
  return raw(64, {allocs, frees, 0, 0, 1, 0, 0, 0, 0, 0xc000010000, 1, 0x1234567890, 64, 7, 0x401000, 0x401100});
}

RecordLayout decide(const std::vector<RawBucket>& buckets, const std::vector<std::uint64_t>& gaps = {}) {
  LayoutEvidence evidence;
  for (const RawBucket& bucket : buckets) evidence.add(bucket);
  for (const std::uint64_t gap : gaps) evidence.add_gap(gap);
  return evidence.decide();
}

TEST(RecordLayout, bytes_that_equal_objects_times_size_prove_the_long_record) {
  EXPECT_EQ(decide({long_record(3, 1)}), RecordLayout::kObjectsAndBytes);
}

TEST(RecordLayout, counts_without_bytes_are_the_short_record) {
  EXPECT_EQ(decide({short_record(3, 1)}, {64}), RecordLayout::kObjects);
}

TEST(RecordLayout, one_torn_bucket_in_forty_does_not_unsettle_the_long_record) {
  std::vector<RawBucket> buckets(39, long_record(3, 1));
  buckets.push_back(raw(64, {4, 1, 3 * 64, 64}));
  EXPECT_EQ(decide(buckets), RecordLayout::kObjectsAndBytes);
}

TEST(RecordLayout, neighbour_inside_the_long_record_rules_it_out) {
  EXPECT_EQ(decide({long_record(3, 1)}, {96}), RecordLayout::kUnknown);
}

TEST(RecordLayout, neighbour_inside_the_short_record_leaves_none) {
  EXPECT_EQ(decide({short_record(3, 1)}, {32}), RecordLayout::kUnknown);
}

TEST(RecordLayout, many_short_records_and_no_neighbours_are_not_believed) {
  EXPECT_EQ(decide(std::vector<RawBucket>(100, short_record(3, 1)), {192, 192}), RecordLayout::kUnknown);
}

TEST(RecordLayout, more_frees_than_allocs_fit_no_layout) {
  EXPECT_EQ(decide({short_record(1, 3)}, {64}), RecordLayout::kUnknown);
}

TEST(RecordLayout, buckets_without_counts_prove_nothing) { EXPECT_EQ(decide({raw(64, {})}), RecordLayout::kNoData); }

TEST(RecordLayout, torn_record_gets_its_bytes_from_its_objects) {
  const auto decoded = decode_record(raw(64, {4, 1, 3 * 64, 64}), RecordLayout::kObjectsAndBytes);
  EXPECT_TRUE(decoded.is_torn);
  EXPECT_EQ(decoded.active, (Counts{4, 1, 256, 64}));
}

TEST(BucketDecoder, unknown_layout_hands_out_no_numbers) {
  BucketDecoder decoder({});
  RawBucket bucket = short_record(1, 3);
  bucket.hash = bucket_hash({}, bucket.size);
  ASSERT_EQ(decoder.add(bucket), BucketDecoder::Verdict::kTaken);
  HeapSnapshot snapshot;
  snapshot.complete = true;
  decoder.finish(snapshot);
  EXPECT_EQ(snapshot.layout, RecordLayout::kUnknown);
  EXPECT_TRUE(snapshot.buckets.empty());
  EXPECT_FALSE(snapshot.complete);
  EXPECT_THAT(snapshot.reason, testing::HasSubstr("layout unknown"));
}

TEST(BucketDecoder, later_buckets_that_contradict_the_layout_void_it) {
  BucketDecoder decoder({});
  const auto add = [&](RawBucket bucket) {
    bucket.hash = bucket_hash({}, bucket.size);
    return decoder.add(bucket);
  };
  for (std::size_t i = 0; i < BucketDecoder::kProofBuckets; ++i) {
    ASSERT_EQ(add(long_record(2, 1)), BucketDecoder::Verdict::kTaken);
  }
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(add(raw(64, {2, 1, 5, 5})), BucketDecoder::Verdict::kTaken);
  HeapSnapshot snapshot;
  decoder.finish(snapshot);
  EXPECT_EQ(snapshot.layout, RecordLayout::kUnknown);
  EXPECT_TRUE(snapshot.buckets.empty());
}

TEST(BucketDecoder, clipped_stack_is_kept_unverified_and_counted) {
  BucketDecoder decoder({});
  const std::vector<std::uint64_t> pcs = {1, 2};
  RawBucket bucket = long_record(2, 1);
  bucket.pcs = pcs;
  bucket.stack_depth = 5;
  EXPECT_EQ(decoder.add(bucket), BucketDecoder::Verdict::kTaken);
  HeapSnapshot snapshot;
  decoder.finish(snapshot);
  EXPECT_EQ(snapshot.counts.clipped, 1U);
  EXPECT_EQ(snapshot.buckets.size(), 1U);
}

TEST(PcPool, stacks_are_found_again_across_chunks) {
  PcPool pool;
  std::vector<std::uint32_t> places;
  for (std::uint64_t i = 0; i < 500; ++i) places.push_back(pool.append(std::vector<std::uint64_t>(1000, i)));
  EXPECT_EQ(pool.size(), 500'000U);
  for (std::uint64_t i = 0; i < 500; ++i) EXPECT_THAT(pool.at(places[i], 1000), testing::Each(i));
}

TEST(Unsample, small_blocks_are_scaled_up_and_large_ones_barely) {
  // runtime/pprof: 1 / (1 - exp(-size / rate)).
  EXPECT_EQ(unsample({1, 64}, 512 << 10), (HeapAmount{8192, 524320}));
  EXPECT_EQ(unsample({10, 10 << 20}, 512 << 10), (HeapAmount{11, 12126966}));
  EXPECT_EQ(unsample({10, 640}, 1), (HeapAmount{10, 640}));
  EXPECT_EQ(unsample({0, 0}, 512 << 10), (HeapAmount{0, 0}));
}

TEST(InUse, more_frees_than_allocs_are_no_negative_heap) {
  EXPECT_EQ(in_use(Counts{1, 2, 64, 128}), (HeapAmount{0, 0}));
}

}  // namespace
}  // namespace oomw::go
