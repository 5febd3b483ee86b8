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

  void kill(Nanoseconds t, ProcessKey victim = {4242, 77}, std::string source = "bpf") {
    OomKill k;
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

  std::vector<std::string> captures_ordered() {
    std::vector<std::string> triggers;
    for (const CaptureOrder& order : pipeline.take_orders()) {
      if (order.decision.action == TriggerAction::kCapture) triggers.push_back(order.decision.trigger);
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

TEST(PipelineTest, restart_counts_on) {
  Story first;
  first.kill(seconds(20));
  LedgerState state{first.pipeline.ledger(), "boot", first.pipeline.accounted()};
  Story second(state);
  second.kill(seconds(30), {5000, 99});
  EXPECT_EQ(second.counted(), 2u);
}

TEST(PipelineTest, kernel_counted_a_kill_nobody_reported_is_counted_as_unobserved) {
  Story story;
  MemorySampled s;
  s.cgroup = kContainer;
  s.usage_bytes = 10 * kMiB;
  s.limit_bytes = 256 * kMiB;
  s.kernel_oom_kills = 1;
  s.time = at(seconds(30));
  story.pipeline.apply(s);
  s.time = at(seconds(32));
  story.pipeline.apply(s);
  EXPECT_EQ(story.pipeline.unobserved_kills(), 1u);
  EXPECT_EQ(story.counted(), 1u);
  EXPECT_EQ(story.pipeline.ledger().counts().begin()->first.scope, "unknown");
}

TEST(PipelineTest, capture_before_the_kill_is_in_the_incident_with_its_lead) {
  Story story;
  CaptureFinished capture;
  capture.started = at(seconds(19));
  capture.time = at(seconds(19) + milliseconds(3));
  capture.capture_id = 1;
  capture.cgroup = kContainer;
  capture.process = {4242, 77};
  capture.trigger = "watermark_90";
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
