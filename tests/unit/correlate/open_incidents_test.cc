// SPDX-License-Identifier: Apache-2.0
// No event may cost a walk over all that is open or remembered: counted in incidents looked at.
#include <gtest/gtest.h>

#include <algorithm>

#include "correlate/capture_memory.h"
#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;

constexpr std::uint64_t kContainers = 1'000;
// Those of one owner, of each level above a capture, and one more per look-up by victim.
constexpr std::uint64_t kMostPerEvent = 3 * OpenIncidents::kMaxGiven;

class StormTest : public CorrelatorFixture {
 protected:
  StormTest() : CorrelatorFixture({created(1, 0, "/pods")}) {
    for (std::uint64_t i = 0; i < kContainers; ++i) {
      apply(created(100 + i, 1, "/pods/" + std::to_string(i)));
      apply(killed(pid_of(i), 5, 100 + i, 100 + i, 1000));
    }
    incidents_ = take(1010).size();
  }
  static std::int32_t pid_of(std::uint64_t i) { return static_cast<std::int32_t>(10'000 + i); }
  std::uint64_t looked_at_by(const Event& event) {
    const std::uint64_t before = correlator_.looked_at();
    apply(event);
    return correlator_.looked_at() - before;
  }

  std::size_t incidents_ = 0;
};

TEST_F(StormTest, thousand_kills_at_once_are_a_thousand_incidents) {
  EXPECT_EQ(incidents_, kContainers);
  EXPECT_EQ(correlator_.decisions(), kContainers);
  EXPECT_EQ(correlator_.merged_kills() + correlator_.lost_incidents() + correlator_.closed_early(), 0u);
}

TEST_F(StormTest, event_when_a_thousand_are_open_looks_at_a_few) {
  CaptureFinished capture;
  capture.time = at_ms(1020);
  capture.cgroup = {600};
  capture.process = {pid_of(500), 5};
  MemorySampled detailed = sampled(600, 1020, 20);
  detailed.detailed = true;
  detailed.memory_stat = {{"anon", 1}};
  for (const Event& event : std::initializer_list<Event>{
           capture, detailed, sampled(601, 1020, 20), ReclaimSampled{at_ms(1020), {602}, 1, 1, 1, 1},
           seen(pid_of(7), 5, 107, 1020), identified(603, std::string(64, 'a'), "x"), killed(5, 5, 604, 604, 1020),
           killed(pid_of(9), 0, 109, 109, 1021), exited(pid_of(3), 5, 1020), created(5'000, 1, "/new")}) {
    EXPECT_LE(looked_at_by(event), kMostPerEvent) << "event " << event.index();
  }
}

TEST_F(StormTest, taking_when_nothing_is_due_looks_at_one) {
  const std::uint64_t before = correlator_.looked_at();
  EXPECT_TRUE(correlator_.take_ready(at_ms(1030), model_, 0).empty());
  EXPECT_LE(correlator_.looked_at() - before, 1u);
}

TEST_F(StormTest, kill_of_a_common_owner_looks_at_its_newest_alone) {
  for (int i = 0; i < 500; ++i) {
    EXPECT_LE(looked_at_by(killed(20'000 + i, 5, 100 + static_cast<std::uint64_t>(i), 1, 2000 + 10 * i)),
              OpenIncidents::kMaxGiven);
  }
}

TEST_F(StormTest, everything_is_forgotten_in_the_end) {
  (void)correlator_.take_ready(at_ms(7'000), model_, 0);
  (void)correlator_.take_ready(at_ms(60'000), model_, 0);
  EXPECT_FALSE(correlator_.next_due().has_value());
}

class CaptureMemoryTest : public ::testing::Test {
 protected:
  CaptureMemoryTest() {
    apply_all(model_, {created(1, 0, "/pod"), created(2, 1, "/pod/web"), created(3, 2, "/pod/web/nested"),
                       created(4, 1, "/pod/db"), identified(2, std::string(64, 'a'), "web")});
  }
  void add(std::uint64_t cgroup, std::int32_t pid, std::int64_t ms, CaptureResult result = CaptureResult::kOk) {
    CaptureFinished capture;
    capture.time = at_ms(ms);
    capture.cgroup = {cgroup};
    capture.process = {pid, 5};
    capture.result = result;
    memory_.add(capture, model_);
  }
  std::vector<std::int32_t> pids_about(const OomKill& kill) {
    std::vector<std::int32_t> pids;
    for (const auto* capture : memory_.about(evidence_of(resolved_by_model(kill, model_), model_)))
      pids.push_back(capture->process.pid);
    return pids;
  }

  MemoryModel model_;
  CaptureMemory memory_{std::chrono::minutes(1), 10};
};

TEST_F(CaptureMemoryTest, about_gives_container_owner_and_victim_once_in_order) {
  add(4, 20, 1);  // a neighbour
  add(3, 11, 2);  // inside the container
  add(1, 21, 3);  // at the owner's limit
  add(2, 10, 4);  // the victim in its container
  add(4, 10, 5);  // the victim, seen elsewhere
  EXPECT_EQ(pids_about(killed(10, 5, 2, 1, 10)), (std::vector<std::int32_t>{11, 21, 10, 10}));
}

TEST_F(CaptureMemoryTest, add_when_old_or_too_many_forgets_attempts_first) {
  add(2, 1, 0);
  add(2, 2, 10'000);
  add(2, 3, 61'000);
  EXPECT_EQ(memory_.size(), 2u);
  add(2, 4, 61'000, CaptureResult::kFailed);
  for (std::int32_t pid = 5; pid < 13; ++pid) add(2, pid, 61'000);
  EXPECT_EQ(memory_.size(), 10u);
  const auto kept = pids_about(killed(99, 5, 2, 2, 62'000));
  EXPECT_EQ(kept.front(), 2);
  EXPECT_EQ(std::count(kept.begin(), kept.end(), 4), 0);
}

TEST_F(CaptureMemoryTest, attempts_alike_keep_the_newest) {
  for (int i = 0; i < 5; ++i) add(2, 10, i, CaptureResult::kFailed);
  add(2, 10, 6, CaptureResult::kSkipped);
  EXPECT_EQ(memory_.size(), 2u);
}

}  // namespace
}  // namespace oomw
