// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_trends.h"

#include <atomic>
#include <future>

#include <gtest/gtest.h>

#include "captures/go_profile.h"
#include "pprof/codec.h"
#include "unit/daemon/stepping_clock.h"
#include "unit/goruntime/go_program.h"
#include "unit/trends/heap_story.h"

namespace oomw {
namespace {

using goruntime::test::GoProcess;
using test::SteppingClock;

// An endpoint whose heap leaks 64 MiB from one answer to the next.
class LeakingEndpoint final : public CaptureBackend {
 public:
  explicit LeakingEndpoint(const Clock& clock) : clock_(clock) {}
  CaptureOutcome capture(const CaptureRequest& request) override {
    ++asked;
    asked_for = request.targets.at(0).process;
    CaptureOutcome outcome;
    outcome.finished.time = clock_.now();
    outcome.finished.result = is_refusing ? CaptureResult::kFailed : CaptureResult::kOk;
    outcome.finished.reason = is_refusing ? "refused" : "";
    if (is_refusing) return outcome;
    story_.add(1, 64.0 * test::kMiB);
    outcome.profile =
        is_lying ? "no profile"
                 : pprof::write(build_profile(story_.read(), nullptr, {WallTime{}, "", goruntime::GoBinary{}, {}}));
    return outcome;
  }
  void prepare(const CaptureRequest&) override {}
  void forget(ProcessKey) override {}

  std::atomic<int> asked = 0;
  ProcessKey asked_for;
  std::atomic<bool> is_refusing = false, is_lying = false;

 private:
  const Clock& clock_;
  test::HeapStory story_;
};

// A 32-bit Go program stands for those whose memory tells nothing.
class HttpTrendsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto program = goruntime::test::go_program("1.19", "386-strip");
    if (program.path.empty()) GTEST_SKIP() << program.reason;
    process_ = std::make_unique<GoProcess>(program.path, "1");
    if (!process_->is_ready()) GTEST_SKIP() << "this kernel runs no 32-bit programs";
    loop_ = std::move(*EventLoop::make());
    key_ = (*processes_.add({process_->pid(), 0}))->key;
    TrendConfig config;
    config.suspect_after = Nanoseconds(0);
    trends_ = std::make_unique<HeapTrends>(
        *loop_, processes_, clock_, memory_, config, [](ProcessKey) { return std::nullopt; }, HeapTrends::OnJudged());
    workers_ = std::make_unique<WorkerPool>("test", 1, 4);
    http_ = std::make_unique<HttpTrends>(*loop_, processes_, clock_, memory_, endpoint_, *workers_, *trends_,
                                         HttpTrends::Config{std::chrono::minutes(5), std::chrono::seconds(1)},
                                         [this](ProcessKey key) { return target_of(key); });
  }
  std::optional<CaptureTarget> target_of(ProcessKey key) const {
    if (!may_ask_) return std::nullopt;
    return CaptureTarget{key, CgroupId{5}, "go-heap", ""};
  }
  // Until the only worker has done what it was given.
  void drain() {
    std::promise<void> reached;
    ASSERT_TRUE(workers_->post([&reached] { reached.set_value(); }));
    reached.get_future().wait();
  }
  // One tick; waits for its outcome if somebody was asked.
  void tick(bool is_busy = false) {
    const int before = endpoint_.asked;
    const std::uint64_t known = counted();
    http_->tick(is_busy);
    drain();
    if (endpoint_.asked == before) return;
    const WatchId stop = loop_->add_periodic(std::chrono::milliseconds(1), [this, known] {
      if (counted() != known) loop_->stop();
    });
    loop_->run();
    loop_->remove(stop);
  }
  std::uint64_t counted() const {
    std::uint64_t sum = 0;
    for (const auto& [result, count] : trends_->metrics().readings) sum += count;
    return sum;
  }
  std::uint64_t counted(const std::string& result) const {
    const auto readings = trends_->metrics().readings;
    return readings.contains(result) ? readings.at(result) : 0;
  }

  SteppingClock clock_;
  GoProcesses processes_{clock_, {}, {}};
  MemoryBudget memory_{80u << 20};
  LeakingEndpoint endpoint_{clock_};
  std::unique_ptr<GoProcess> process_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<HeapTrends> trends_;
  std::unique_ptr<HttpTrends> http_;
  std::unique_ptr<WorkerPool> workers_;  // last: drained before what its tasks touch
  ProcessKey key_;
  bool may_ask_ = true;
};

TEST_F(HttpTrendsTest, who_cannot_be_read_is_asked_each_interval_and_its_leak_is_found) {
  tick();
  EXPECT_EQ(endpoint_.asked, 0) << "the first round is spread over 10 s";
  clock_.advance(std::chrono::seconds(10));
  for (int i = 0; i < 8; ++i) {
    tick();
    EXPECT_EQ(endpoint_.asked, i + 1);
    tick();
    EXPECT_EQ(endpoint_.asked, i + 1) << "not before its time";
    clock_.advance(std::chrono::minutes(6));
  }
  EXPECT_EQ(endpoint_.asked_for, key_);
  EXPECT_EQ(counted("http_ok"), 8u);
  const auto suspicions = trends_->suspicions();
  ASSERT_TRUE(suspicions.contains(key_));
  EXPECT_TRUE(suspicions.at(key_));
}

TEST_F(HttpTrendsTest, captures_come_first_and_who_is_to_be_left_alone_is) {
  clock_.advance(std::chrono::seconds(1));
  tick();
  clock_.advance(std::chrono::seconds(11));
  tick(true);
  EXPECT_EQ(endpoint_.asked, 0);
  may_ask_ = false;
  tick();
  EXPECT_EQ(endpoint_.asked, 0);
  may_ask_ = true;
  tick();
  EXPECT_EQ(endpoint_.asked, 0) << "its turn has passed";
  clock_.advance(std::chrono::minutes(6));
  tick();
  EXPECT_EQ(endpoint_.asked, 1);
}

TEST_F(HttpTrendsTest, failures_are_counted_by_reason_and_lies_are_no_reading) {
  tick();
  clock_.advance(std::chrono::seconds(11));
  endpoint_.is_refusing = true;
  tick();
  EXPECT_EQ(counted("http_refused"), 1u);
  clock_.advance(std::chrono::minutes(6));
  endpoint_.is_refusing = false;
  endpoint_.is_lying = true;
  tick();
  EXPECT_EQ(counted("http_not_a_profile"), 1u);
  EXPECT_EQ(counted("http_ok"), 0u);
}

TEST_F(HttpTrendsTest, who_has_gone_is_not_asked) {
  tick();
  processes_.forget(key_);
  clock_.advance(std::chrono::seconds(11));
  tick();
  EXPECT_EQ(endpoint_.asked, 0);
}

}  // namespace
}  // namespace oomw
