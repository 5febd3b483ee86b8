// SPDX-License-Identifier: Apache-2.0
// Stories told to the pure pipeline: events in, orders, incidents and counts out.
#include "daemon/pipeline.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr CgroupId kContainer{100};
constexpr std::int64_t kWallOffset = 1'700'000'000'000'000'000;

MonotonicTime at(Nanoseconds t) { return MonotonicTime{} + t; }

// A container with a 256 MiB limit and one process, and the events it goes through.
class Story {
 public:
  explicit Story(std::optional<LedgerState> restored = std::nullopt) : pipeline(TriggerConfig{}, {}, restored) {
    pipeline.apply(CgroupCreated{at(seconds(1)), kContainer, CgroupId{1}, "/system.slice/shop.service", true});
    ContainerIdentity identity;
    identity.runtime = "systemd";
    identity.unit = "shop.service";
    pipeline.apply(ContainerIdentified{at(seconds(1)), kContainer, identity, false});
    ProcessSeen seen;
    seen.time = at(seconds(1));
    seen.process = {4242, 77};
    seen.cgroup = kContainer;
    seen.comm = "shop";
    seen.exe = "/usr/bin/shop";
    pipeline.apply(seen);
  }

  void sample(Nanoseconds t, std::uint64_t usage, std::uint64_t nonreclaimable) {
    MemorySampled s;
    s.time = at(t);
    s.cgroup = kContainer;
    s.usage_bytes = usage;
    s.limit_bytes = 256 * kMiB;
    s.nonreclaimable_bytes = nonreclaimable;
    pipeline.apply(s);
  }

  void cross(Nanoseconds t, std::uint32_t percent) {
    WatermarkCrossed c;
    c.time = at(t);
    c.cgroup = c.leaf_cgroup = kContainer;
    c.level_percent = percent;
    c.limit_bytes = 256 * kMiB;
    c.usage_bytes = c.limit_bytes * percent / 100;
    c.pid = 4242;
    pipeline.apply(c);
  }

  void kill(Nanoseconds t, ProcessKey victim = {4242, 77}, std::string source = "bpf", CgroupId group = {}) {
    OomKill k;
    k.group = group;
    k.time = at(t);
    k.victim = victim;
    k.victim_cgroup = kContainer;
    k.victim_comm = "shop";
    k.victim_rss = RssSplit{250 * kMiB, 0, 0, 0};
    k.trigger_pid = 4242;
    k.trigger_comm = "shop";
    k.trigger_cgroup = kContainer;
    k.owner_cgroup = kContainer;
    k.owner_known = true;
    k.owner_limit_bytes = 256 * kMiB;
    k.owner_usage_bytes = 256 * kMiB;
    k.source = std::move(source);
    pipeline.apply(k);
  }

  // As a rate-limited kernel log tells it.
  void unplaced_kill(Nanoseconds t) {
    OomKill k;
    k.time = at(t);
    k.victim = {9999, 0};
    k.victim_comm = "worker";
    k.source = "kmsg";
    pipeline.apply(k);
  }

  // The kernel's own count of kills.
  void count(Nanoseconds t, std::uint64_t kills, CgroupId cgroup = kContainer) {
    MemorySampled s;
    s.time = at(t);
    s.cgroup = cgroup;
    s.usage_bytes = 10 * kMiB;
    s.limit_bytes = 256 * kMiB;
    s.kernel_oom_kills = kills;
    pipeline.apply(s);
  }

  std::vector<std::string> captures_ordered() {
    std::vector<std::string> triggers;
    for (const CaptureOrder& order : pipeline.take_orders()) {
      if (order.decision.action == TriggerAction::kCapture) triggers.push_back(to_string(order.decision.trigger));
    }
    return triggers;
  }

  std::uint64_t counted() {
    std::uint64_t sum = 0;
    for (const auto& [labels, count] : pipeline.ledger().counts()) sum += count;
    return sum;
  }

  Pipeline pipeline;
};

