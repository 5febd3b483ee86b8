// SPDX-License-Identifier: Apache-2.0
#include "captures/capture_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <set>
#include <thread>

#include "unit/base/set_clock.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;

constexpr CgroupId kPod{1}, kContainer{2}, kOther{3};

// Answers with what it is given, when it is allowed to.
class FakeBackend final : public CaptureBackend {
 public:
  CaptureOutcome capture(const CaptureRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      captured_.push_back(request);
    }
    gate_.wait();
    CaptureOutcome outcome;
    outcome.finished.capture_id = request.capture_id;
    outcome.finished.cgroup = request.cgroup;
    outcome.finished.method = method;
    outcome.finished.result = CaptureResult::kOk;
    outcome.finished.complete = true;
    outcome.profile = profile;
    return outcome;
  }
  void prepare(const CaptureRequest& request) override {
    const std::lock_guard lock(mutex_);
    prepared_.push_back(request);
  }
  void forget(ProcessKey) override {}

  void close_gate() { gate_ = opener_.get_future().share(); }
  void open_gate() { opener_.set_value(); }
  std::vector<CaptureRequest> captured() const {
    const std::lock_guard lock(mutex_);
    return captured_;
  }
  std::vector<CaptureRequest> prepared() const {
    const std::lock_guard lock(mutex_);
    return prepared_;
  }

  std::string profile = "profile";
  CaptureMethod method = CaptureMethod::kHttp;

 private:
  static std::shared_future<void> open() {
    std::promise<void> ready;
    ready.set_value();
    return ready.get_future().share();
  }
  mutable std::mutex mutex_;
  std::vector<CaptureRequest> captured_, prepared_;
  std::promise<void> opener_;
  std::shared_future<void> gate_ = open();
};

class SchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loop_ = std::move(*EventLoop::make());
    make({});
    model_.apply(CgroupCreated{{1}, kPod, {}, "/pod", true});
    model_.apply(CgroupCreated{{1}, kContainer, kPod, "/pod/c", true});
  }
  void TearDown() override { workers_.reset(); }
  void make(Spool::Limits limits, std::size_t queue = 8, unsigned threads = 1) {
    workers_ = std::make_unique<WorkerPool>("test", threads, queue);
    spool_ = std::make_unique<Spool>(root_ / "spool", limits);
    for (CaptureLane& lane : lanes_) lane.workers = workers_.get();
    scheduler_ = std::make_unique<CaptureScheduler>(*loop_, lanes_, *spool_, clock_, [this](CaptureFinished event) {
      events_.push_back(std::move(event));
      if (events_.size() >= wanted_) loop_->stop();
    });
  }
  void run_until(std::size_t events) {
    wanted_ = events;
    while (events_.size() < wanted_) loop_->run();
  }
  void add_process(std::int32_t pid, CgroupId cgroup, std::int32_t adj = 0) {
    ProcessSeen seen;
    seen.process = {pid, static_cast<std::uint64_t>(pid) * 10};
    seen.cgroup = cgroup;
    seen.comm = "p" + std::to_string(pid);
    seen.oom_score_adj = adj;
    model_.apply(seen);
  }
  // What runs in this cgroup is the pod's, which says that.
  void tell_pod(CgroupId cgroup, const std::string& uid, std::map<std::string, std::string> annotations) {
    ContainerIdentity identity;
    identity.id = "run-" + uid;
    identity.pod_uid = uid;
    model_.apply(ContainerIdentified{{1}, cgroup, identity, true});
    PodSeen pod;
    pod.uid = uid;
    pod.name = uid;
    pod.annotations = std::move(annotations);
    model_.apply(pod);
  }
  void decide(TriggerAction action, CgroupId cgroup = kContainer, std::int32_t pid = 40, CgroupId leaf = kContainer) {
    WatermarkCrossed crossing;
    crossing.cgroup = cgroup;
    crossing.leaf_cgroup = leaf;
    crossing.usage_bytes = 90;
    crossing.limit_bytes = 100;
    crossing.pid = pid;
    const CaptureReason reason = action == TriggerAction::kSkip ? CaptureReason::kPageCache : CaptureReason::kNone;
    scheduler_->on_decision({action, CaptureTrigger::watermark(90), reason, may_allocate_}, crossing, model_);
  }
  std::vector<std::int32_t> target_pids() const {
    std::vector<std::int32_t> pids;
    const CaptureRequest request = backend_.captured().at(0);
    for (const auto& target : request.targets) pids.push_back(target.process.pid);
    return pids;
  }

  const test::TemporaryDirectory root_;
  // Stands still: on a busy machine 250 ms (kMaxWait) go by between any two lines of a test.
  test::SetClock clock_;
  MemoryModel model_;
  FakeBackend backend_, live_backend_;
  std::vector<CaptureLane> lanes_{{CaptureMethod::kHttp, &backend_, nullptr, std::chrono::seconds(5)}};
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<CaptureScheduler> scheduler_;
  std::vector<CaptureFinished> events_;
  std::size_t wanted_ = 1;
  bool may_allocate_ = true;
};

