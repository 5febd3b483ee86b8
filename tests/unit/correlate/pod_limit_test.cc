// SPDX-License-Identifier: Apache-2.0
// Kills at a pod's own limit, as a kubelet sets it: the sum of its containers'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incident/share_queries.h"
#include "unit/correlate/correlator_fixture.h"
#include "verdict/next_steps.h"

namespace oomw {
namespace {

using namespace test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kUid = "0c4ad1f2-0000-4000-8000-000000000001";
constexpr std::uint64_t kPod = 101, kSandbox = 102, kWeb = 103, kDb = 104;

// When a process that begins then was started, in ticks since boot.
std::uint64_t ticks(std::int64_t ms) { return static_cast<std::uint64_t>(at_ms(ms).ns) / kNanosecondsPerTick; }

std::string path_of(char c) { return std::string("/kubepods/pod") + kUid + "/" + std::string(64, c); }

// Pod 101 of 256 MiB > sandbox 102; container 103, `web`, is made at 100 ms and process 10 lives in it.
class PodLimitIncidentTest : public CorrelatorFixture {
 protected:
  PodLimitIncidentTest()
      : CorrelatorFixture({created(kPod, 1, std::string("/kubepods/pod") + kUid), identified_pod(kPod, kUid),
                           created(kSandbox, kPod, path_of('0')),
                           identified_in_pod(kSandbox, std::string(64, '0'), "", kUid),
                           sampled(kSandbox, 10, 1, std::nullopt)}) {
    begin(100, kWeb, 'a', "web", 10);
  }
  void begin(std::int64_t ms, std::uint64_t cgroup, char c, const std::string& name, std::int32_t pid) {
    apply(created_at(ms, cgroup, kPod, path_of(c)));
    apply(identified_in_pod(cgroup, std::string(64, c), name, kUid));
    apply(seen(pid, ticks(ms), cgroup, ms));
  }
  void sample_web(std::int64_t ms, std::uint64_t mib) { apply(sampled(kWeb, ms, mib, 256, mib - 4)); }
  void sample_stat(std::uint64_t cgroup, std::int64_t ms, std::uint64_t anon_mib, std::uint64_t shmem_mib = 0) {
    MemorySampled e = sampled(cgroup, ms, anon_mib + shmem_mib + 4, 256, anon_mib + shmem_mib);
    e.detailed = true;
    e.memory_stat = {{"anon", anon_mib * kMiB}, {"shmem", shmem_mib * kMiB}, {"file", shmem_mib * kMiB}};
    apply(e);
  }
  static CaptureFinished skipped(std::uint64_t cgroup, std::int64_t ms) {
    CaptureFinished e;
    e.time = e.started = at_ms(ms);
    e.capture_id = static_cast<std::uint64_t>(ms);
    e.cgroup = {cgroup};
    e.trigger = CaptureTrigger::watermark(80);
    e.result = CaptureResult::kSkipped;
    e.reason = CaptureReason::kCooldown;
    return e;
  }
};

TEST_F(PodLimitIncidentTest, pods_limit_is_the_containers_and_its_owner_is_still_named) {
  sample_web(500, 100);
  apply(killed(10, ticks(100), kWeb, kPod, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.scope, "container");
  EXPECT_EQ(incident.limit_owner_cgroup_path, std::string("/kubepods/pod") + kUid);
  EXPECT_EQ(incident.container.name, "web");
  EXPECT_THAT(incident.limit_shares, IsEmpty());
  EXPECT_THAT(incident.notes, Contains(HasSubstr("counts as the container's")));
  EXPECT_THAT(incident.notes, Not(Contains(HasSubstr("series.usage_bytes: the container's own;"))));
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("because its own limit of 256 MiB was used up"));
}

// The same program, killed at its container's limit and at its pod's: the same cause, and the same why.
TEST_F(PodLimitIncidentTest, verdict_is_that_of_the_same_program_in_a_plain_container) {
  std::vector<std::optional<IncidentVerdict>> verdicts;
  for (const std::uint64_t owner : {kPod, kWeb}) {
    MemoryModel model;
    Correlator correlator{CorrelatorConfig{}};
    const auto tell = [&](const Event& event) {
      model.apply(event);
      correlator.apply(event, model);
    };
    for (const Event& event : std::initializer_list<Event>{
             created(kPod, 1, std::string("/kubepods/pod") + kUid), identified_pod(kPod, kUid),
             created_at(100, kWeb, kPod, path_of('a')), identified_in_pod(kWeb, std::string(64, 'a'), "web", kUid),
             seen(10, ticks(100), kWeb, 100)}) {
      tell(event);
    }
    for (std::int64_t s = 1; s <= 24; ++s) tell(sampled(kWeb, s * 1000, 10 + 10 * s, 256, 6 + 10 * s));
    tell(killed(10, ticks(100), kWeb, owner, 24'500));
    verdicts.push_back(correlator.take_ready(at_ms(24'505), model, kWallOffset).at(0).verdict);
  }
  ASSERT_TRUE(verdicts[0] && verdicts[1]);
  EXPECT_EQ(verdicts[0]->cause, "leak");
  EXPECT_EQ(verdicts[0]->cause, verdicts[1]->cause);
  EXPECT_EQ(verdicts[0]->confidence, verdicts[1]->confidence);
  EXPECT_EQ(verdicts[0]->why, verdicts[1]->why);
}

TEST_F(PodLimitIncidentTest, series_ends_with_what_the_limit_counted) {
  sample_web(500, 100);
  sample_web(900, 200);
  apply(sampled(kPod, 900, 201, 256));
  apply(killed(10, ticks(100), kWeb, kPod, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.series.size(), 3u);
  EXPECT_EQ(incident.series[1].usage_bytes, 200 * kMiB) << "the container's own";
  EXPECT_EQ(incident.series[2].usage_bytes, 256 * kMiB);
  EXPECT_EQ(incident.usage_bytes, 256 * kMiB);
}

TEST_F(PodLimitIncidentTest, container_that_was_never_read_has_its_pods_series_since_it_began) {
  apply(sampled(kPod, 50, 240, 256));  // of another life
  apply(sampled(kPod, 300, 60, 256));
  apply(killed(10, ticks(100), kWeb, kPod, 400));
  const Incident incident = take_one(405);
  ASSERT_EQ(incident.series.size(), 2u);
  EXPECT_EQ(incident.series[0].usage_bytes, 60 * kMiB);
  EXPECT_THAT(incident.notes, Contains(HasSubstr("series.usage_bytes: the pod's since this container began")));
}

// A tmpfs that an ended container filled is charged to the pod itself.
TEST_F(PodLimitIncidentTest, memory_that_the_pod_itself_is_charged_for_is_in_memory_stat) {
  sample_web(500, 100);
  sample_stat(kWeb, 900, 80);
  sample_stat(kPod, 901, 80, 150);
  apply(killed(10, ticks(100), kWeb, kPod, 1000));
  const Incident incident = take_one(1005);
  EXPECT_EQ(incident.memory_stat.at("shmem"), 150 * kMiB);
  ASSERT_TRUE(incident.verdict);
  EXPECT_EQ(incident.verdict->cause, "page_cache_or_tmpfs");
}

TEST_F(PodLimitIncidentTest, memory_stat_of_the_pod_from_before_the_container_is_not_its) {
  sample_stat(kPod, 50, 200);
  apply(killed(10, ticks(100), kWeb, kPod, 400));
  EXPECT_TRUE(take_one(405).memory_stat.empty());
  sample_stat(kPod, 410, 3);
  EXPECT_THAT(take_one(430).notes, Contains("memory_stat: read 0.010 s after the kill"));
}

TEST_F(PodLimitIncidentTest, one_crossing_is_in_the_timeline_once) {
  apply(crossed(kPod, 900, 80));
  apply(crossed(kWeb, 901, 80));
  apply(crossed(kWeb, 950, 90));
  apply(killed(10, ticks(100), kWeb, kPod, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.watermarks.size(), 2u);
  EXPECT_EQ(incident.watermarks[0].level_percent, 80u);
  EXPECT_EQ(incident.watermarks[1].level_percent, 90u);
}

// Three lives of one container in one pod: the incident of the third shows the third.
TEST_F(PodLimitIncidentTest, earlier_lives_of_the_container_stay_out_of_the_incident) {
  std::int32_t pid = 10;
  std::uint64_t cgroup = kWeb;
  Incident last;
  for (std::int64_t life = 0; life < 3; ++life, ++pid, ++cgroup) {
    const std::int64_t begun = 100 + life * 20'000;
    if (life > 0) begin(begun, cgroup, static_cast<char>('a' + life), "web", pid);
    apply(sampled(cgroup, begun + 100, 50, 256));
    apply(sampled(kPod, begun + 101, 51, 256));
    apply(crossed(kPod, begun + 500, 80));
    apply(skipped(kPod, begun + 510));
    apply(ReclaimSampled{at_ms(begun + 880), {kPod}, static_cast<std::uint64_t>(100 * (life + 1)), 10, 4096, 1'000});
    apply(killed(pid, ticks(begun), cgroup, kPod, begun + 900));
    last = take_one(begun + 905);
    (void)take(begun + 10'000);
    apply(exited(pid, ticks(begun), begun + 910));
    apply(removed(cgroup, begun + 950));
  }
  EXPECT_EQ(last.victims.at(0).process.pid, 12);
  EXPECT_EQ(last.scope, "container");
  ASSERT_EQ(last.watermarks.size(), 1u);
  EXPECT_NEAR(last.watermarks[0].lead_seconds, 0.4, 1e-9);
  ASSERT_EQ(last.captures.size(), 1u);
  EXPECT_NEAR(last.captures[0].lead_seconds, 0.39, 1e-9);
  for (const Incident::Point& point : last.series) EXPECT_LT(last.time.ns - point.time.ns, 1'000'000'000);
  ASSERT_TRUE(last.reclaim);
  EXPECT_EQ(last.reclaim->calls, 100u) << "what the pod was pressed for before is not this one's";
}

TEST_F(PodLimitIncidentTest, limit_that_is_written_as_the_container_is_made_is_no_change) {
  apply(sampled(kWeb, 150, 1, std::nullopt));
  apply(sampled(kPod, 150, 1, std::nullopt));
  sample_web(700, 100);
  apply(sampled(kPod, 700, 100, 256));
  apply(killed(10, ticks(100), kWeb, kPod, 1000));
  EXPECT_THAT(take_one(1005).notes, Not(Contains(HasSubstr("changed at run time"))));
}

TEST_F(PodLimitIncidentTest, limit_that_is_given_to_an_old_container_is_a_change) {
  apply(sampled(kWeb, 5000, 1, std::nullopt));
  apply(sampled(kWeb, 6000, 1, 256));
  apply(killed(10, ticks(100), kWeb, kWeb, 7000));
  EXPECT_THAT(take_one(7005).notes, Contains(HasSubstr("limit.bytes: changed at run time from no limit to 256 MiB")));
}

// web and db of 128 MiB each, so the pod has 256; `web` is the victim.
class SharedPodLimitTest : public PodLimitIncidentTest {
 protected:
  SharedPodLimitTest() { begin(120, kDb, 'b', "db", 20); }
  Incident kill_web(std::uint64_t web_mib, std::uint64_t db_mib, std::optional<std::uint64_t> limit_mib = 128) {
    apply(sampled(kWeb, 5000, web_mib, limit_mib));
    apply(sampled(kDb, 5000, db_mib, limit_mib));
    OomKill kill = killed(10, ticks(100), kWeb, kPod, 5500);
    kill.victim_rss->anon_bytes = (web_mib - 2) * kMiB;
    apply(kill);
    Incident incident = take_one(5505);
    incident.container.pod_name = "cart-7d9f";
    incident.container.pod_namespace = "shop";
    return incident;
  }
};

TEST_F(SharedPodLimitTest, limit_that_two_containers_filled_is_the_pods_with_each_ones_share) {
  const Incident incident = kill_web(127, 126);
  EXPECT_EQ(incident.scope, "pod");
  ASSERT_EQ(incident.limit_shares.size(), 2u);
  EXPECT_EQ(incident.limit_shares[0].container, "web");
  EXPECT_EQ(incident.limit_shares[0].usage_bytes, 127 * kMiB);
  EXPECT_EQ(incident.limit_shares[1].container, "db");
  EXPECT_EQ(incident.limit_shares[1].usage_bytes, 126 * kMiB);
  EXPECT_EQ(incident.limit_shares[1].limit_bytes, 128 * kMiB);
  ASSERT_TRUE(incident.verdict);
  EXPECT_EQ(incident.verdict->cause, "pod_limit");
  EXPECT_THAT(incident.verdict->why[0],
              HasSubstr("of 256 MiB of the pod was filled by its containers together: web 127 MiB, db 126 MiB"));
}

TEST_F(SharedPodLimitTest, report_and_next_steps_say_so) {
  const Incident incident = kill_web(127, 126);
  const std::string report = to_markdown(incident, {});
  EXPECT_THAT(report, HasSubstr("because the limit of 256 MiB of its pod, which its 2 containers share, was used up"));
  EXPECT_THAT(report, HasSubstr("## Who filled the pod's limit"));
  EXPECT_THAT(report, HasSubstr("| db | 126 MiB | 49 % | 128 MiB |"));
  EXPECT_THAT(report, HasSubstr("kubectl -n shop top pod cart-7d9f --containers"));
  EXPECT_THAT(report, HasSubstr("is the sum of its containers'"));
}

TEST_F(SharedPodLimitTest, json_reads_back) {
  const Incident incident = kill_web(127, 126);
  const auto again = incident_from_json(to_json(incident));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_json(*again), to_json(incident));
  EXPECT_THAT(to_json(incident), HasSubstr("\"limit_shares\""));
}

// A limit of the pod's own: web holds nearly all, so the cause is web's, whatever it is.
TEST_F(SharedPodLimitTest, limit_that_one_container_filled_is_the_pods_and_the_cause_its_own) {
  for (std::int64_t s = 1; s <= 24; ++s) apply(sampled(kWeb, 5500 + s * 1000, 10 + 9 * s, std::nullopt, 6 + 9 * s));
  apply(sampled(kDb, 29'000, 20, std::nullopt));
  OomKill kill = killed(10, ticks(100), kWeb, kPod, 30'000);
  kill.victim_rss->anon_bytes = 228 * kMiB;
  apply(kill);
  const Incident incident = take_one(30'005);
  EXPECT_EQ(incident.scope, "pod");
  EXPECT_NEAR(*victims_share(incident), 228.0 / 256, 1e-9);
  ASSERT_TRUE(incident.verdict);
  EXPECT_EQ(incident.verdict->cause, "leak");
}

TEST_F(SharedPodLimitTest, what_no_container_holds_is_said) {
  const Incident incident = kill_web(60, 60, std::nullopt);
  EXPECT_THAT(incident.verdict->why[0], HasSubstr("and 136 MiB that no container's reading explains"));
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("| not explained by these readings | 136 MiB | 53 % | |"));
  EXPECT_FALSE(is_sum_of_containers(incident));
  EXPECT_THAT(to_markdown(incident, {}), HasSubstr("136 MiB are charged to the pod and held by no container"));
}

TEST_F(SharedPodLimitTest, limit_of_the_pods_own_is_raised_where_it_is) {
  Incident incident = kill_web(240, 10, std::nullopt);
  incident.verdict = IncidentVerdict{"undersized", 0.7, {"a reason"}};
  incident.verdict->suggested_limit = SuggestedLimit{320u << 20, true, ""};
  const auto steps = next_steps(incident);
  ASSERT_FALSE(steps.empty());
  EXPECT_THAT(steps[0].commands, ElementsAre(HasSubstr("\"resources\":{\"limits\":{\"memory\":\"320Mi\"}}")));
}

TEST_F(SharedPodLimitTest, share_that_was_not_read_is_null_with_a_note) {
  OomKill kill = killed(10, ticks(100), kWeb, kPod, 5500);
  kill.victim_rss.reset();
  apply(kill);
  const Incident incident = take_one(5505);
  EXPECT_EQ(incident.scope, "pod");
  EXPECT_FALSE(incident.limit_shares.at(0).usage_bytes);
  EXPECT_THAT(to_json(incident), HasSubstr("\"usage_bytes\": null"));
  EXPECT_THAT(incident.notes, Contains(HasSubstr("limit_shares.usage_bytes:")));
  EXPECT_EQ(incident.verdict->cause, "pod_limit");
  EXPECT_LT(incident.verdict->confidence, 0.9);
}

// db lives on from before web began: what it did at their limit is of this kill.
TEST_F(SharedPodLimitTest, crossings_of_a_container_that_lives_on_stay) {
  WatermarkCrossed of_db = crossed(kPod, 130, 50);
  of_db.leaf_cgroup = {kDb};
  apply(of_db);
  WatermarkCrossed of_web = crossed(kPod, 140, 70);
  of_web.leaf_cgroup = {kWeb};
  apply(of_web);
  apply(removed(kWeb, 200));
  begin(300, 105, 'c', "web", 11);
  apply(killed(11, ticks(300), 105, kPod, 1000));
  const Incident incident = take_one(1005);
  ASSERT_EQ(incident.watermarks.size(), 1u);
  EXPECT_EQ(incident.watermarks[0].level_percent, 50u);
}

}  // namespace
}  // namespace oomw
