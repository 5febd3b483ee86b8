// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/bucket_walk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtimes/go/heap_reader.h"
#include "unit/captures/child_process.h"
#include "unit/runtimes/go/bucket_arena.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw::go {
namespace {

using test::BucketArena;
constexpr auto kLong = RecordLayout::kObjectsAndBytes, kShort = RecordLayout::kObjects;

HeapSnapshot read(const BucketArena& arena, ReadLimits limits = {}) {
  HeapTarget target;
  target.variables = arena.variables();
  const auto snapshot = read_heap(SpanSource(arena.bytes(), arena.base()), target, limits);
  EXPECT_TRUE(snapshot.has_value());
  return snapshot.value_or(HeapSnapshot{});
}

TEST(BucketWalk, both_series_of_a_bucket_are_read_in_either_layout) {
  for (const auto layout : {kLong, kShort}) {
    BucketArena arena(layout);
    arena.push({0x401000, 0x402000}, 4096, {{{10, 4}, {1, 0}, {2, 0}, {0, 3}}});
    const auto snapshot = read(arena);
    EXPECT_TRUE(snapshot.complete) << snapshot.reason;
    EXPECT_EQ(snapshot.layout, layout);
    ASSERT_EQ(snapshot.buckets.size(), 1U);
    EXPECT_EQ(in_use(snapshot.buckets[0].live_at_last_gc()), (HeapAmount{6, 6 * 4096}));
    EXPECT_EQ(in_use(snapshot.buckets[0].held_now()), (HeapAmount{6, 6 * 4096}));
    EXPECT_EQ(allocated(snapshot.buckets[0].held_now()), (HeapAmount{13, 13 * 4096}));
    EXPECT_THAT(snapshot.pcs_of(snapshot.buckets[0]), testing::ElementsAre(0x401000, 0x402000));
  }
}

TEST(BucketWalk, record_that_reaches_into_a_page_never_touched_is_zero_there) {
  BucketArena arena(kLong);
  for (int i = 0; i < 3; ++i) arena.push({0x401000}, 4096, {{{10, 4}, {1, 0}, {2, 0}, {0, 3}}});
  arena.push({0x402000}, 4096, {{{5, 1}, {0, 0}, {0, 0}, {0, 0}}});
  HeapTarget target;
  target.variables = arena.variables();
  for (const std::size_t absent_words : {12, 11, 5}) {
    const auto present = arena.bytes().first(arena.bytes().size() - absent_words * 8);
    const auto snapshot = read_heap(SpanSource(present, arena.base()), target, {});
    ASSERT_TRUE(snapshot.has_value());
    EXPECT_TRUE(snapshot->complete) << snapshot->reason;
    ASSERT_EQ(snapshot->buckets.size(), 4U) << absent_words;
    EXPECT_EQ(in_use(snapshot->buckets[0].held_now()), (HeapAmount{4, 4 * 4096})) << "the newest is first";
  }
}

TEST(BucketWalk, empty_list_says_why_it_is_empty) {
  BucketArena arena(kLong);
  EXPECT_THAT(read(arena).reason, testing::HasSubstr("sampled yet"));
  arena.set_rate(0);
  const auto snapshot = read(arena);
  EXPECT_TRUE(snapshot.complete);
  EXPECT_EQ(snapshot.layout, RecordLayout::kNoData);
  EXPECT_THAT(snapshot.reason, testing::HasSubstr("MemProfileRate is 0"));
}

TEST(BucketWalk, implausible_rate_is_replaced_by_the_default_and_flagged) {
  BucketArena arena(kLong);
  arena.set_rate(~0ULL);
  EXPECT_EQ(read(arena).rate, 512 << 10);
  EXPECT_TRUE(read(arena).is_rate_assumed);
}

// A process in which a collection ends between each two of the first `moves` + 1 looks at the cycle.
class CollectingProcess final : public ByteSource {
 public:
  CollectingProcess(const BucketArena& arena, std::uint32_t moves)
      : memory_(arena.bytes(), arena.base()), cycle_address_(*arena.variables().cycle), moves_(moves) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    if (address != cycle_address_ || out.size() != sizeof(std::uint32_t)) return memory_.read_some(address, out);
    const std::uint32_t word = 2 * std::min(reads_++, moves_);
    std::memcpy(out.data(), &word, sizeof(word));
    return sizeof(word);
  }