TEST_F(SchedulerTest, a_capture_is_on_disk_when_its_event_arrives) {
  decide(TriggerAction::kCapture);
  run_until(1);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].result, CaptureResult::kOk);
  EXPECT_EQ(events_[0].spool_file, "1-http.pb.gz");
  EXPECT_TRUE(std::filesystem::exists(root_ / "spool/1-http.pb.gz"));
  EXPECT_EQ(scheduler_->in_flight(), 0u);
}

TEST_F(SchedulerTest, the_request_carries_the_crossing) {
  decide(TriggerAction::kCapture);
  run_until(1);
  const auto request = backend_.captured().at(0);
  EXPECT_EQ(request.trigger, CaptureTrigger::watermark(90));
  EXPECT_EQ(request.usage_bytes, 90u);
  EXPECT_EQ(request.limit_bytes, 100u);
  EXPECT_GE(request.deadline - request.requested, std::chrono::seconds(5));
}

TEST_F(SchedulerTest, a_second_decision_for_a_busy_cgroup_waits_for_the_first) {
  backend_.close_gate();
  decide(TriggerAction::kCapture);
  decide(TriggerAction::kCapture);
  EXPECT_TRUE(events_.empty());
  backend_.open_gate();
  run_until(2);
  EXPECT_EQ(events_[0].result, CaptureResult::kOk);
  EXPECT_EQ(events_[1].result, CaptureResult::kOk);
  EXPECT_LT(events_[0].capture_id, events_[1].capture_id);
  EXPECT_EQ(scheduler_->in_flight(), 0u);
}

TEST_F(SchedulerTest, a_waiting_decision_that_is_overtaken_is_skipped) {
  backend_.close_gate();
  decide(TriggerAction::kCapture);
  decide(TriggerAction::kCapture);
  decide(TriggerAction::kCapture);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].result, CaptureResult::kSkipped);
  EXPECT_EQ(events_[0].reason, CaptureReason::kBusy);
  EXPECT_EQ(events_[0].capture_id, 2u);
  backend_.open_gate();
  run_until(3);
  EXPECT_EQ(events_[2].capture_id, 3u);
}

TEST_F(SchedulerTest, a_decision_that_waited_too_long_is_skipped) {
  backend_.close_gate();
  decide(TriggerAction::kCapture);
  decide(TriggerAction::kCapture);
  clock_.advance(CaptureScheduler::kMaxWait + std::chrono::milliseconds(10));
  backend_.open_gate();
  run_until(2);
  EXPECT_EQ(events_[0].reason, CaptureReason::kBusy);
  EXPECT_EQ(events_[1].result, CaptureResult::kOk);
}

TEST_F(SchedulerTest, another_decision_after_the_first_has_finished_is_taken) {
  decide(TriggerAction::kCapture);
  run_until(1);
  decide(TriggerAction::kCapture);
  run_until(2);
  EXPECT_EQ(events_[1].result, CaptureResult::kOk);
  EXPECT_NE(events_[0].capture_id, events_[1].capture_id);
}

