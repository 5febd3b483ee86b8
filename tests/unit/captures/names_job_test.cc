// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/names_job.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtimes/go/go_registry.h"
#include "runtimes/go/inspection_jobs.h"
#include "unit/captures/go_fixture.h"

namespace oomw {
namespace {

using go::Frame, go::NamedFrames, go::SandboxedInspector, go::WantedAddress;
using test::GoHeap;
using testing::Contains;
using testing::HasSubstr;

class NamesJobTest : public ::testing::TestWithParam<const char*> {
 protected:
  MonotonicTime soon() const { return clock_.now() + std::chrono::seconds(20); }
  static std::uint64_t jobs(const SandboxedInspector& inspector, std::uint64_t reader::JobCounts::*result) {
    std::uint64_t sum = 0;
    for (const auto& counters : inspector.counters()) {
      const auto jobs = counters.by_kind.find(go::kNameFramesJob);
      if (jobs != counters.by_kind.end()) sum += jobs->second.*result;
    }
    return sum;
  }
  // A process as its registry knows it, with the names of its own reading.
  struct Read {
    std::unique_ptr<GoRegistry> registry;
    HeapRead heap;
  };
  Read read(int pid, go::ProgramInspector* inspector) {
    auto registry =
        std::make_unique<GoRegistry>(clock_, GoRegistryConfig{.inspector = inspector}, GoRegistry::Watcher());
    HeapRead heap = registry->read({pid, 0}, soon());
    return {std::move(registry), std::move(heap)};
  }

