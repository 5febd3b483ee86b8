// SPDX-License-Identifier: Apache-2.0
// How analyses of several containers share the workers. This program is its own reader process: run as "reader" it does
// the job below, which lasts as long as the test wants.
#include "analyses/heap_analyses.h"

#include <unistd.h>

#include <optional>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyses/analysis_job.h"
#include "analyses/analysis_wire.h"
#include "reader/child.h"
#include "support/started_program.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using testing::AllOf;
using testing::Each;
using testing::IsEmpty;
using testing::Not;

// Of perl(1) as long as that lives, of any other program at once. It rests meanwhile: readers may take little CPU
// time, and the other one needs what a busy machine leaves.
Result<std::string> job(std::string_view /*parameters*/, std::span<const UniqueFd> files) {
  std::string maps(16u << 10, '\0');
  const ssize_t size = ::pread(files[2].get(), maps.data(), maps.size(), 0);
  maps.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  const auto address = static_cast<off_t>(std::strtoull(maps.c_str(), nullptr, 16));
  char byte = 0;
  while (maps.find("/perl\n") != std::string::npos && ::pread(files[0].get(), &byte, 1, address) == 1) {
    ::usleep(10'000);
  }
  return encode_analysed({});
}

CaptureRequest request_of(const test::StartedProgram& program, std::uint64_t cgroup, ShareOwner owner) {
  CaptureRequest request;
  request.cgroup = CgroupId{cgroup};
  request.targets.emplace_back().process = {program.pid(), 0};
  request.requested = SystemClock().now();
  request.usage_bytes = 80u << 20;
  request.limit_bytes = 100u << 20;
  request.owner = std::move(owner);
  return request;
}

class HeapAnalysesTest : public testing::Test {
 protected:
  // The processes of what was delivered, until the first came: an event for each row of the table.
  std::vector<std::int32_t> first_of(std::optional<test::StartedProgram>& slow, const test::StartedProgram& quick) {
    std::vector<std::int32_t> seen;
    HeapAnalyses analyses(*loop_, *worker_, readers_, spool_, memory_, clock_, "/proc", [&](HeapAnalysed event) {
      seen.push_back(event.process.pid);
      loop_->stop();
    });
    analyses.consider(request_of(*slow, 1, {"container a", ""}), std::nullopt);
    analyses.consider(request_of(quick, 2, {"container b", ""}), std::nullopt);
    (void)loop_->add_once(std::chrono::seconds(60), [this] { loop_->stop(); });
    loop_->run();
    slow.reset();     // which ends its job
    worker_.reset();  // drained before what its tasks touch
    return seen;
  }

  SystemClock clock_;
  const test::TemporaryDirectory directory_;
  std::unique_ptr<EventLoop> loop_ = std::move(*EventLoop::make());
  Spool spool_{directory_.path(), {}};
  MemoryBudget memory_{80u << 20};
  reader::ReaderGroup readers_{clock_, {}, HeapAnalyses::kAtOnce};
  std::unique_ptr<WorkerPool> worker_ = std::make_unique<WorkerPool>("analysis", HeapAnalyses::kAtOnce, 4);
};

// Both say "ready" as what they stay: one that only became it just now, by execve(2), has no mappings yet, is read as
// gone, and nothing comes of it.
TEST_F(HeapAnalysesTest, a_slow_one_holds_up_no_other_container) {
  std::optional<test::StartedProgram> slow;
  slow.emplace(std::vector<std::string>{"/usr/bin/perl", "-e", R"($| = 1; print "ready\n"; sleep 1000)"});
  const test::StartedProgram quick({"/bin/sh", "-c", "echo ready; kill -STOP $$"});
  ASSERT_TRUE(slow->is_ready() && quick.is_ready());
  EXPECT_THAT(first_of(slow, quick), AllOf(Not(IsEmpty()), Each(quick.pid())));
}

}  // namespace
}  // namespace oomw

int main(int argc, char** argv) {
  static constexpr oomw::reader::JobEntry kJobs[] = {{oomw::kAnalyseHeapJob, oomw::job}};
  if (argc > 1 && std::string_view(argv[1]) == "reader") return oomw::reader::run_child(argc, argv, kJobs);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
