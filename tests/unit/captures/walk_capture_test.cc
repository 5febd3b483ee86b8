// SPDX-License-Identifier: Apache-2.0
#include "captures/walk_capture.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/top.h"
#include "process/open_memory.h"
#include "runtimes/go/go_registry.h"
#include "support/process_space.h"
#include "unit/captures/go_fixture.h"
#include "unit/runtimes/go/walk_records.h"

namespace oomw {
namespace {

using test::as_bytes;
using test::bytes_of;
using test::Recorded;
using test::walk_of;
using testing::Contains;
using testing::HasSubstr;

CaptureOutcome decode(const HeapWalked& walk, const std::vector<std::string>& chunks, GoProcessPtr process = nullptr) {
  WalkDecoder decoder(walk, std::move(process));
  for (const std::string& chunk : chunks) decoder.add(as_bytes(chunk));
  return decoder.finish(SystemClock());
}

TEST(WalkCapture, whole_list_is_a_complete_profile) {
  const auto outcome = decode(walk_of(2), {bytes_of({}), bytes_of({.size = 64, .allocs = 3, .cycle = 2})});
  const auto& finished = outcome.finished;
  EXPECT_EQ(finished.result, CaptureResult::kOk) << finished.detail;
  EXPECT_TRUE(finished.complete);
  EXPECT_EQ(finished.reason, CaptureReason::kNone);
  EXPECT_EQ(finished.method, CaptureMethod::kAtKill);
  EXPECT_EQ(finished.process, (ProcessKey{41, 4100}));
  EXPECT_EQ(finished.cgroup, CgroupId{9});
  EXPECT_EQ(finished.sample_count, 2U);
  EXPECT_EQ(finished.inuse_bytes, 4096U + 192U);
  EXPECT_EQ(finished.live_bytes, 4096U);
  EXPECT_EQ(pprof::read(outcome.profile)->total(3), 4096 + 192);
}

TEST(WalkCapture, unknown_process_gives_addresses_and_says_so) {
  const auto outcome = decode(walk_of(1), {bytes_of({})});
  const auto profile = pprof::read(outcome.profile);
  ASSERT_TRUE(profile.has_value()) << profile.error().message;
  EXPECT_EQ(profile->locations.at(0).address, test::kText + 0xff);
  EXPECT_TRUE(profile->functions.empty());
  EXPECT_THAT(profile->comments, Contains(HasSubstr("addresses without names")));
}

TEST(WalkCapture, eight_byte_addresses_are_taken_as_they_are) {
  const auto outcome = decode(walk_of(1), {bytes_of({.pcs = {0x7f0000001000}, .pc_bytes = 8})});
  EXPECT_EQ(pprof::read(outcome.profile)->locations.at(0).address, 0x7f0000000fffU);
}

TEST(WalkCapture, part_of_the_list_is_kept_with_its_reason) {
  auto walk = walk_of(1);
  walk.stop = WalkStop::kPoolFull;
  const auto outcome = decode(walk, {bytes_of({})});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk);
  EXPECT_FALSE(outcome.finished.complete);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kPoolFull);
  EXPECT_THAT(outcome.finished.detail, HasSubstr("pool_full"));
  EXPECT_THAT(pprof::read(outcome.profile)->comments, Contains(HasSubstr("complete=no")));
}

TEST(WalkCapture, walk_that_got_nothing_fails_with_how_it_ended) {
  auto walk = walk_of(0);
  walk.stop = WalkStop::kFault;
  const auto outcome = decode(walk, {});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kFault);
  EXPECT_EQ(outcome.profile, "");
  EXPECT_EQ(decode(walk_of(0), {}).finished.reason, CaptureReason::kEmpty);
}

TEST(WalkCapture, loop_is_never_a_profile) {
  auto walk = walk_of(2);
  walk.stop = WalkStop::kLoop;
  const auto outcome = decode(walk, {bytes_of({}) + bytes_of({})});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kLoop);
}

TEST(WalkCapture, chunk_that_never_arrived_is_not_complete) {
  const auto outcome = decode(walk_of(2), {bytes_of({})});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk);
  EXPECT_FALSE(outcome.finished.complete);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kLost);
}

TEST(WalkCapture, wrong_hash_is_left_out_and_not_complete) {
  std::string wrong = bytes_of({});
  wrong[8] ^= 1;
  const auto outcome = decode(walk_of(2), {wrong + bytes_of({.size = 64})});
  EXPECT_FALSE(outcome.finished.complete);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kRejected);
  EXPECT_EQ(outcome.finished.inuse_bytes, 64U);
  EXPECT_EQ(decode(walk_of(1), {wrong}).finished.result, CaptureResult::kFailed);
}

TEST(WalkCapture, clipped_stack_is_kept_and_counted) {
  const auto outcome = decode(walk_of(1), {bytes_of({.depth = 200})});
  EXPECT_TRUE(outcome.finished.complete) << to_string(outcome.finished.reason);
  EXPECT_THAT(outcome.finished.detail, HasSubstr("1 stacks cut short"));
}