  const SystemClock clock_{};
};

TEST_P(NamesJobTest, the_reader_finds_the_names_that_this_process_would_find) {
  OOMW_BUILD_OR_SKIP(program, "1.26", GetParam());
  GoHeap process(program.path, "1");
  ASSERT_TRUE(process.is_ready());
  for (const char* command : {"nogc", "leak 20", "inline 10", "gc"}) process.ask(command);
  SandboxedInspector inspector(clock_);
  const Read here = read(process.pid(), nullptr), there = read(process.pid(), &inspector);
  ASSERT_TRUE(here.heap.reading && there.heap.reading) << here.heap.failure.detail << there.heap.failure.detail;
  const HeapReading& reading = *here.heap.reading;
  const auto expected = here.heap.process->names(clock_, soon()), names = there.heap.process->names(clock_, soon());
  const pprof::Profile profile = names->profile_of(reading, {1}, {"x"});
  EXPECT_EQ(pprof::write(profile), pprof::write(expected->profile_of(reading, {1}, {"x"})));
  EXPECT_TRUE(profile.mappings.at(0).has_functions);
  EXPECT_GT(profile.functions.size(), 5u);
  std::vector<std::vector<std::uint64_t>> stacks;
  for (const HeapHolding& holding : reading.holdings) {
    std::vector<std::uint64_t>& stack = stacks.emplace_back();
    for (const std::uint64_t pc : reading.pcs_of(holding)) stack.push_back(pc - reading.load_bias);
  }
  names->prepare(stacks);
  for (const auto& stack : stacks) EXPECT_EQ(names->lines_of(stack), expected->lines_of(stack));
  EXPECT_LE(jobs(inspector, &reader::JobCounts::done), 2u) << "one for all stacks, another for those of no amount";
  EXPECT_GE(jobs(inspector, &reader::JobCounts::done), 1u);
}
INSTANTIATE_TEST_SUITE_P(Variants, NamesJobTest, testing::Values("strip", "pie-strip"));

class NamesJobFailures : public NamesJobTest {};

// An inspector that cannot start its readers: names must come from them.
TEST_F(NamesJobFailures, without_a_reader_no_function_table_is_parsed_here) {
  OOMW_BUILD_OR_SKIP(program, "1.19", "strip");
  SandboxedInspector inspector(clock_, {.command = {"/nowhere/reader"}});
  GoProcess process;
  process.binary = std::make_shared<const go::GoBinary>();
  process.inspector = &inspector;
  process.exe = std::make_shared<const ExeHandle>(UniqueFd(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC)),
                                                  FileIdentity{}, program.path, std::make_shared<ExeHandle::Unused>());
  const auto names = process.names(clock_, soon());
  EXPECT_THAT(names->lines_of(std::vector<std::uint64_t>{0x401000}), testing::ElementsAre("0x401000"));
  EXPECT_THAT(names->profile_of({}, {1}, {}).comments, Contains(HasSubstr("addresses without names")));
  EXPECT_EQ(jobs(inspector, &reader::JobCounts::failed), 2u) << "replaced once, and not asked again";
}

TEST_F(NamesJobFailures, a_file_without_a_function_table_is_named_as_the_reason) {
  SandboxedInspector inspector(clock_);
  const UniqueFd file(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  const auto named = inspector.name_frames(file.get(), std::vector<WantedAddress>{{1, true}}, soon(), {});
  ASSERT_FALSE(named.has_value());
  EXPECT_THAT(named.error().message, HasSubstr("ELF"));
}

TEST_F(NamesJobFailures, parameters_that_are_none_are_refused) {
  EXPECT_FALSE(go::name_frames_job("", {}).has_value());
  EXPECT_FALSE(go::name_frames_job(go::name_frames_parameters({}), {}).has_value()) << "no files";
}

const std::vector<WantedAddress> kWanted = {{0x10, false}, {0x20, true}};

NamedFrames two_named() {
  return {{"", "main.a", "a.go"}, {{0x10, 1, 2, 7, true}, {0x20, 1, 2, 8, true}, {0x20, 0, 0, 0, false}}, {1, 2}};
}

Result<NamedFrames> read_back_named(const NamedFrames& named, std::size_t cut = 0) {
  const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
  if (!go::write_named(file.get(), named)) return fail(ErrorCode::kInternal, "not written");
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (::ftruncate(file.get(), size - static_cast<off_t>(cut)) != 0) return fail(ErrorCode::kInternal, "not cut");
  return go::read_named(file.get(), kWanted);
}

TEST(ReadNamed, names_survive_the_way_through_the_file) {
  const auto read = read_back_named(two_named());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->texts, two_named().texts);
  EXPECT_EQ(read->counts, two_named().counts);
  ASSERT_EQ(read->frames.size(), 3u);
  EXPECT_EQ(read->frames[1].pc, 0x20u);
  EXPECT_EQ(read->frames[1].line, 8);
  EXPECT_FALSE(read->frames[2].is_known);
}

TEST(ReadNamed, what_is_cut_or_out_of_bounds_is_refused) {
  for (const std::size_t cut : {1u, 4u, 17u, 60u}) EXPECT_FALSE(read_back_named(two_named(), cut).has_value()) << cut;
  const auto is_refused = [](const auto& change) {
    NamedFrames named = two_named();
    change(named);
    return !read_back_named(named).has_value();
  };
  EXPECT_TRUE(is_refused([](NamedFrames& n) { n.frames[0].function = 3; })) << "no such text";
  EXPECT_TRUE(is_refused([](NamedFrames& n) { n.frames[0].file = 3; }));
  EXPECT_TRUE(is_refused([](NamedFrames& n) { n.frames[0].line = -1; }));
  EXPECT_TRUE(is_refused([](NamedFrames& n) { n.counts = {0, 3}; })) << "an address without a frame";
  EXPECT_TRUE(is_refused([](NamedFrames& n) { n.counts = {2, 2}; })) << "more than there are";
  EXPECT_TRUE(is_refused([](NamedFrames& n) {
    n.frames.resize(NamedFrames::kMaxChain + 2);
    n.counts = {1, NamedFrames::kMaxChain + 1};
  })) << "deeper than any";
}

TEST(ReadNamed, a_text_that_is_no_utf8_is_made_so) {
  NamedFrames named = two_named();
  named.texts[1] = "main.\xff";
  const auto read = read_back_named(named);
  ASSERT_TRUE(read.has_value());
  EXPECT_NE(read->texts[1], named.texts[1]);
}

}  // namespace
}  // namespace oomw