// Pods as kubelet makes them: a cgroup of the pod, and in it the container's.
class PodStory : public Story {
 public:
  static constexpr CgroupId kPod{50}, kRun{51};
  PodStory() {
    pipeline.apply(CgroupCreated{at(seconds(1)), kPod, {}, kPodPath, true, false});
    pipeline.apply(CgroupCreated{at(seconds(1)), kRun, kPod, kPodPath + "/" + std::string(64, 'a'), true, false});
  }
  void status(Nanoseconds t, const std::string& id, std::uint32_t restarts, const std::string& before = "") {
    PodSeen pod;
    pod.time = at(t);
    pod.uid = "6b2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47";
    pod.name_space = "shop";
    pod.name = "cart-7d9f-x2x9k";
    pod.node = "node-1";
    pod.owner_kind = "ReplicaSet";
    pod.owner_name = "cart-7d9f";
    pod.labels["pod-template-hash"] = "7d9f";
    PodContainer& container = pod.containers.emplace_back();
    container.name = "cart";
    container.id = id;
    container.restart_count = restarts;
    container.memory_limit_bytes = 256 * kMiB;
    if (!before.empty()) container.last_termination = PodTermination{before, "OOMKilled", 137, WallTime{pod.time.ns}};
    pipeline.apply(pod);
  }
  void kill_in(CgroupId cgroup, Nanoseconds t) {
    OomKill k;
    k.time = at(t);
    k.victim = {4300, 90};
    k.victim_cgroup = cgroup;
    k.victim_comm = "cart";
    k.owner_cgroup = kRun;
    k.owner_known = k.owner_exact = true;
    k.source = "bpf";
    pipeline.apply(k);
  }
  Incident take_one(Nanoseconds t) {
    const auto incidents = pipeline.take_incidents(at(t), 0);
    EXPECT_EQ(incidents.size(), 1u);
    return incidents.empty() ? Incident{} : incidents.front();
  }
  const std::string kPodPath = "/kubepods/burstable/pod6b2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47";
};

// Nobody identified its cgroup, no bundle was read, and no status names its run yet.
TEST(PipelineTest, a_container_of_a_second_is_named_and_counted_by_its_path_and_a_late_status) {
  PodStory story;
  story.status(seconds(2), "", 0);
  story.kill_in(PodStory::kRun, seconds(10));
  const Incident first = story.take_one(seconds(11));
  EXPECT_EQ(first.container.pod_name, "cart-7d9f-x2x9k");
  ASSERT_TRUE(first.pod.has_value());
  EXPECT_EQ(first.pod->workload, (Workload{"Deployment", "cart", "pod_template_hash"}));
  EXPECT_EQ(first.pod->restart_count, std::nullopt);
  story.status(seconds(32), std::string(64, 'b'), 1, std::string(64, 'a'));
  const Incident amended = story.take_one(seconds(33));
  EXPECT_EQ(amended.id, first.id);
  EXPECT_EQ(amended.container.name, "cart");
  EXPECT_EQ(amended.pod->restart_count, 0u);
  EXPECT_EQ(amended.pod->memory_limit_bytes, 256 * kMiB);
}

TEST(PipelineTest, a_path_with_a_pods_uid_is_a_pod_also_where_no_api_is_asked) {
  PodStory story;
  story.pipeline.apply(
      CgroupCreated{at(seconds(1)), {52}, PodStory::kPod, story.kPodPath + "/crio-conmon-x.scope", true, false});
  story.kill_in({52}, seconds(10));
  const Incident incident = story.take_one(seconds(11));
  EXPECT_EQ(incident.container.pod_uid, "6b2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47");
  const std::string json = to_json(incident);
  EXPECT_EQ(json.find("\"pod\": null"), std::string::npos);
  EXPECT_EQ(json.find("not a Kubernetes pod"), std::string::npos);
}

