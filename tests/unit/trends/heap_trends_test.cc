// SPDX-License-Identifier: Apache-2.0
#include "trends/heap_trends.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "runtimes/go/go_registry.h"
#include "unit/base/temporary_directory.h"
#include "unit/runtimes/go/go_program.h"
#include "unit/trends/stepping_clock.h"

namespace oomw {
namespace {

using test::SteppingClock;

class HeapTrendsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto program = go::test::go_program("1.19", "strip");
    if (program.path.empty()) GTEST_SKIP() << program.reason;
    process_ = std::make_unique<go::test::GoProcess>(program.path, "1");
    for (const char* command : {"nogc", "leak 4", "gc"}) process_->ask(command);
    loop_ = std::move(*EventLoop::make());
    const auto added = registry_.add({process_->pid(), 0});
    ASSERT_TRUE(added.has_value() && *added != nullptr);
    key_ = (*added)->key;
    trends_ = std::make_unique<HeapTrends>(
        *loop_, registry_, clock_, memory_, TrendConfig{},
        [this](ProcessKey) {
          return ContainerMemory{used_bytes_, 1000};
        },
        [this](const TrendJudged& judged) {
          judged_.push_back(judged);
          loop_->stop();
        });
  }
  // So many readings, a minute and a collection apart.
  void read(int readings) {
    for (int i = 0; i < readings; ++i) {
      for (const char* command : {"leak 4", "gc"}) process_->ask(command);
      clock_.advance(std::chrono::minutes(1));
      const HeapRead read = registry_.read(key_, clock_.now() + std::chrono::seconds(60));
      ASSERT_TRUE(read.reading.has_value()) << to_string(read.failure.reason);
      trends_->add(*read.process, *read.reading, ReadingOrigin::kWatermark);
    }
  }
  [[nodiscard]] std::uint64_t looks() const {
    std::uint64_t sum = 0;
    for (const auto& [result, count] : trends_->metrics().readings) sum += count;
    return sum;
  }
  // Ticks, and waits until so many looks have been counted.
  void tick_until(std::uint64_t wanted) {
    trends_->tick(false);
    const WatchId stop = loop_->add_periodic(std::chrono::milliseconds(1), [this, wanted] {
      if (looks() >= wanted) loop_->stop();
    });
    loop_->run();
    loop_->remove(stop);
  }

  void run_until_judged(std::size_t wanted) {
    bool is_late = false;
    const WatchId late = loop_->add_once(std::chrono::seconds(60), [this, &is_late] {
      is_late = true;
      loop_->stop();
    });
    while (judged_.size() < wanted && !is_late) loop_->run();
    if (!is_late) loop_->remove(late);
    ASSERT_EQ(judged_.size(), wanted);
  }

  SteppingClock clock_;
  GoRegistry registry_{clock_, {}, {}};
  MemoryBudget memory_{80u << 20};
  std::uint64_t used_bytes_ = 100;
  ProcessKey key_;
  std::unique_ptr<go::test::GoProcess> process_;
  std::unique_ptr<EventLoop> loop_;
  std::vector<TrendJudged> judged_;
  std::unique_ptr<HeapTrends> trends_;  // last: its worker is joined first
};

TEST_F(HeapTrendsTest, a_look_is_brought_forward_and_counted_once_its_limit_is_near) {
  trends_->tick(false);  // the first look is spread over 10 s
  clock_.advance(std::chrono::minutes(10));
  tick_until(1);
  EXPECT_EQ(trends_->metrics().readings["ok"], 1u);
  clock_.advance(std::chrono::seconds(5));
  trends_->tick(false);
  EXPECT_EQ(trends_->metrics().brought_forward, 0u);
  EXPECT_EQ(looks(), 1u) << "at its age once a minute";
  used_bytes_ = 900;
  tick_until(2);
  EXPECT_EQ(trends_->metrics().brought_forward, 1u);
  EXPECT_EQ(trends_->metrics().readings["no_gc"], 1u) << "nothing was collected meanwhile";
}

TEST_F(HeapTrendsTest, at_a_kill_its_trend_is_told_before_anything_is_written) {
  read(5);
  trends_->judge_at_kill(key_);
  ASSERT_NO_FATAL_FAILURE(run_until_judged(1));
  EXPECT_EQ(judged_[0].process, key_);
  ASSERT_EQ(judged_[0].points.size(), 5u);
  EXPECT_EQ(judged_[0].points[4].file, "");
  ASSERT_FALSE(judged_[0].sites.empty());
  EXPECT_TRUE(judged_[0].sites[0].frames.at(0).starts_with("main.leak ")) << judged_[0].sites[0].frames[0];

  const test::TemporaryDirectory directory;
  trends_->write_evidence(key_, directory.path());
  ASSERT_NO_FATAL_FAILURE(run_until_judged(2));
  EXPECT_EQ(judged_[1].whole, judged_[0].whole);
  EXPECT_EQ(judged_[1].points[4].file, "trend-03.pb.gz");
}

TEST_F(HeapTrendsTest, who_was_hardly_read_or_is_unknown_is_not_judged_at_its_kill) {
  read(2);
  trends_->judge_at_kill(key_);
  trends_->judge_at_kill({1, 1});
  trends_->stop_reading();  // what waits is done
  ASSERT_TRUE(loop_->post([this] { loop_->stop(); }));
  loop_->run();
  EXPECT_TRUE(judged_.empty());
}

}  // namespace
}  // namespace oomw
