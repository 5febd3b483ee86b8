// SPDX-License-Identifier: Apache-2.0
// Programs without heap profiles as a Runtime; tests/living/test_contents_trend.py reads real ones.
#include "analyses/contents_runtime.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/analyses/contents_story.h"
#include "unit/trends/stepping_clock.h"

namespace oomw {
namespace {

using std::chrono::seconds;
using test::analysed_contents;
using test::kMiB;
using testing::ElementsAre;
using testing::SizeIs;

class ContentsRuntimeTest : public testing::Test {
 protected:
  [[nodiscard]] ContentsRuntime made(std::uint64_t least_bytes = 0) {
    return {clock_, nullptr, nullptr, {.least_bytes = least_bytes}, [this] { return is_busy_; }};
  }
  [[nodiscard]] CaptureReason why_not(ContentsRuntime& runtime) {
    return runtime.read(self_, clock_.now() + seconds(60)).failure.reason;
  }

  test::SteppingClock clock_;
  bool is_busy_ = true;  // so that nothing is read
  const ProcessKey self_{::getpid(), 0};
};

TEST_F(ContentsRuntimeTest, a_name_is_the_same_site_in_each_reading) {
  const ContentsProcess process({7, 1}, {});
  const HeapReading first = process.reading_of(analysed_contents({{"dict", 4}, {"list of dict as LOG", 9}}, 20, {}));
  const HeapReading second = process.reading_of(analysed_contents({{"str", 7}, {"dict", 5}}, 30, {}));
  ASSERT_THAT(first.holdings, SizeIs(2));
  ASSERT_THAT(second.holdings, SizeIs(2));
  EXPECT_EQ(first.pcs_of(first.holdings[1])[0], second.pcs_of(second.holdings[1])[0]);
  EXPECT_EQ(first.whole_bytes, 20 * kMiB) << "not the sum of what overlaps";
  EXPECT_EQ(first.unlisted_bytes, 4 * kMiB);
  EXPECT_EQ(second.holdings[1].held.bytes, static_cast<std::int64_t>(5 * kMiB));
  const auto names = process.names(clock_, {});
  EXPECT_THAT(names->lines_of(first.pcs_of(first.holdings[0])), ElementsAre("list of dict", "held as `LOG`"));
  EXPECT_TRUE(names->profile_of(first, {}, {}).samples.empty());
}

TEST_F(ContentsRuntimeTest, names_of_a_process_that_invents_new_ones_take_no_more_than_their_share) {
  const ContentsProcess process({7, 1}, {});
  std::size_t kept = 0;
  for (int i = 0; i < 500; ++i) {
    kept +=
        process.reading_of(analysed_contents({{std::string(100, 'x') + std::to_string(i), 1}}, 2, {})).holdings.size();
  }
  EXPECT_LT(kept, ContentsProcess::kMaxNameBytes / 100);
  EXPECT_GT(kept, 50u);
}

TEST_F(ContentsRuntimeTest, what_is_small_is_not_worth_a_reading) {
  auto runtime = made(std::uint64_t{1} << 50);
  runtime.set_processes({self_});
  EXPECT_EQ(why_not(runtime), CaptureReason::kBudget);
}

TEST_F(ContentsRuntimeTest, a_small_part_of_its_container_is_not_worth_a_reading) {
  is_busy_ = false;
  auto runtime = made();
  runtime.set_processes({self_});
  runtime.note_memory(self_, {std::uint64_t{1} << 50, std::uint64_t{1} << 52});
  EXPECT_EQ(why_not(runtime), CaptureReason::kBudget);
}

TEST_F(ContentsRuntimeTest, nothing_is_read_while_something_more_urgent_waits) {
  auto runtime = made();
  runtime.set_processes({self_});
  EXPECT_EQ(why_not(runtime), CaptureReason::kBusy);
}

TEST_F(ContentsRuntimeTest, at_its_limit_the_last_analysis_of_its_captures_reads_it) {
  is_busy_ = false;
  auto runtime = made();
  runtime.set_processes({self_});
  runtime.note_memory(self_, {92, 100});
  EXPECT_NE(why_not(runtime), CaptureReason::kHeadroom) << "it may take hours from there";
  runtime.note_memory(self_, {93, 100});
  EXPECT_EQ(why_not(runtime), CaptureReason::kHeadroom);
}

TEST_F(ContentsRuntimeTest, what_reaches_its_limit_before_a_reading_could_end_is_not_read) {
  is_busy_ = false;
  auto runtime = made();
  runtime.set_processes({self_});
  runtime.note_memory(self_, {1, 1000});
  clock_.advance(std::chrono::milliseconds(1));
  runtime.note_memory(self_, {501, 1000});
  EXPECT_EQ(why_not(runtime), CaptureReason::kHeadroom);
}

TEST_F(ContentsRuntimeTest, only_a_listed_process_is_read_and_one_that_is_gone_stays_known_for_a_while) {
  auto runtime = made();
  EXPECT_EQ(why_not(runtime), CaptureReason::kGone);
  runtime.set_processes({self_});
  EXPECT_THAT(runtime.readable(), SizeIs(1));
  runtime.forget(self_);
  EXPECT_THAT(runtime.readable(), SizeIs(0));
  EXPECT_NE(runtime.process(self_), nullptr) << "its incident is still to come";
  runtime.set_processes({});
  EXPECT_NE(runtime.process(self_), nullptr);
  clock_.advance(ContentsRuntime::kGrace + seconds(1));
  runtime.set_processes({});
  EXPECT_EQ(runtime.process(self_), nullptr);
}

TEST_F(ContentsRuntimeTest, an_analysis_for_a_capture_is_a_reading_if_it_names_anything) {
  auto runtime = made();
  runtime.set_processes({self_});
  HeapAnalysed analysed = analysed_contents({{"dict", 4}}, 20, {});
  EXPECT_FALSE(runtime.reading_of(analysed)) << "of a process that is not listed";
  analysed.process = self_;
  EXPECT_TRUE(runtime.reading_of(analysed));
  analysed.sampled_ratio = 0.25;
  EXPECT_FALSE(runtime.reading_of(analysed)) << "an estimate";
  analysed.sampled_ratio.reset();
  analysed.of = RuntimeKind::kGo;
  EXPECT_FALSE(runtime.reading_of(analysed));
  analysed.of = RuntimeKind::kNative;
  analysed.fillers.front().bytes = 0;
  EXPECT_FALSE(runtime.reading_of(analysed)) << "a count of entries alone";
  analysed.fillers.clear();
  EXPECT_FALSE(runtime.reading_of(analysed)) << "its composition alone";
}

}  // namespace
}  // namespace oomw
