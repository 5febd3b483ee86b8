// SPDX-License-Identifier: Apache-2.0
// A whole analysis of a living process, without the sandbox; tests/living/test_holders.py has it with the sandbox.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyses/analysis_job.h"
#include "base/clock.h"
#include "unit/runtimes/go/go_program.h"

namespace oomw {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr std::size_t kGoRow = 0;

// tests/workloads/go-holders with 24 MB in one known place.
class Held {
 public:
  Held(const std::string& path, const char* mode) : process_(start(path, mode)) {}
  [[nodiscard]] Result<ProcessFiles> open() const { return ProcessFiles::open("/proc", {process_.pid(), 0}); }
  [[nodiscard]] bool is_ready() const { return process_.is_ready(); }

 private:
  static const std::string& start(const std::string& path, const char* mode) {
    ::setenv("HOLD", mode, 1);
    return path;
  }
  go::test::GoProcess process_;
};

MonotonicTime soon() { return SystemClock().now() + std::chrono::seconds(60); }

TEST(AnalyseHeap, go_program_gets_its_owner_goroutines_and_files) {
  const auto program = go::test::go_program("1.19", "strip", "go-holders");
  if (program.path.empty()) GTEST_SKIP() << program.reason;
  const Held held(program.path, "map");
  ASSERT_TRUE(held.is_ready());
  const auto files = held.open();
  ASSERT_TRUE(files) << files.error().message;
  const auto answer = analyse_heap(kGoRow, *files, nullptr, nullptr, soon());
  ASSERT_TRUE(answer) << answer.error().detail;
  ASSERT_TRUE(*answer) << "not recognised";
  const HeapAnalysed& heap = (*answer)->heap;
  ASSERT_FALSE(heap.holders.empty()) << heap.why_no_owner << testing::PrintToString(heap.notes);
  EXPECT_TRUE(heap.holders[0].is_owner) << heap.why_no_owner;
  EXPECT_THAT(heap.holders[0].chain[0], ContainsRegex("^global .*main.remember"));
  EXPECT_GT(heap.goroutine_count, 2u);
  ASSERT_EQ(heap.goroutine_list.size(), 1u) << testing::PrintToString(heap.notes);
  EXPECT_THAT(heap.goroutine_list[0].wait_reasons, testing::Contains("chan receive"));
  ASSERT_EQ(heap.files.size(), 2u);
  EXPECT_EQ(heap.files[0].name, "holders.json");
  EXPECT_THAT((*answer)->files[0]->read(1u << 20).value_or(""), HasSubstr("\"named\": true"));
}

TEST(AnalyseHeap, program_of_another_runtime_is_not_for_the_row) {
  const auto files = ProcessFiles::open("/proc", {::getpid(), 0});
  ASSERT_TRUE(files) << files.error().message;
  const auto answer = analyse_heap(kGoRow, *files, nullptr, nullptr, soon());
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_FALSE(*answer);
}

TEST(AnalyseHeap, process_that_ended_has_no_owner) {
  const auto program = go::test::go_program("1.19", "strip", "go-holders");
  if (program.path.empty()) GTEST_SKIP() << program.reason;
  Result<ProcessFiles> files = fail(ErrorCode::kInternal, "");
  {
    const Held held(program.path, "map");
    ASSERT_TRUE(held.is_ready());
    files = held.open();
    ASSERT_TRUE(files) << files.error().message;
  }
  EXPECT_FALSE(files->is_still_there());
  const auto answer = analyse_heap(kGoRow, *files, nullptr, nullptr, soon());
  const bool names_nobody = !answer || !*answer || (*answer)->heap.holders.empty();
  EXPECT_TRUE(names_nobody);
}

TEST(AnalyseHeap, job_refuses_what_is_no_request) {
  EXPECT_FALSE(analyse_heap_job("", {}));
  EXPECT_FALSE(analyse_heap_job(std::string(24, '\xff'), {}));
}

}  // namespace
}  // namespace oomw