TEST(PipelineTest, crossing_when_sample_shows_anonymous_memory_orders_a_capture) {
  Story story;
  story.cross(seconds(10), 90);
  EXPECT_TRUE(story.captures_ordered().empty()) << "judged before the sample was in";
  story.sample(seconds(10) + milliseconds(1), 230 * kMiB, 228 * kMiB);
  EXPECT_EQ(story.captures_ordered(), std::vector<std::string>{"watermark_90"});
}

TEST(PipelineTest, crossing_when_no_sample_comes_is_judged_after_the_wait) {
  Story story;
  story.cross(seconds(10), 90);
  story.pipeline.tick(at(seconds(10)) + Pipeline::kSampleWait + milliseconds(1));
  EXPECT_EQ(story.captures_ordered().size(), 1u);
}

TEST(PipelineTest, crossing_when_it_is_page_cache_orders_nothing) {
  Story story;
  story.cross(seconds(10), 95);
  story.sample(seconds(10) + milliseconds(1), 244 * kMiB, 40 * kMiB);
  EXPECT_TRUE(story.captures_ordered().empty());
}

TEST(PipelineTest, kill_becomes_one_incident_with_the_cached_identity) {
  Story story;
  story.kill(seconds(20));
  const std::vector<Incident> incidents = story.pipeline.take_incidents(at(seconds(21)), kWallOffset);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].container.unit, "shop.service");
  ASSERT_EQ(incidents[0].victims.size(), 1u);
  EXPECT_EQ(incidents[0].victims[0].exe, "/usr/bin/shop");
  EXPECT_EQ(incidents[0].scope, "container");
  EXPECT_EQ(incidents[0].limit_bytes, 256 * kMiB);
}

TEST(PipelineTest, two_sources_report_one_victim_counts_once) {
  Story story;
  story.kill(seconds(20));
  story.kill(seconds(20) + milliseconds(2), {4242, 0}, "kmsg");
  EXPECT_EQ(story.counted(), 1u);
  EXPECT_EQ(story.pipeline.take_incidents(at(seconds(21)), kWallOffset).size(), 1u);
}

TEST(PipelineTest, group_kill_whose_members_the_kernel_counts_again_is_as_many_kills_as_processes) {
  Story story;
  story.count(seconds(19), 0);
  // The chosen one is marked once; a process whose leader dies meanwhile, with a thread of it again.
  for (const int pid : {4242, 4243, 4244, 4243}) story.kill(seconds(20), {pid, 77}, "bpf", kContainer);
  story.count(seconds(20) + milliseconds(1), 5);
  story.pipeline.tick(at(seconds(21)));
  EXPECT_EQ(story.counted(), 3u);
  EXPECT_EQ(story.pipeline.unobserved_kills(), 0u);
  EXPECT_EQ(story.pipeline.take_incidents(at(seconds(21)), kWallOffset).size(), 1u);
}

TEST(PipelineTest, group_kill_with_a_kill_more_than_were_marked_has_one_that_nobody_saw) {
  Story story;
  story.count(seconds(19), 0);
  for (const int pid : {4242, 4243}) story.kill(seconds(20), {pid, 77}, "bpf", kContainer);
  story.count(seconds(20) + milliseconds(1), 4);
  story.pipeline.tick(at(seconds(21)));
  EXPECT_EQ(story.pipeline.unobserved_kills(), 1u);
}

TEST(PipelineTest, restart_counts_on) {
  Story first;
  first.kill(seconds(20));
  LedgerState state{first.pipeline.ledger(), "boot", first.pipeline.accounted(), {}};
  Story second(state);
  second.kill(seconds(30), {5000, 99});
  EXPECT_EQ(second.counted(), 2u);
}