 private:
  SpanSource memory_;
  std::uint64_t cycle_address_;
  std::uint32_t moves_;
  mutable std::uint32_t reads_ = 0;
};

HeapSnapshot read_while_collecting(const BucketArena& arena, std::uint32_t moves) {
  HeapTarget target;
  target.variables = arena.variables();
  return read_heap(CollectingProcess(arena, moves), target, {}).value_or(HeapSnapshot{});
}

TEST(BucketWalk, collection_during_the_walk_is_read_again) {
  BucketArena arena(kLong);
  arena.push({0x401000}, 4096, {{{10, 4}, {}, {}, {}}});
  const auto snapshot = read_while_collecting(arena, 1);
  ASSERT_TRUE(snapshot.cycle.has_value());
  EXPECT_EQ(snapshot.cycle->retries, 1u);
  EXPECT_FALSE(snapshot.cycle->is_torn());
  EXPECT_EQ(snapshot.buckets.size(), 1u);
  EXPECT_EQ(snapshot.counts.walked, 1u);  // of the last walk alone
}

TEST(BucketWalk, collection_during_every_walk_is_said_and_the_last_walk_kept) {
  BucketArena arena(kLong);
  arena.push({0x401000}, 4096, {{{10, 4}, {}, {}, {}}});
  const auto snapshot = read_while_collecting(arena, 1000);
  ASSERT_TRUE(snapshot.cycle.has_value());
  EXPECT_EQ(snapshot.cycle->retries, ReadLimits{}.max_retries);
  EXPECT_TRUE(snapshot.cycle->is_torn());
  EXPECT_EQ(snapshot.buckets.size(), 1u);
}

TEST(BucketWalk, bucket_pointing_to_itself_yields_nothing) {
  BucketArena arena(kLong);
  const auto bucket = arena.push({1, 2}, 16, {{{1, 0}}});
  arena.word(bucket, 1) = bucket;
  const auto snapshot = read(arena);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_THAT(snapshot.reason, testing::HasSubstr("loops"));
  EXPECT_TRUE(snapshot.buckets.empty());
  EXPECT_LE(snapshot.counts.walked, 3U);
}

TEST(BucketWalk, loop_of_many_buckets_ends_within_three_rounds) {
  BucketArena arena(kLong);
  const auto last = arena.push({1}, 16, {{{1, 0}}});
  for (std::uint64_t i = 2; i < 1000; ++i) arena.push({i}, 16, {{{1, 0}}});
  const auto head = arena.push({1000}, 16, {{{1, 0}}});
  arena.word(last, 1) = head;
  const auto snapshot = read(arena);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_TRUE(snapshot.buckets.empty());
  EXPECT_LE(snapshot.counts.walked, 3000U);
}

TEST(BucketWalk, gigantic_depth_ends_the_walk_before_it_is_read) {
  BucketArena arena(kLong);
  arena.push({1}, 16, {{{1, 0}}});
  const auto head = arena.push({2}, 16, {{{1, 0}}});
  arena.word(head, 5) = std::uint64_t{1} << 60;
  const auto snapshot = read(arena);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_EQ(snapshot.counts.rejected_shape, 1U);
  EXPECT_LT(snapshot.bytes_read, 1U << 20);
}

TEST(BucketWalk, wrong_type_and_crooked_links_are_no_buckets) {
  for (const auto& [index, value] : std::vector<std::pair<std::size_t, std::uint64_t>>{
           {2, 2}, {1, 0x100001}, {1, std::uint64_t{1} << 63}, {0, 4}, {4, ~0ULL}}) {
    BucketArena arena(kLong);
    arena.word(arena.push({1}, 16, {{{1, 0}}}), index) = value;
    EXPECT_EQ(read(arena).counts.rejected_shape, 1U) << index;
  }
}

TEST(BucketWalk, mismatching_hash_is_left_out_and_the_rest_kept) {
  BucketArena arena(kLong);
  arena.push({1}, 16, {{{1, 0}}});
  arena.word(arena.push({2}, 16, {{{1, 0}}}), 6) = 3;
  arena.push({4}, 16, {{{1, 0}}});
  const auto snapshot = read(arena);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_EQ(snapshot.counts.rejected_hash, 1U);
  EXPECT_EQ(snapshot.buckets.size(), 2U);
}

