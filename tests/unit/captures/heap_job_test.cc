// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/heap_job.h"

#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader/wire.h"
#include "runtimes/go/go_registry.h"
#include "runtimes/go/inspection_jobs.h"
#include "runtimes/go/reading_file.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using go::HeapEvidence, go::SandboxedInspector;
using test::GoHeap;
using testing::HasSubstr;
using testing::SizeIs;

// Holdings in numbers, with their stacks: all that a profile is made of.
std::vector<std::vector<std::uint64_t>> numbers_of(const HeapReading& reading) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const HeapHolding& holding : reading.holdings) {
    std::vector<std::uint64_t> numbers = {holding.block_bytes};
    for (const HeapAmount& amount : {holding.allocated, holding.held, holding.live}) {
      numbers.push_back(static_cast<std::uint64_t>(amount.objects));
      numbers.push_back(static_cast<std::uint64_t>(amount.bytes));
    }
    const auto pcs = reading.pcs_of(holding);
    numbers.insert(numbers.end(), pcs.begin(), pcs.end());
    all.push_back(std::move(numbers));
  }
  return all;
}

void expect_equal_readings(const HeapReading& read, const HeapReading& expected) {
  EXPECT_EQ(numbers_of(read), numbers_of(expected));
  EXPECT_EQ(read.is_complete, expected.is_complete);
  EXPECT_EQ(read.rate, expected.rate);
  EXPECT_EQ(read.collection, expected.collection);
  EXPECT_EQ(read.load_bias, expected.load_bias);
  EXPECT_EQ(read.summary, expected.summary);
  EXPECT_EQ(read.facts, expected.facts);
}

class ReadHeapJobTest : public ::testing::TestWithParam<const char*> {
 protected:
  HeapRead read(go::ProgramInspector* inspector, int pid, Nanoseconds timeout = std::chrono::seconds(20)) {
    registry_ = std::make_unique<GoRegistry>(clock_, GoRegistryConfig{.inspector = inspector}, GoRegistry::Watcher());
    return registry_->read({pid, 0}, clock_.now() + timeout);
  }
  std::uint64_t live_jobs(const SandboxedInspector& inspector) {
    std::uint64_t done = 0;
    for (const auto& counters : inspector.counters()) {
      const auto jobs = counters.by_kind.find(go::kReadHeapJob);
      if (jobs != counters.by_kind.end()) done += jobs->second.done;
    }
    return done;
  }

  const SystemClock clock_{};
  std::unique_ptr<GoRegistry> registry_;
};

TEST_P(ReadHeapJobTest, the_reader_reads_what_this_process_would_read) {
  OOMW_BUILD_OR_SKIP(program, "1.19", GetParam());
  GoHeap process(program.path, "1");
  ASSERT_TRUE(process.is_ready());
  for (const char* command : {"nogc", "leak 20", "gc", "leak 5"}) process.ask(command);
  const HeapRead here = read(nullptr, process.pid());
  SandboxedInspector inspector(clock_);
  const HeapRead there = read(&inspector, process.pid());
  ASSERT_TRUE(here.reading && there.reading) << here.failure.detail << there.failure.detail;
  expect_equal_readings(*there.reading, *here.reading);
  EXPECT_GT(there.reading->holdings.size(), 1u);
  EXPECT_THAT(there.reading->facts, SizeIs(3));
  EXPECT_EQ(live_jobs(inspector), 1u);
  EXPECT_EQ(here.cost_elsewhere, Nanoseconds(0));
  EXPECT_GT(there.cost_elsewhere, Nanoseconds(0)) << "a trend pays for it";
  EXPECT_EQ(registry_->find(there.process->key)->record_words, 16u) << "the proved layout goes to the registry";
}
INSTANTIATE_TEST_SUITE_P(Variants, ReadHeapJobTest, testing::Values("strip", "pie-strip"));

class ReadHeapFailures : public ReadHeapJobTest {};

// Inspects programs, but cannot start the readers that read heaps: a heap must come from them.
class NoHeaps final : public go::ProgramInspector {
 public:
  explicit NoHeaps(const Clock& clock) : good_(clock), bad_(clock, {.command = {"/nowhere/reader"}}) {}
  bool refuses(const std::function<std::string()>& owner) override { return good_.refuses(owner); }
  Result<go::GoBinary> inspect(int exe_fd, std::span<const std::string> owners) override {
    return good_.inspect(exe_fd, owners);
  }
  Result<std::uint64_t> find_list_head(const OpenMemory& memory, elf::AddressRange bss,
                                       std::span<const std::string> owners) override {
    return good_.find_list_head(memory, bss, owners);
  }
  tl::expected<HeapEvidence, reader::Failure> read_heap(const OpenMemory& memory, const go::HeapTarget& target,
                                                        MonotonicTime deadline,
                                                        std::span<const std::string> owners) override {
    return bad_.read_heap(memory, target, deadline, owners);
  }
  Result<go::NamedFrames> name_frames(int exe_fd, std::span<const go::WantedAddress> wanted, MonotonicTime deadline,
                                      std::span<const std::string> owners) override {
    return bad_.name_frames(exe_fd, wanted, deadline, owners);
  }

