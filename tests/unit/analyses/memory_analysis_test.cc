// SPDX-License-Identifier: Apache-2.0
#include "analyses/memory_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyses/analysis_job.h"
#include "base/clock.h"
#include "pprof/codec.h"
#include "support/python_interpreter.h"
#include "support/started_program.h"

namespace oomw {
namespace {

constexpr std::string_view kProgram = "555500000000-555500001000 r-xp 00000000 08:01 11 /usr/bin/";
constexpr std::string_view kLibrary = "\n7f0000000000-7f0000001000 r-xp 00000000 08:01 12 /usr/lib/";

enum class Row { kPython, kNode, kOther, kNone };

// By which row a program that is no Go program is read, by the names of its executable and of one library.
Row row_of(const std::string& maps_text) {
  const SpanSource nothing({});
  const SpanSource maps(std::as_bytes(std::span(maps_text)));
  const SystemClock clock;
  const AnalysisSubject subject{nothing, nothing, maps, nothing, -1, -1, -1, 0x555500000000, {}, clock, clock.now()};
  const bool is_python = is_python_program(subject), is_other = is_other_program(subject);
  const bool is_node = is_node_program(subject);
  EXPECT_FALSE(is_python && is_other);
  EXPECT_FALSE(is_node && (is_python || is_other));
  if (is_node) return Row::kNode;
  return is_python ? Row::kPython : is_other ? Row::kOther : Row::kNone;
}

Row row_of(std::string_view program, std::string_view library) {
  return row_of(std::string(kProgram).append(program).append(kLibrary).append(library) + "\n");
}

TEST(MemoryAnalysis, one_row_at_most_reads_a_program) {
  EXPECT_EQ(row_of("python3.11", "libc.so.6"), Row::kPython);
  EXPECT_EQ(row_of("server", "libc.so.6"), Row::kOther);
  EXPECT_EQ(row_of("server", "libjvm.so"), Row::kNone);
  EXPECT_EQ(row_of("java", "libj9vm29.so"), Row::kNone);
  EXPECT_EQ(row_of("node", "libc.so.6"), Row::kNode);
  EXPECT_EQ(row_of("nodejs", "libc.so.6"), Row::kNode);
  EXPECT_EQ(row_of("node_exporter", "libc.so.6"), Row::kOther);
  EXPECT_EQ(row_of(""), Row::kNone) << "a process that ended";
}

// A process without the sanitizers' shadow memory, which waits for input and ends with this one.
class Cat {
 public:
  Cat() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], 0);
      ::dup2(ends[1], 1);
      ::execl("/bin/cat", "cat", nullptr);
      ::_exit(1);
    }
    ::close(ends[1]);
    socket_ = UniqueFd(ends[0]);
    char byte = 'x';
    is_ready_ = ::write(socket_.get(), &byte, 1) == 1 && ::read(socket_.get(), &byte, 1) == 1;
  }
  ~Cat() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Cat(const Cat&) = delete;
  Cat& operator=(const Cat&) = delete;
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

 private:
  int pid_ = -1;
  UniqueFd socket_;
  bool is_ready_ = false;
};

// An empty answer fails the test.
AnalysisAnswer answer_of(std::size_t row, int pid) {
  const auto files = ProcessFiles::open("/proc", {pid, 0});
  EXPECT_TRUE(files) << files.error().message;
  if (!files) return {};
  auto answer = analyse_heap(row, *files, nullptr, nullptr, SystemClock().now() + std::chrono::seconds(60));
  EXPECT_TRUE(answer) << answer.error().detail;
  if (!answer) return {};
  EXPECT_TRUE(*answer) << "not recognised";
  return *answer ? std::move(**answer) : AnalysisAnswer{};
}

std::size_t row_for(RuntimeKind of) {
  return static_cast<std::size_t>(std::ranges::find(heap_analyses(), of, &HeapAnalysis::of) - heap_analyses().begin());
}

TEST(MemoryAnalysis, parts_of_a_living_program_are_read_by_the_row_for_any) {
  const Cat cat;
  ASSERT_TRUE(cat.is_ready());
  AnalysisAnswer answer = answer_of(row_for(RuntimeKind::kNative), cat.pid());
  const HeapAnalysed& heap = answer.heap;
  EXPECT_TRUE(std::ranges::any_of(heap.parts, [](const MemoryShare& part) { return part.name == "malloc: in use"; }));
  EXPECT_TRUE(std::ranges::none_of(heap.fillers, [](const HeapFiller& one) { return one.kind == "holder"; }));
  ASSERT_EQ(heap.files.size(), 1u);
  EXPECT_EQ(heap.files[0].name, "contents.pb.gz");
  const auto contents = pprof::read(answer.files[0]->read(1u << 20).value_or(""));
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  EXPECT_GT(contents->total(contents->type_index("contents")), 0);
}

// Not of what was read to find it, nor of the types that are listed.
TEST(MemoryAnalysis, the_share_of_a_type_or_holder_is_of_all_of_the_processs_memory) {
  const std::string python = test::python_interpreter("3");
  if (python.empty()) GTEST_SKIP() << "no Python here";
  const test::StartedProgram program(
      {python, "-c",
       "import time; LOG = ['line %d' % i for i in range(50000)]; print('ready', flush=True); time.sleep(600)"});
  ASSERT_TRUE(program.is_ready());
  const HeapAnalysed heap = answer_of(row_for(RuntimeKind::kCpython), program.pid()).heap;
  std::uint64_t whole = 0;
  for (const MemoryShare& part : heap.parts) whole += part.bytes;
  ASSERT_FALSE(heap.fillers.empty());
  for (const HeapFiller& one : heap.fillers) {
    EXPECT_NEAR(one.share, static_cast<double>(one.bytes) / static_cast<double>(whole), 0.001) << one.name;
  }
}

// Pools, regions and pages; chains and references have no parts that stand for themselves.
TEST(MemoryAnalysis, python_java_and_node_are_read_in_part_where_there_is_no_time_for_all) {
  std::vector<RuntimeKind> sampled;
  for (const HeapAnalysis& row : heap_analyses()) {
    if (row.can_sample) sampled.push_back(row.of);
  }
  EXPECT_THAT(sampled, ::testing::ElementsAre(RuntimeKind::kCpython, RuntimeKind::kJvm, RuntimeKind::kV8));
}

TEST(MemoryAnalysis, the_composition_alone_has_parts_and_says_why_nothing_else) {
  const Cat cat;
  ASSERT_TRUE(cat.is_ready());
  const HeapAnalysed heap = answer_of(kCompositionRow, cat.pid()).heap;
  EXPECT_FALSE(heap.parts.empty());
  EXPECT_TRUE(heap.fillers.empty());
  EXPECT_TRUE(std::ranges::none_of(heap.parts, [](const MemoryShare& part) { return part.name == "malloc: in use"; }));
  EXPECT_THAT(heap.notes, ::testing::Contains(::testing::HasSubstr("the limit was too near for more")));
}

}  // namespace
}  // namespace oomw