TEST(WalkCapture, record_of_impossible_lengths_ends_its_chunk_only) {
  const auto broken = [](std::size_t at, char value) {
    std::string bytes = bytes_of({});
    bytes[at] = value;
    return bytes;
  };
  // pc_count beyond the depth, record_words, stored_words, pc_bytes; then bytes that end early.
  const std::vector<std::string> hostile = {
      broken(26, 127),           broken(28, 17), broken(29, 30), broken(30, 3), bytes_of({}).substr(0, 50),
      bytes_of({}).substr(0, 20)};
  for (const std::string& bytes : hostile) {
    const auto outcome = decode(walk_of(3), {bytes_of({}) + bytes, bytes_of({.size = 64})});
    EXPECT_EQ(outcome.finished.reason, CaptureReason::kRejected);
    EXPECT_EQ(outcome.finished.sample_count, 2U);
  }
}

TEST(WalkCapture, record_of_no_known_layout_gives_no_numbers) {
  std::string bytes = bytes_of({});
  for (std::size_t at = bytes.size() - 24; at < bytes.size(); ++at) bytes[at] = static_cast<char>(0xee);
  const auto outcome = decode(walk_of(1), {bytes});
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kLayoutUnknown);
  EXPECT_EQ(outcome.profile, "");
}

TEST(WalkCapture, rate_zero_is_told_and_an_unknown_rate_assumed) {
  auto walk = walk_of(1);
  walk.rate = 0;
  EXPECT_EQ(decode(walk, {bytes_of({})}).finished.reason, CaptureReason::kRateZero);
  walk.has_rate = false;
  const auto outcome = decode(walk, {bytes_of({})});
  EXPECT_EQ(pprof::read(outcome.profile)->period, 512 << 10);
  EXPECT_THAT(pprof::read(outcome.profile)->comments, Contains(HasSubstr("(assumed)")));
}

// The buckets of a living process, recorded as the programs would.
std::string record_of(const GoProcess& process, std::uint64_t& buckets) {
  std::string bytes;
  const ProcessMemory memory(process.key.pid);
  CachedReader reader(memory, 64U << 20);
  auto address = reader.get<std::uint64_t>(*process.target->variables.buckets);
  for (; address.has_value() && *address != 0; ++buckets) {
    const auto header = reader.get<go::BucketHeader>(*address);
    Recorded r;
    r.pcs.resize(header->stack_depth);
    EXPECT_TRUE(reader.read(*address + sizeof(*header), std::as_writable_bytes(std::span(r.pcs))).has_value());
    std::array<std::uint64_t, go::kRecordWords> words;
    const auto at = *address + sizeof(*header) + r.pcs.size() * 8;
    EXPECT_TRUE(reader.read(at, std::as_writable_bytes(std::span(words))).has_value());
    oomw_go_bucket out{*address,
                       header->hash,
                       header->size,
                       static_cast<__u16>(r.pcs.size()),
                       static_cast<__u16>(r.pcs.size()),
                       16,
                       16,
                       8,
                       0};
    bytes.append(reinterpret_cast<const char*>(&out), sizeof(out));
    bytes.append(reinterpret_cast<const char*>(r.pcs.data()), r.pcs.size() * 8);
    bytes.append(reinterpret_cast<const char*>(words.data()), sizeof(words));
    address = header->allnext;
  }
  return bytes;
}

TEST(WalkCapture, names_come_from_the_file_after_process_and_file_are_gone) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "pie-strip");
  test::TemporaryDirectory folder;
  std::filesystem::copy_file(program.path, folder / "service");
  const SystemClock clock;
  GoRegistry processes(clock, {}, {});
  auto walk = walk_of(0);
  GoProcessPtr process;
  std::string records;
  {
    test::GoHeap victim(folder / "service", "1");
    victim.ask("leak 20");
    process = *processes.add({victim.pid(), 0});
    walk.text_address = process->text_address();
    records = record_of(*process, walk.walked);
  }
  std::filesystem::remove(folder / "service");
  const auto outcome = decode(walk, {records}, process);
  EXPECT_TRUE(outcome.finished.complete) << to_string(outcome.finished.reason) << ": " << outcome.finished.detail;
  EXPECT_GE(*outcome.finished.inuse_bytes, 20U << 20);
  EXPECT_EQ(pprof::top(*pprof::read(outcome.profile)).rows.at(0).function, "main.leak");
}

TEST(WalkCapture, file_that_reads_as_rubbish_gives_addresses) {
  test::TemporaryDirectory folder;
  test::write_bytes(folder / "rubbish", std::string(5000, 'x'));
  ExeHandles handles(1);
  auto process = std::make_shared<GoProcess>();
  process->binary = std::make_shared<const go::GoBinary>();
  process->exe = handles.share(UniqueFd(::open((folder / "rubbish").c_str(), O_RDONLY | O_CLOEXEC)), {}, "/rubbish");
  const auto outcome = decode(walk_of(1), {bytes_of({})}, process);
  EXPECT_EQ(outcome.finished.result, CaptureResult::kOk);
  EXPECT_THAT(pprof::read(outcome.profile)->comments, Contains(HasSubstr("addresses without names")));
}

}  // namespace
}  // namespace oomw