TEST_F(SchedulerTest, a_container_without_a_place_to_wait_is_skipped_and_its_cgroup_left_free) {
  backend_.close_gate();
  decide(TriggerAction::kCapture, kContainer);
  for (std::uint64_t id = 10; id < 10 + FairQueue::kMaxWaitingOfOne; ++id) decide(TriggerAction::kCapture, {id});
  EXPECT_TRUE(events_.empty());
  decide(TriggerAction::kCapture, kPod);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].reason, CaptureReason::kQueueFull);
  EXPECT_EQ(scheduler_->in_flight(), 1 + FairQueue::kMaxWaitingOfOne);
  backend_.open_gate();
  run_until(2 + FairQueue::kMaxWaitingOfOne);
  ShareExcesses excesses;
  scheduler_->add_excesses(excesses);
  EXPECT_EQ(excesses[ShareKind::kCaptures].count, 1u);
}

TEST_F(SchedulerTest, a_slow_container_holds_one_worker_and_the_neighbour_is_captured_beside_it) {
  lanes_[0].slots = 2;
  make({}, 8, 2);
  model_.apply(CgroupCreated{{1}, kOther, {}, "/other", true});
  backend_.close_gate();
  decide(TriggerAction::kCapture, kContainer);
  decide(TriggerAction::kCapture, kPod);  // the same container's, at its pod's limit
  while (backend_.captured().empty()) std::this_thread::yield();
  decide(TriggerAction::kCapture, kOther, 50, kOther);
  while (backend_.captured().size() < 2) std::this_thread::yield();
  EXPECT_EQ(backend_.captured()[1].cgroup, kOther);
  backend_.open_gate();
  run_until(3);
}

TEST_F(SchedulerTest, a_container_over_its_seconds_is_skipped_for_a_while) {
  backend_.close_gate();
  decide(TriggerAction::kCapture);
  while (backend_.captured().empty()) std::this_thread::yield();
  clock_.advance(std::chrono::seconds(7));
  backend_.open_gate();
  run_until(1);
  decide(TriggerAction::kCapture);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].result, CaptureResult::kSkipped);
  EXPECT_EQ(events_[1].reason, CaptureReason::kBudget);
  EXPECT_EQ(scheduler_->in_flight(), 0u);
  decide(TriggerAction::kCapture, kOther, 50, kOther);
  run_until(3);
  EXPECT_EQ(events_[2].result, CaptureResult::kOk) << "the neighbour's";
  clock_.advance(CostShare::kRest);
  decide(TriggerAction::kCapture);
  run_until(4);
  EXPECT_EQ(events_[3].result, CaptureResult::kOk);
}

TEST_F(SchedulerTest, a_preparation_is_dropped_while_its_container_has_something_under_way) {
  backend_.close_gate();
  decide(TriggerAction::kCapture);
  decide(TriggerAction::kPrepare);
  backend_.open_gate();
  run_until(1);
  workers_.reset();
  EXPECT_TRUE(backend_.prepared().empty());
}

TEST_F(SchedulerTest, a_skip_is_one_event_with_the_policys_reason) {
  decide(TriggerAction::kSkip);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].result, CaptureResult::kSkipped);
  EXPECT_EQ(events_[0].reason, CaptureReason::kPageCache);
  EXPECT_EQ(events_[0].usage_bytes, 90u);
}

TEST_F(SchedulerTest, prepare_asks_the_backend_and_makes_no_event) {
  decide(TriggerAction::kPrepare);
  workers_.reset();  // drained
  EXPECT_EQ(backend_.prepared().size(), 1u);
  EXPECT_TRUE(events_.empty());
}

TEST_F(SchedulerTest, the_crossing_process_comes_first_then_its_cgroup_then_the_likely_victim) {
  add_process(10, kPod);
  add_process(20, kContainer);
  add_process(30, kContainer, 500);
  add_process(40, kContainer);
  decide(TriggerAction::kCapture, kPod, 40);
  run_until(1);
  EXPECT_THAT(target_pids(), ElementsAre(40, 30, 20, 10));
}