TEST(PipelineTest, kernel_counted_a_kill_nobody_reported_is_counted_and_an_incident) {
  Story story;
  story.count(seconds(30), 1);
  story.pipeline.tick(at(seconds(31)));
  EXPECT_EQ(story.pipeline.unobserved_kills(), 1u);
  EXPECT_EQ(story.counted(), 1u);
  EXPECT_EQ(story.pipeline.ledger().counts().begin()->first.scope, "unknown");
  const std::vector<Incident> incidents = story.pipeline.take_incidents(at(seconds(31)), kWallOffset);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_TRUE(incidents[0].victims.empty());
  EXPECT_EQ(incidents[0].container.unit, "shop.service");
}

TEST(PipelineTest, kills_of_a_time_when_no_daemon_ran_are_counted_and_an_incident_seen_afterwards) {
  Story story(LedgerState{{}, "boot", {{50, 0}}, {}});
  story.count(seconds(30), 3, CgroupId{50});
  story.pipeline.tick(at(seconds(31)));
  EXPECT_EQ(story.counted(), 3u);
  EXPECT_EQ(story.pipeline.kills_seen_afterwards(), 3u);
  const std::vector<Incident> incidents = story.pipeline.take_incidents(at(seconds(31)), kWallOffset);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].victim_count, 3u);
  EXPECT_TRUE(incidents[0].victims.empty());
  EXPECT_TRUE(incidents[0].series.empty()) << "of after the kills";
}

TEST(PipelineTest, late_report_of_a_counted_kill_names_the_victim_and_counts_no_more) {
  Story story;
  story.count(seconds(30), 1);
  story.pipeline.tick(at(seconds(31)));
  const std::string id = story.pipeline.take_incidents(at(seconds(31)), kWallOffset).at(0).id;
  story.kill(seconds(32), {4242, 77}, "kmsg");
  story.count(seconds(34), 1);
  EXPECT_EQ(story.counted(), 1u);
  const std::vector<Incident> amended = story.pipeline.take_incidents(at(seconds(34)), kWallOffset);
  ASSERT_EQ(amended.size(), 1u);
  EXPECT_EQ(amended[0].id, id);
  EXPECT_EQ(amended[0].victims.at(0).exe, "/usr/bin/shop");
}

TEST(PipelineTest, kill_told_without_a_cgroup_is_placed_by_the_count_that_rose) {
  Story story;
  story.unplaced_kill(seconds(30));
  EXPECT_EQ(story.counted(), 0u) << "it waits";
  story.count(seconds(30) + milliseconds(20), 1);
  story.pipeline.tick(at(seconds(31)));
  EXPECT_EQ(story.counted(), 1u);
  EXPECT_EQ(story.pipeline.unobserved_kills(), 0u);
  EXPECT_EQ(story.pipeline.ledger().counts().begin()->first.container, "shop.service");
  const std::vector<Incident> incidents = story.pipeline.take_incidents(at(seconds(31)), kWallOffset);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].victims.at(0).process.pid, 9999);
  EXPECT_EQ(incidents[0].container.unit, "shop.service");
}

PodSeen pod_of(const std::string& run, Nanoseconds t) {
  PodSeen pod;
  pod.time = at(t);
  pod.uid = "uid";
  pod.name_space = "payments";
  pod.name = "otelcol-7f";
  pod.wall_offset_ns = kWallOffset;
  PodContainer container;
  container.name = "collector";
  container.id = run;
  pod.containers = {container};
  return pod;
}

void put_into_pod(Story& story) {
  ContainerIdentity identity;
  identity.id = "run1";
  identity.pod_uid = "uid";
  story.pipeline.apply(ContainerIdentified{at(seconds(2)), kContainer, identity, false});
  story.pipeline.apply(pod_of("run1", seconds(2)));
}

// That the run ended at 30 s.
void tell_oom_killed(Story& story) {
  PodSeen pod = pod_of("run2", seconds(33));
  pod.containers[0].last_termination =
      PodTermination{"run1", "OOMKilled", 137, WallTime{kWallOffset + at(seconds(30)).ns}};
  story.pipeline.apply(pod);
}

