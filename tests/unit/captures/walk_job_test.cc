// SPDX-License-Identifier: Apache-2.0
#include "captures/walk_job.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "captures/facts_wire.h"
#include "captures/walk_capture.h"
#include "reader/wire.h"
#include "runtimes/go/reading_file.h"
#include "unit/captures/go_fixture.h"
#include "unit/runtimes/go/walk_records.h"

namespace oomw {
namespace {

using test::as_bytes;
using test::bytes_of;
using testing::Contains;
using testing::HasSubstr;

HeapWalked walk_in_a_cycle(std::uint64_t buckets) {
  HeapWalked walk = test::walk_of(buckets);
  walk.has_cycle = true;
  walk.cycle_before = walk.cycle_after = 34;
  return walk;
}

class WalkJobTest : public ::testing::Test {
 protected:
  CaptureOutcome decode(const HeapWalked& walk, const std::vector<std::string>& chunks, GoProcessPtr process = nullptr,
                        reader::ReaderConfig config = {}) {
    reader::ReaderGroup readers(clock_, config, 1);
    WalkRecords records = WalkRecords::make().value();
    for (const std::string& chunk : chunks) records.add(as_bytes(chunk));
    const ReadingWatcher watcher = [this](const RuntimeProcess& watched, const HeapReading& reading) {
      watched_ = watched.key;
      reading_ = reading;
    };
    CaptureOutcome outcome = decode_walk(walk, process, records, readers, clock_, watcher);
    counters_ = readers.counters().front();
    return outcome;
  }
  static pprof::Profile profile_in(const CaptureOutcome& outcome) {
    return pprof::read(outcome.profile_file->read(1u << 20).value()).value();
  }

  const SystemClock clock_{};
  ProcessKey watched_;
  std::optional<HeapReading> reading_;
  reader::ReaderCounters counters_;
};

TEST_F(WalkJobTest, reader_makes_the_capture_that_this_process_would_make) {
  const HeapWalked walk = walk_in_a_cycle(2);
  const std::vector<std::string> chunks = {bytes_of({}), bytes_of({.size = 64, .allocs = 3, .cycle = 2})};
  WalkDecoder here(walk, nullptr);
  for (const std::string& chunk : chunks) here.add(as_bytes(chunk));
  std::optional<HeapReading> expected;
  const CaptureOutcome made =
      here.finish(clock_, [&](const RuntimeProcess&, const HeapReading& reading) { expected = reading; });
  const CaptureOutcome outcome = decode(walk, chunks);
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk) << outcome.finished.detail;
  EXPECT_TRUE(outcome.finished.complete);
  EXPECT_EQ(outcome.finished.method, CaptureMethod::kAtKill);
  EXPECT_EQ(outcome.finished.process, walk.process);
  EXPECT_EQ(outcome.finished.cgroup, walk.cgroup);
  EXPECT_EQ(outcome.finished.time, made.finished.time);
  EXPECT_EQ(outcome.finished.started, made.finished.started);
  EXPECT_EQ(outcome.finished.detail, made.finished.detail);
  EXPECT_EQ(outcome.finished.inuse_bytes, made.finished.inuse_bytes);
  EXPECT_EQ(outcome.finished.live_bytes, made.finished.live_bytes);
  EXPECT_EQ(outcome.finished.sample_count, made.finished.sample_count);
  EXPECT_EQ(outcome.string_count, made.string_count);
  EXPECT_EQ(profile_in(outcome).total(3), 4096 + 192);
  EXPECT_EQ(watched_, walk.process);
  ASSERT_TRUE(reading_ && expected);
  EXPECT_EQ(reading_->as_of, expected->as_of);
  EXPECT_EQ(reading_->collection, expected->collection);
  ASSERT_EQ(reading_->holdings.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reading_->holdings[i].held, expected->holdings[i].held);
    EXPECT_EQ(reading_->holdings[i].live, expected->holdings[i].live);
    EXPECT_THAT(reading_->pcs_of(reading_->holdings[i]),
                testing::ElementsAreArray(expected->pcs_of(expected->holdings[i])));
  }
}

TEST_F(WalkJobTest, walk_that_brought_nothing_fails_with_its_own_reason) {
  HeapWalked walk = walk_in_a_cycle(0);
  walk.stop = WalkStop::kFault;
  const CaptureOutcome outcome = decode(walk, {});
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kFault);
  EXPECT_FALSE(outcome.has_profile());
  EXPECT_FALSE(reading_);
}

TEST_F(WalkJobTest, impossible_record_ends_its_chunk_only) {
  std::string broken = bytes_of({});
  broken[26] = 127;
  const CaptureOutcome outcome = decode(walk_in_a_cycle(3), {bytes_of({}) + broken, bytes_of({.size = 64})});
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kRejected);
  EXPECT_EQ(outcome.finished.sample_count, 2U);
}