TEST_F(SchedulerTest, a_crossing_process_the_model_never_saw_is_a_target_all_the_same) {
  add_process(10, kContainer);
  decide(TriggerAction::kCapture, kContainer, 99);
  run_until(1);
  EXPECT_THAT(target_pids(), ElementsAre(99, 10));
}

TEST_F(SchedulerTest, at_most_eight_targets) {
  for (std::int32_t pid = 1; pid <= 20; ++pid) add_process(pid, kContainer);
  decide(TriggerAction::kCapture, kContainer, 15);
  run_until(1);
  EXPECT_EQ(target_pids().size(), 8u);
  EXPECT_EQ(target_pids().front(), 15);
}

TEST_F(SchedulerTest, a_profile_that_nobody_can_keep_is_a_failed_capture) {
  std::filesystem::remove_all(root_ / "spool");
  { std::fclose(std::fopen((root_ / "spool").c_str(), "w")); }  // a file in the directory's place
  make({.memory_bytes = 3});
  decide(TriggerAction::kCapture);
  run_until(1);
  EXPECT_EQ(events_[0].result, CaptureResult::kFailed);
  EXPECT_EQ(events_[0].reason, CaptureReason::kNoSpace);
  EXPECT_EQ(events_[0].spool_file, "");
  EXPECT_FALSE(events_[0].complete);
}

class TwoLanesTest : public SchedulerTest {
 protected:
  void SetUp() override {
    live_backend_.method = CaptureMethod::kLive;
    lanes_.insert(lanes_.begin(), {CaptureMethod::kLive, &live_backend_, nullptr, std::chrono::seconds(1)});
    SchedulerTest::SetUp();
  }
};

TEST_F(TwoLanesTest, a_decision_asks_every_method_the_best_first) {
  decide(TriggerAction::kCapture);
  run_until(2);
  EXPECT_EQ(events_[0].method, CaptureMethod::kLive);
  EXPECT_EQ(events_[1].method, CaptureMethod::kHttp);
  EXPECT_NE(events_[0].capture_id, events_[1].capture_id);
  EXPECT_EQ(events_[0].spool_file, "1-live.pb.gz");
}

TEST_F(TwoLanesTest, a_decision_that_may_not_allocate_skips_http_only) {
  may_allocate_ = false;
  decide(TriggerAction::kCapture);
  run_until(2);
  EXPECT_EQ(events_[0].method, CaptureMethod::kHttp);
  EXPECT_EQ(events_[0].reason, CaptureReason::kHeadroom);
  EXPECT_EQ(events_[1].method, CaptureMethod::kLive);
  EXPECT_EQ(events_[1].result, CaptureResult::kOk);
}

TEST_F(TwoLanesTest, a_slow_method_does_not_make_the_other_busy) {
  backend_.close_gate();
  decide(TriggerAction::kCapture);
  decide(TriggerAction::kCapture);
  EXPECT_EQ(scheduler_->in_flight(), 2u);
  backend_.open_gate();
  run_until(4);
  EXPECT_EQ(scheduler_->in_flight(), 0u);
}

TEST_F(SchedulerTest, a_target_brings_the_port_that_its_pod_names) {
  add_process(40, kContainer);
  tell_pod(kContainer, "u", {{"oomwitness.io/pprof-port", "6061"}});
  decide(TriggerAction::kCapture);
  run_until(1);
  EXPECT_EQ(backend_.captured().at(0).targets.at(0).annotated_port, 6061);
}

TEST_F(SchedulerTest, under_a_limit_of_several_pods_those_that_opted_out_are_left_alone) {
  model_.apply(CgroupCreated{{1}, kOther, kPod, "/pod/other", true});
  add_process(40, kContainer);
  add_process(50, kOther, 1000);
  tell_pod(kContainer, "asks", {});
  tell_pod(kOther, "silent", {{"oomwitness.io/capture", "false"}});
  decide(TriggerAction::kCapture, kPod);
  run_until(1);
  EXPECT_THAT(target_pids(), ElementsAre(40));
}