TEST(PipelineTest, kill_placed_by_the_count_that_rose_is_what_status_speaks_of) {
  Story story;
  put_into_pod(story);
  story.unplaced_kill(seconds(30));
  story.count(seconds(30) + milliseconds(20), 1);
  story.pipeline.tick(at(seconds(31)));
  tell_oom_killed(story);
  EXPECT_TRUE(story.pipeline.take_findings().empty());
}

TEST(PipelineTest, kill_that_only_the_kernel_counted_is_what_status_speaks_of) {
  Story story;
  put_into_pod(story);
  story.count(seconds(30), 1);
  story.pipeline.tick(at(seconds(31)));
  tell_oom_killed(story);
  EXPECT_TRUE(story.pipeline.take_findings().empty());
}

TEST(PipelineTest, status_that_speaks_of_a_kill_that_nobody_counted_is_told) {
  Story story;
  put_into_pod(story);
  tell_oom_killed(story);
  const std::vector<StatusFinding> findings = story.pipeline.take_findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "oom_killed_without_kill");
}

TEST(PipelineTest, kill_told_without_a_cgroup_that_no_count_explains_is_of_unknown_scope) {
  Story story;
  story.unplaced_kill(seconds(30));
  story.pipeline.tick(at(seconds(34)));
  EXPECT_EQ(story.counted(), 1u);
  const KillLabels& labels = story.pipeline.ledger().counts().begin()->first;
  EXPECT_EQ(labels.container, "_unknown");
  EXPECT_EQ(labels.scope, "unknown") << "nobody said that the node ran out of memory";
  const std::vector<Incident> incidents = story.pipeline.take_incidents(at(seconds(34)), kWallOffset);
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0].scope, "");
}

TEST(PipelineTest, kill_told_late_and_without_a_cgroup_names_the_only_nameless_one) {
  Story story;
  story.count(seconds(30), 1);
  story.pipeline.tick(at(seconds(31)));
  (void)story.pipeline.take_incidents(at(seconds(31)), kWallOffset);
  story.unplaced_kill(seconds(31) + milliseconds(500));
  story.pipeline.tick(at(seconds(34) + milliseconds(600)));
  EXPECT_EQ(story.counted(), 1u);
  const std::vector<Incident> amended = story.pipeline.take_incidents(at(seconds(35)), kWallOffset);
  ASSERT_EQ(amended.size(), 1u);
  EXPECT_EQ(amended[0].victims.at(0).process.pid, 9999);
}

TEST(PipelineTest, kill_told_without_a_cgroup_is_told_at_the_end_at_the_latest) {
  Story story;
  story.unplaced_kill(seconds(30));
  story.pipeline.finish();
  EXPECT_EQ(story.counted(), 1u);
  EXPECT_EQ(story.pipeline.take_incidents(at(seconds(31)), kWallOffset).size(), 1u);
}

TEST(PipelineTest, capture_before_the_kill_is_in_the_incident_with_its_lead) {
  Story story;
  CaptureFinished capture;
  capture.started = at(seconds(19));
  capture.time = at(seconds(19) + milliseconds(3));
  capture.capture_id = 1;
  capture.cgroup = kContainer;
  capture.process = {4242, 77};
  capture.trigger = CaptureTrigger::watermark(90);
  capture.result = CaptureResult::kOk;
  capture.inuse_bytes = 100 * kMiB;
  capture.complete = true;
  capture.spool_file = "1-http.pb.gz";
  story.pipeline.apply(capture);
  story.kill(seconds(20));
  const std::vector<Incident> incidents = story.pipeline.take_incidents(at(seconds(21)), kWallOffset);
  ASSERT_EQ(incidents.size(), 1u);
  ASSERT_EQ(incidents[0].captures.size(), 1u);
  EXPECT_NEAR(incidents[0].captures[0].lead_seconds, 0.997, 1e-6);
  ASSERT_TRUE(incidents[0].coverage_ratio.has_value());
  EXPECT_NEAR(*incidents[0].coverage_ratio, 0.4, 1e-6);
}

}  // namespace
}  // namespace oomw
