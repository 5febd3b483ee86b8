// SPDX-License-Identifier: Apache-2.0
#include "model/status_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr MonotonicTime kStart{1'000'000'000'000};
constexpr MonotonicTime kKill{1'100'000'000'000};
constexpr std::int64_t kOffset = 1'795'000'000'000'000'000;
constexpr CgroupId kCgroup{7};

PodSeen make_pod(MonotonicTime time) {
  PodSeen pod;
  pod.time = time;
  pod.uid = "uid";
  pod.name_space = "payments";
  pod.name = "otelcol-7f";
  pod.wall_offset_ns = kOffset;
  PodContainer container;
  container.name = "collector";
  container.id = "run1";
  container.is_running = true;
  pod.containers = {container};
  return pod;
}

// As the kubelet tells of the end of run1: a new run, and seconds cut.
PodSeen make_ended(MonotonicTime finished, const std::string& reason, int exit_code = 137) {
  PodSeen pod = make_pod(finished + seconds(2));
  pod.containers[0].id = "run2";
  const std::int64_t wall_seconds = (finished.ns + kOffset) / 1'000'000'000;
  pod.containers[0].last_termination =
      PodTermination{"run1", reason, exit_code, WallTime{wall_seconds * 1'000'000'000}};
  return pod;
}

class StatusJudgeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ContainerIdentity identity;
    identity.id = "run1";
    identity.pod_uid = "uid";
    model_.apply(ContainerIdentified{kStart, kCgroup, identity, false});
    see(make_pod(kStart));
    model_.apply(PodsCurrent{kStart, true});
  }
  std::vector<StatusFinding> see(const PodSeen& pod) {
    model_.apply(pod);
    return judge_.on_pod(pod);
  }
  void kill(MonotonicTime time = kKill) {
    OomKill kill;
    kill.time = time;
    kill.victim = {42, 1};
    kill.victim_cgroup = kCgroup;
    judge_.on_kill(kill, model_.find_cgroup(kCgroup));
  }
  MemoryModel model_;
  StatusJudge judge_;
};

TEST_F(StatusJudgeTest, a_kill_that_status_tells_of_is_no_finding) {
  kill();
  EXPECT_TRUE(see(make_ended(kKill, "OOMKilled")).empty());
  EXPECT_TRUE(judge_.tick(kKill + seconds(60), model_).empty());
}