 private:
  SandboxedInspector good_, bad_;
};

TEST_F(ReadHeapFailures, without_a_reader_no_heap_is_read_here) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 1");
  NoHeaps inspector(clock_);
  const HeapRead read_by = read(&inspector, process.pid());
  EXPECT_FALSE(read_by.reading);
  ASSERT_NE(read_by.process, nullptr) << read_by.failure.detail;
  EXPECT_EQ(read_by.failure.reason, CaptureReason::kReaderFailed) << read_by.failure.detail;
  EXPECT_GT(read_by.cost_elsewhere, Nanoseconds(0)) << "as long as it took";
}

TEST_F(ReadHeapFailures, what_is_no_evidence_keeps_its_reason) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "0");
  SandboxedInspector inspector(clock_);
  const HeapRead read_by = read(&inspector, process.pid());
  EXPECT_EQ(read_by.failure.reason, CaptureReason::kRateZero);
  EXPECT_THAT(read_by.failure.detail, HasSubstr("MemProfileRate is 0"));
}

TEST_F(ReadHeapFailures, past_its_deadline_it_is_a_timeout) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  GoHeap process(program.path, "1");
  process.ask("leak 1");
  SandboxedInspector inspector(clock_);
  EXPECT_EQ(read(&inspector, process.pid(), Nanoseconds(0)).failure.reason, CaptureReason::kTimeout);
}

// An answer as the job gives it.
std::string answer(const std::string& reason, bool has_reading, const std::string& summary = "2 buckets") {
  reader::WireWriter out;
  out.number(7000).number(1).text(reason).text("why\n").number(has_reading).text(summary).number(has_reading);
  if (has_reading) out.text("oomwitness: fact");
  return out.take();
}

class DecodeEvidence : public ::testing::Test {
 protected:
  void SetUp() override {
    HeapReading reading;
    reading.rate = 1;
    const std::uint64_t pc = 0x1000;
    reading.holdings.push_back({reading.pcs.append(std::span(&pc, 1)), 1, 64, {1, 64}, {1, 64}, {}});
    ASSERT_TRUE(go::write_reading(file_.get(), reading).has_value());
  }
  const UniqueFd file_{::memfd_create("test", MFD_CLOEXEC)};
};

TEST_F(DecodeEvidence, an_answer_and_its_file_are_a_reading) {
  const auto evidence = go::decode_evidence(answer("", true, "a\x1b[2J"), file_.get());
  ASSERT_TRUE(evidence && evidence->reading);
  EXPECT_EQ(evidence->reading->summary, "a\\x1b[2J") << "printable";
  EXPECT_THAT(evidence->reading->facts, SizeIs(1));
  EXPECT_EQ(evidence->cost, Nanoseconds(7000));
  EXPECT_EQ(evidence->reading->pcs_of(evidence->reading->holdings.at(0))[0], 0x1000u);
}

TEST_F(DecodeEvidence, a_failure_has_no_reading) {
  const auto evidence = go::decode_evidence(answer("empty", false), file_.get());
  ASSERT_TRUE(evidence.has_value());
  EXPECT_FALSE(evidence->reading);
  EXPECT_EQ(evidence->failure.reason, CaptureReason::kEmpty);
  EXPECT_EQ(evidence->failure.detail, "why\\x0a");
}

TEST_F(DecodeEvidence, anything_else_is_refused) {
  const auto decodes = [&](const std::string& bytes) { return go::decode_evidence(bytes, file_.get()).has_value(); };
  for (std::size_t size = 0; size < answer("", true).size(); ++size) {
    EXPECT_FALSE(decodes(answer("", true).substr(0, size))) << size;
  }
  EXPECT_FALSE(decodes(answer("", true) + "x"));
  EXPECT_FALSE(decodes(answer("", false))) << "neither a reading nor a reason";
  EXPECT_FALSE(decodes(answer("empty", true))) << "both";
  EXPECT_FALSE(decodes(answer("no such reason", false)));
  const UniqueFd empty(::memfd_create("empty", MFD_CLOEXEC));
  EXPECT_FALSE(go::decode_evidence(answer("", true), empty.get()).has_value()) << "no reading in the file";
}

TEST(ReadHeapJob, parameters_that_are_none_are_refused) {
  EXPECT_FALSE(go::read_heap_job("", {}).has_value());
  EXPECT_FALSE(go::read_heap_job(go::read_heap_parameters({}, {}, {}), {}).has_value()) << "no files";
}

}  // namespace
}  // namespace oomw