TEST_F(SchedulerTest, with_opt_in_a_process_not_known_yet_is_asked_only_in_a_pod_that_said_so) {
  scheduler_ = std::make_unique<CaptureScheduler>(
      *loop_, lanes_, *spool_, clock_,
      [this](CaptureFinished event) { events_.push_back(std::move(event)), loop_->stop(); },
      /*is_opt_in=*/true);
  tell_pod(kContainer, "u", {});
  decide(TriggerAction::kCapture);
  run_until(1);
  tell_pod(kContainer, "u", {{"oomwitness.io/capture", "true"}});
  decide(TriggerAction::kCapture);
  run_until(2);
  ASSERT_EQ(backend_.captured().size(), 2u);
  EXPECT_TRUE(backend_.captured()[0].targets.empty());
  EXPECT_EQ(backend_.captured()[1].targets.size(), 1u);
}

TEST_F(SchedulerTest, evidence_from_elsewhere_is_stored_and_delivered_alike) {
  WorkerPool other("other", 1, 1);
  const auto take = [] {
    CaptureOutcome outcome;
    outcome.finished.method = CaptureMethod::kAtKill;
    outcome.finished.result = CaptureResult::kOk;
    outcome.profile = "walk";
    return outcome;
  };
  ASSERT_TRUE(scheduler_->run_on(other, {}, take));
  run_until(1);
  EXPECT_EQ(events_[0].spool_file, "1-at_kill.pb.gz");
  EXPECT_EQ(events_[0].capture_id, 1u);
}

// Many Go programs of a container killed at once: each walk that has a place is one event, and who is refused hears of
// it.
TEST_F(SchedulerTest, walks_of_a_storm_are_one_event_each_or_refused) {
  constexpr std::size_t kVictims = CaptureScheduler::kMaxWalksOfOne + 10;
  std::promise<void> opener;
  const std::shared_future<void> gate = opener.get_future().share();
  WorkerPool walkers("walkers", 1, 8);
  std::size_t taken = 0;
  for (std::int32_t pid = 1; pid <= static_cast<std::int32_t>(kVictims); ++pid) {
    taken += scheduler_->run_on(walkers, {}, [gate, pid] {
      gate.wait();
      CaptureOutcome outcome;
      outcome.finished.method = CaptureMethod::kAtKill;
      outcome.finished.process = {pid, 1};
      outcome.finished.reason = CaptureReason::kFault;
      return outcome;
    });
  }
  EXPECT_EQ(taken, CaptureScheduler::kMaxWalksOfOne + 1) << "one is with the worker";
  opener.set_value();
  run_until(taken);
  std::set<std::int32_t> pids;
  std::set<std::uint64_t> ids;
  for (const CaptureFinished& event : events_) {
    pids.insert(event.process.pid);
    ids.insert(event.capture_id);
  }
  EXPECT_EQ(events_.size(), taken);
  EXPECT_EQ(pids.size(), taken);
  EXPECT_EQ(ids.size(), taken);
}

TEST_F(SchedulerTest, a_neighbours_walk_does_not_wait_for_all_those_of_a_crash_loop) {
  std::promise<void> opener;
  const std::shared_future<void> gate = opener.get_future().share();
  WorkerPool walkers("walkers", 1, 8);
  const auto take = [this, gate](std::int32_t pid) {
    return [this, gate, pid] {
      gate.wait();
      if (pid == 1) clock_.advance(std::chrono::milliseconds(600));  // the first one took long
      CaptureOutcome outcome;
      outcome.finished.method = CaptureMethod::kAtKill;
      outcome.finished.process = {pid, 1};
      return outcome;
    };
  };
  for (std::int32_t pid = 1; pid <= 20; ++pid) ASSERT_TRUE(scheduler_->run_on(walkers, {"crash loop", ""}, take(pid)));
  ASSERT_TRUE(scheduler_->run_on(walkers, {"neighbour", ""}, take(99)));
  opener.set_value();
  run_until(21);
  EXPECT_EQ(events_[0].process.pid, 1);
  EXPECT_EQ(events_[1].process.pid, 99);
}

}  // namespace
}  // namespace oomw
