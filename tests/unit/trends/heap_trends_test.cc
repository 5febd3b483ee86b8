// SPDX-License-Identifier: Apache-2.0
#include "trends/heap_trends.h"

#include <vector>

#include <gtest/gtest.h>

#include "runtimes/go/go_registry.h"
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
        },
        [](ProcessKey, const std::string& name, const std::string&) -> Result<std::string> { return "kept-" + name; });
  }
  // So many readings, a minute and a collection apart.
  void read(int readings, ReadingOrigin origin = ReadingOrigin::kWatermark) {
    for (int i = 0; i < readings; ++i) {
      for (const char* command : {"leak 4", "gc"}) process_->ask(command);
      clock_.advance(std::chrono::minutes(1));
      const HeapRead read = registry_.read(key_, clock_.now() + std::chrono::seconds(60));
      ASSERT_TRUE(read.reading.has_value()) << to_string(read.failure.reason);
      trends_->add(*read.process, *read.reading, origin);
    }
  }
  [[nodiscard]] std::uint64_t looks() const {
    std::uint64_t sum = 0;
    for (const auto& [result, count] : trends_->metrics().readings) sum += count;
    return sum;
  }
  // Ticks, and waits until so many looks have been counted.
  void tick_until(std::uint64_t wanted, bool is_busy = false) {
    trends_->tick(is_busy);
    const WatchId stop = loop_->add_periodic(std::chrono::milliseconds(1), [this, wanted] {
      if (looks() >= wanted) loop_->stop();
    });
    loop_->run();
    loop_->remove(stop);
  }

  // What waits is done.
  void finish_reading() {
    EXPECT_TRUE(trends_->stop_reading());
    ASSERT_TRUE(loop_->post([this] { loop_->stop(); }));
    loop_->run();
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

TEST_F(HeapTrendsTest, captures_that_never_end_hold_a_reading_up_for_ten_seconds) {
  trends_->tick(false);  // the first look is spread over 10 s
  clock_.advance(std::chrono::minutes(10));
  trends_->tick(true);
  clock_.advance(std::chrono::seconds(9));
  trends_->tick(true);
  EXPECT_EQ(looks(), 0u);
  clock_.advance(std::chrono::seconds(1));
  tick_until(1, true);
  EXPECT_EQ(trends_->metrics().readings["ok"], 1u);
}

TEST_F(HeapTrendsTest, at_a_kill_its_trend_is_judged_at_once_and_once_more_with_its_files) {
  read(5);
  trends_->judge_at_kill(key_, true);
  ASSERT_NO_FATAL_FAILURE(run_until_judged(1));
  EXPECT_EQ(judged_[0].process, key_);
  ASSERT_EQ(judged_[0].points.size(), 5u);
  EXPECT_EQ(judged_[0].points[4].file, "");
  ASSERT_FALSE(judged_[0].sites.empty());
  EXPECT_TRUE(judged_[0].sites[0].frames.at(0).starts_with("main.leak ")) << judged_[0].sites[0].frames[0];

  trends_->on_no_more_readings(key_);
  trends_->on_no_more_readings(key_);  // once is enough
  ASSERT_NO_FATAL_FAILURE(run_until_judged(2));
  EXPECT_EQ(judged_[1].whole, judged_[0].whole);
  EXPECT_EQ(judged_[1].points[4].file, "trend-03.pb.gz");
  EXPECT_EQ(judged_[1].points[4].spool_file, "kept-trend-03.pb.gz");
  EXPECT_EQ(judged_[1].spool_file, "kept-trend.json");
  finish_reading();
  EXPECT_EQ(judged_.size(), 2u);
}

TEST_F(HeapTrendsTest, the_walk_is_a_reading_of_the_evidence_that_it_was_awaited_for) {
  read(4);
  trends_->judge_at_kill(key_, true);
  read(1, ReadingOrigin::kAtKill);
  ASSERT_NO_FATAL_FAILURE(run_until_judged(2));
  ASSERT_EQ(judged_[1].points.size(), 5u);
  EXPECT_EQ(judged_[1].points[4].origin, "at_kill");
  EXPECT_EQ(judged_[1].points[4].file, "trend-03.pb.gz");
}

TEST_F(HeapTrendsTest, without_room_for_its_files_the_walk_is_judged_all_the_same) {
  read(4);
  trends_->judge_at_kill(key_, true);
  ASSERT_NO_FATAL_FAILURE(run_until_judged(1));
  const auto taken = memory_.try_take(80u << 20);
  ASSERT_TRUE(taken.has_value());
  read(1, ReadingOrigin::kAtKill);
  ASSERT_NO_FATAL_FAILURE(run_until_judged(2));
  ASSERT_EQ(judged_[1].points.size(), 5u);
  EXPECT_EQ(judged_[1].points[4].origin, "at_kill");
  EXPECT_EQ(judged_[1].points[4].file, "");
  EXPECT_EQ(judged_[1].spool_file, "");
  EXPECT_EQ(trends_->metrics().dropped["incident"], 1u);
}

TEST_F(HeapTrendsTest, a_victim_that_its_incident_is_not_about_has_no_evidence_of_its_own) {
  read(4);
  trends_->judge_at_kill(key_, false);
  read(1, ReadingOrigin::kAtKill);
  trends_->on_no_more_readings(key_);
  ASSERT_NO_FATAL_FAILURE(run_until_judged(1));
  finish_reading();
  EXPECT_EQ(judged_.size(), 1u);
}

TEST_F(HeapTrendsTest, who_was_hardly_read_or_is_unknown_is_not_judged_at_its_kill) {
  read(2);
  trends_->judge_at_kill(key_, true);
  trends_->judge_at_kill({1, 1}, true);
  finish_reading();
  EXPECT_TRUE(judged_.empty());
}

}  // namespace
}  // namespace oomw