TEST(BucketWalk, list_of_nothing_but_mismatches_is_given_up_early) {
  BucketArena arena(kLong);
  for (std::uint64_t i = 0; i < 1000; ++i) arena.word(arena.push({i}, 16, {{{1, 0}}}), 3) ^= 1;
  const auto snapshot = read(arena);
  EXPECT_EQ(snapshot.counts.rejected_hash, BucketWalk::kMaxRejected + 1);
  EXPECT_TRUE(snapshot.buckets.empty());
}

TEST(BucketWalk, link_into_nothing_keeps_what_was_read) {
  BucketArena arena(kLong);
  const auto oldest = arena.push({1}, 16, {{{1, 0}}});
  arena.push({2}, 16, {{{1, 0}}});
  arena.word(oldest, 1) = 0x7f0000000000;
  const auto snapshot = read(arena);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_EQ(snapshot.buckets.size(), 2U);
}

TEST(BucketWalk, more_buckets_than_the_limit_are_cut_and_said) {
  BucketArena arena(kShort);
  for (std::uint64_t i = 1; i <= 5000; ++i) arena.push({i}, 16, {{{1, 0}}});
  ReadLimits limits;
  limits.decoder.max_buckets = 3000;
  const auto snapshot = read(arena, limits);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_EQ(snapshot.buckets.size(), 3000U);
  EXPECT_THAT(snapshot.reason, testing::HasSubstr("limit"));
}

// A process that is not Go at all and holds whatever memory it likes.
class HostileProcess {
 public:
  explicit HostileProcess(std::size_t bytes)
      : size_(bytes),
        memory_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  HostileProcess(const HostileProcess&) = delete;
  HostileProcess& operator=(const HostileProcess&) = delete;
  ~HostileProcess() { ::munmap(memory_, size_); }

  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(memory_); }

  // The child inherits the memory; what the parent held is given back.
  HeapTarget start() {
    child_.emplace();
    HeapTarget target;
    target.image = *read_process_image(child_->pid());
    target.variables = {base(), base() + 8, base() + 16};
    return target;
  }

 private:
  std::size_t size_;
  std::byte* memory_;
  std::optional<ChildProcess> child_;
};

TEST(BucketWalk, hostile_process_with_a_million_buckets_is_bounded) {
  HostileProcess process(256U << 20);
  BucketArena arena(kLong, process.base());
  for (std::uint64_t i = 1; i <= 1'000'000; ++i) arena.push({i}, 16, {{{1, 0}}});
  std::memcpy(process.memory(), arena.bytes().data(), arena.bytes().size());
  const auto snapshot = read_heap(process.start());
  ASSERT_TRUE(snapshot.has_value()) << snapshot.error().message;
  EXPECT_FALSE(snapshot->complete);
  EXPECT_EQ(snapshot->buckets.size(), BucketDecoder::Limits{}.max_buckets);
  EXPECT_LE(snapshot->bytes_read, ReadLimits{}.max_bytes);
}

TEST(BucketWalk, hostile_process_that_scatters_its_buckets_is_bounded_in_bytes) {
  constexpr std::uint64_t kApart = 2 * CachedReader::kBlockBytes * CachedReader::kBlocks;  // each evicts the last
  HostileProcess process(1024 * kApart);
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::vector<std::uint64_t> pcs = {i};
    const BucketHeader header{0, next, kMemoryProfile, bucket_hash(pcs, 16), 16, 1};
    next = process.base() + (i + 1) * kApart;
    std::byte* at = process.memory() + (i + 1) * kApart;
    std::memcpy(at, &header, sizeof(header));
    std::memcpy(at + sizeof(header), pcs.data(), 8);
  }
  std::memcpy(process.memory(), &next, 8);
  ReadLimits limits;
  limits.max_bytes = 8U << 20;
  const auto snapshot = read_heap(process.start(), limits);
  ASSERT_TRUE(snapshot.has_value()) << snapshot.error().message;
  EXPECT_FALSE(snapshot->complete);
  EXPECT_LE(snapshot->bytes_read, limits.max_bytes);
  EXPECT_THAT(snapshot->reason, testing::HasSubstr("bytes to read"));
}

}  // namespace
}  // namespace oomw::go