TEST_F(WalkJobTest, reader_that_ends_is_tried_twice_and_then_is_the_reason) {
  const CaptureOutcome outcome = decode(walk_in_a_cycle(1), {bytes_of({})}, nullptr, {.command = {"/bin/false"}});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kReaderFailed);
  EXPECT_EQ(outcome.finished.process, (ProcessKey{41, 4100}));
  EXPECT_EQ(counters_.by_kind.at(kWalkJob).failed, 2U);
}

TEST_F(WalkJobTest, executable_goes_to_the_reader_and_one_of_rubbish_names_nothing) {
  test::TemporaryDirectory folder;
  test::write_bytes(folder / "rubbish", std::string(5000, 'x'));
  ExeHandles handles(1);
  auto process = std::make_shared<GoProcess>();
  process->key = {41, 4100};
  process->binary = std::make_shared<const go::GoBinary>();
  process->exe = handles.share(UniqueFd(::open((folder / "rubbish").c_str(), O_RDONLY | O_CLOEXEC)), {}, "/a/rubbish");
  const CaptureOutcome outcome = decode(walk_in_a_cycle(1), {bytes_of({})}, process);
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk);
  const pprof::Profile profile = profile_in(outcome);
  EXPECT_THAT(profile.comments, Contains(HasSubstr("comm=rubbish")));
  EXPECT_THAT(profile.comments, Contains(HasSubstr("addresses without names")));
  EXPECT_EQ(profile.mappings.at(0).filename, "/a/rubbish");
}

// 60,000 stacks of 40 frames, more than the kernel's pool holds of them, within the reader's memory.
TEST_F(WalkJobTest, longest_list_fits_the_reader) {
#ifdef OOMW_SANITIZED  // its memory is another there, and all of it takes 3 s
  constexpr int kChunks = 12, kRecords = 1000;
#else
  constexpr int kChunks = 60, kRecords = 1000;
#endif
  std::vector<std::string> chunks(kChunks);
  for (int i = 0; i < kChunks * kRecords; ++i) {
    test::Recorded recorded;
    recorded.size = 4096;
    recorded.pcs.assign(40, test::kText + 0x1000);
    recorded.pcs[0] = test::kText + 0x100 + static_cast<std::uint64_t>(i);
    chunks[static_cast<std::size_t>(i / kRecords)] += bytes_of(recorded);
  }
  const CaptureOutcome outcome = decode(walk_in_a_cycle(kChunks * kRecords), chunks);
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk) << outcome.finished.detail;
  EXPECT_TRUE(outcome.finished.complete) << to_string(outcome.finished.reason);
  EXPECT_EQ(reading_->holdings.size(), static_cast<std::size_t>(kChunks * kRecords));
}

int file_with(const std::string& bytes) {
  const int fd = ::memfd_create("test", MFD_CLOEXEC);
  OOMW_CHECK(write_all(fd, bytes).has_value());
  return fd;
}

TEST(ReadHeapReading, what_is_no_reading_is_refused) {
  const auto reads = [](const std::string& bytes) {
    const UniqueFd fd(file_with(bytes));
    return go::read_reading(fd.get()).has_value();
  };
  const auto header = [](std::uint64_t holdings) {
    return std::string(48, '\0') + std::string(reinterpret_cast<const char*>(&holdings), 8);
  };
  EXPECT_TRUE(reads(header(0)));
  EXPECT_FALSE(reads(""));
  EXPECT_FALSE(reads(header(1))) << "the holding is missing";
  EXPECT_FALSE(reads(header(std::uint64_t{1} << 40)));
  EXPECT_FALSE(reads(header(1) + std::string(64, '\xff'))) << "its stack would be too deep";
  EXPECT_TRUE(reads(header(1) + std::string(64, '\0')));
}

TEST(DecodeWalkAnswer, anything_else_is_refused) {
  std::uint64_t string_count = 0;
  const auto decodes = [&](std::string answer) { return decode_end(answer, {}, {}, {}, string_count).has_value(); };
  const auto failure = [](const std::string& reason) {
    reader::WireWriter out;
    out.number(0).text(reason).text("x\n");
    for (int i = 0; i < 8; ++i) out.number(0);  // its figures and lists, none
    return out.take();
  };
  EXPECT_TRUE(decodes(failure("loop")));
  EXPECT_FALSE(decodes(failure("no such reason")));
  EXPECT_FALSE(decodes(failure("loop") + "more"));
  EXPECT_FALSE(decodes(""));
  EXPECT_EQ(decode_end(failure("loop"), {}, {}, {}, string_count)->detail, "x\\x0a");
}

}  // namespace
}  // namespace oomw