TEST_F(StatusJudgeTest, oom_killed_without_a_kill_is_one) {
  const auto findings = see(make_ended(kKill, "OOMKilled"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "oom_killed_without_kill");
  EXPECT_EQ(findings[0].victim.pid, 0);
  EXPECT_THAT(findings[0].text, HasSubstr("container collector of pod payments/otelcol-7f"));
}

TEST_F(StatusJudgeTest, oom_killed_long_after_the_kill_of_a_child_is_one_about_that_kill) {
  kill();
  const auto findings = see(make_ended(kKill + seconds(300), "OOMKilled"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "oom_killed_without_kill");
  EXPECT_EQ(findings[0].victim.pid, 42);
  EXPECT_THAT(findings[0].text, HasSubstr("300 s earlier"));
}

TEST_F(StatusJudgeTest, a_kill_under_another_reason_is_one) {
  kill();
  const auto findings = see(make_ended(kKill, "Error"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "kill_with_other_reason");
  EXPECT_THAT(findings[0].text, HasSubstr("Error (exit code 137)"));
}

TEST_F(StatusJudgeTest, an_end_without_a_kill_and_another_reason_is_none) {
  EXPECT_TRUE(see(make_ended(kKill, "Completed", 0)).empty());
}

TEST_F(StatusJudgeTest, a_container_that_goes_on_with_nothing_in_its_status_is_one) {
  kill();
  EXPECT_TRUE(judge_.tick(kKill + seconds(34), model_).empty());
  const auto findings = judge_.tick(kKill + seconds(35), model_);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "kill_not_in_status");
  EXPECT_TRUE(judge_.tick(kKill + seconds(60), model_).empty());
}

TEST_F(StatusJudgeTest, nothing_is_claimed_of_a_container_whose_cgroup_is_gone) {
  kill();
  model_.apply(CgroupRemoved{kKill + seconds(1), kCgroup});
  EXPECT_TRUE(judge_.tick(kKill + seconds(35), model_).empty());
}

TEST_F(StatusJudgeTest, nothing_is_claimed_while_the_api_cannot_be_reached) {
  kill();
  model_.apply(PodsCurrent{kKill, false});
  EXPECT_TRUE(judge_.tick(kKill + seconds(35), model_).empty());
}

TEST_F(StatusJudgeTest, nothing_is_claimed_of_what_was_before_us) {
  EXPECT_TRUE(see(make_ended(kStart - seconds(60), "OOMKilled")).empty());
}

TEST_F(StatusJudgeTest, a_run_is_judged_once) {
  EXPECT_EQ(see(make_ended(kKill, "OOMKilled")).size(), 1u);
  EXPECT_TRUE(see(make_ended(kKill, "OOMKilled")).empty());
  EXPECT_EQ(judge_.counts().at("oom_killed_without_kill"), 1u);
}

TEST_F(StatusJudgeTest, a_status_that_comes_after_the_claim_withdraws_it_once) {
  kill();
  ASSERT_EQ(judge_.tick(kKill + seconds(40), model_).size(), 1u);
  const auto findings = see(make_ended(kKill, "OOMKilled"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings[0].is_withdrawn);
  EXPECT_EQ(findings[0].kind, "kill_not_in_status");
  EXPECT_EQ(findings[0].victim.pid, 42);
  EXPECT_THAT(findings[0].text, HasSubstr("ended with this kill: OOMKilled (exit code 137)"));
  EXPECT_TRUE(see(make_ended(kKill, "OOMKilled")).empty());
  EXPECT_EQ(judge_.counts().at("kill_not_in_status"), 1u);  // a counter does not go down
  EXPECT_EQ(judge_.withdrawn().at("kill_not_in_status"), 1u);
}

TEST_F(StatusJudgeTest, a_late_status_with_another_reason_replaces_the_claim) {
  kill();
  ASSERT_EQ(judge_.tick(kKill + seconds(40), model_).size(), 1u);
  const auto findings = see(make_ended(kKill, "Error"));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_TRUE(findings[0].is_withdrawn);
  EXPECT_EQ(findings[1].kind, "kill_with_other_reason");
  EXPECT_FALSE(findings[1].is_withdrawn);
}

TEST_F(StatusJudgeTest, a_reason_that_the_runtime_mends_is_withdrawn) {
  kill();
  ASSERT_EQ(see(make_ended(kKill, "Error")).size(), 1u);
  const auto findings = see(make_ended(kKill, "OOMKilled"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings[0].is_withdrawn);
  EXPECT_EQ(findings[0].kind, "kill_with_other_reason");
}

TEST_F(StatusJudgeTest, an_end_long_after_the_kill_of_a_child_withdraws_nothing) {
  kill();
  ASSERT_EQ(judge_.tick(kKill + seconds(40), model_).size(), 1u);
  EXPECT_TRUE(see(make_ended(kKill + seconds(300), "Completed", 0)).empty());
  EXPECT_TRUE(judge_.withdrawn().empty());
}

TEST_F(StatusJudgeTest, the_run_before_one_that_ended_too_is_judged) {
  kill();
  PodSeen pod = make_ended(kKill, "Error");
  pod.containers[0].earlier_termination = pod.containers[0].last_termination;
  pod.containers[0].last_termination = PodTermination{"run2", "Completed", 0, WallTime{kKill.ns + kOffset}};
  EXPECT_EQ(see(pod).size(), 1u);
}

TEST_F(StatusJudgeTest, nothing_is_claimed_past_what_is_remembered) {
  for (std::size_t i = 0; i < StatusJudge::kMax + 1; ++i) {
    ContainerIdentity identity;
    identity.id = "other" + std::to_string(i);
    identity.pod_uid = "uid";
    model_.apply(ContainerIdentified{kKill, CgroupId{100 + i}, identity, false});
    OomKill other;
    other.time = kKill + seconds(100);
    other.victim = {static_cast<std::int32_t>(i), 1};
    other.victim_cgroup = CgroupId{100 + i};
    judge_.on_kill(other, model_.find_cgroup(other.victim_cgroup));
  }
  EXPECT_TRUE(see(make_ended(kKill, "OOMKilled")).empty());
}

}  // namespace
}  // namespace oomw
