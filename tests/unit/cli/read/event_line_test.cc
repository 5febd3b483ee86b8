// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/read/event_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/incident_summary.h"
#include "support/builders.h"

namespace oomw::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ContainerIdentity only_ids() {
  ContainerIdentity identity;
  identity.runtime = "docker";
  identity.id = std::string(4, '0') + std::string(60, 'a');
  return identity;
}

TEST(EventLine, an_incident_names_who_was_killed_where_and_why) {
  Incident incident = oomw::test::sample_incident();
  incident.container = ContainerIdentity{};
  incident.container.unit = "leaky.service";
  incident.victims.resize(1);
  incident.victims[0].comm = "hog\x1b[2J";
  incident.victims[0].process.pid = 77;
  incident.victim_count = 3;
  incident.verdict = IncidentVerdict{"spike", 0.8};
  const std::string line = incident_line(incident, "/data/i");
  EXPECT_THAT(line, HasSubstr(" leaky.service: killed hog\\x1b[2J (pid 77) and 2 more, cause spike (80 %)"));
  EXPECT_THAT(line, HasSubstr("  INCIDENT   "));
  EXPECT_THAT(line, EndsWith(" [/data/i]"));
  EXPECT_THAT(incident_line(incident, "/data/i", true), HasSubstr("  AMENDED    "));
  incident.answer = IncidentAnswer{"Sudden growth in hog\x1b[2J.", "spike", 0.8, {}, "Bound it."};
  EXPECT_THAT(incident_line(incident, "/data/i"),
              EndsWith(", heap profile covers 38 %. Sudden growth in hog\\x1b[2J. Bound it. [/data/i]"));
}

TEST(EventLine, an_incident_without_victims_or_a_verdict_says_what_it_knows) {
  Incident incident = oomw::test::sample_incident();
  incident.victims.clear();
  incident.victim_count = 0;
  incident.verdict.reset();
  const std::string line = incident_line(incident, "/data/i");
  EXPECT_THAT(line, HasSubstr("nobody named the victim"));
  EXPECT_THAT(line, HasSubstr(", cause not known"));
}

TEST(EventLine, a_container_that_nobody_named_goes_by_its_ids) {
  ContainerIdentity identity = only_ids();
  EXPECT_EQ(place_name(identity, "/x"), "docker 0000aaaaaaaa");
  identity.pod_uid = "01234567-89ab-cdef-0123-456789abcdef";
  EXPECT_EQ(place_name(identity, "/x"), "pod 01234567-89ab-cdef-0123-456789abcdef/0000aaaaaaaa");
  identity.unit = "a.scope";
  EXPECT_EQ(place_name(identity, "/x"), "a.scope");
  EXPECT_EQ(place_name({}, "/plain"), "/plain");
}

TEST(EventLine, a_place_of_long_names_has_its_container_too) {
  ContainerIdentity identity;
  identity.pod_namespace = std::string(40, 'n');
  identity.pod_name = std::string(63, 'p');
  identity.name = "web";
  EXPECT_THAT(place_name(identity, ""), EndsWith("p/web"));
}

TEST(LeftOutLine, names_the_cgroup_and_how_many) {
  EXPECT_THAT(left_out_line("shop/cart/web", 3720, WallTime{}),
              ::testing::EndsWith("LEFT OUT   3720 more lines of shop/cart/web"));
  EXPECT_THAT(left_out_line("", 2, WallTime{}), ::testing::EndsWith("2 more lines of several cgroups"));
}

TEST(EventLine, an_event_names_whose_it_is) {
  WatermarkCrossed crossing;
  crossing.cgroup = CgroupId{8681};
  crossing.usage_bytes = 200u << 20;
  crossing.limit_bytes = 256u << 20;
  EXPECT_THAT(event_line(crossing, "shop/cart-7d9f/cart", {}),
              ::testing::Optional(HasSubstr("shop/cart-7d9f/cart at 200 MiB of 256 MiB (78 %)")));
  EXPECT_THAT(event_line(crossing, "", {}), ::testing::Optional(HasSubstr("cgroup 8681 at 200 MiB")));
  OomKill kill;
  kill.victim_comm = "cart";
  EXPECT_THAT(event_line(kill, "shop/cart-7d9f/cart", {}),
              ::testing::Optional(HasSubstr("KILL       shop/cart-7d9f/cart: cart (pid 0)")));
  EXPECT_THAT(event_line(kill, "", {}), ::testing::Optional(HasSubstr("KILL       cart (pid 0)")));
}

std::string line_of(const Event& event) {
  const std::string line = event_line(event, "shop/cart", {}).value_or("");
  return line.substr(std::min(line.size(), line.find("  ") + 2));  // without the time
}

// The kernel's rate is that of 40 ms: of one burst. It belongs where that decides.
TEST(EventLine, time_left_has_growth_and_what_remains_and_a_level_has_not) {
  WatermarkCrossed crossing;
  crossing.usage_bytes = 200u << 20;
  crossing.limit_bytes = 256u << 20;
  crossing.growth_bytes_per_second = 1u << 20;
  crossing.time_to_limit = std::chrono::seconds(56);
  EXPECT_EQ(line_of(crossing), "WATERMARK  shop/cart at 200 MiB of 256 MiB (78 %)");
  crossing.reason = WatermarkReason::kTimeToLimit;
  EXPECT_EQ(
      line_of(crossing),
      "TIME LEFT  shop/cart at 200 MiB of 256 MiB (78 %), growing 1.00 MiB/s in this moment, at which 56.0 s are left");
}

TEST(EventLine, evidence_says_what_was_read_or_why_not) {
  CaptureFinished capture;
  capture.process.pid = 7;
  capture.method = CaptureMethod::kLive;
  capture.result = CaptureResult::kOk;
  capture.inuse_bytes = 80u << 20;
  EXPECT_THAT(line_of(capture),
              AllOf(StartsWith("CAPTURE    shop/cart: live pid 7 on request"), EndsWith(": ok, in use 80.0 MiB")));
  capture.result = CaptureResult::kFailed;
  capture.reason = CaptureReason::kTimeout;
  capture.inuse_bytes.reset();
  EXPECT_THAT(line_of(capture), EndsWith(": failed (timeout)"));
  HeapAnalysed analysed;
  analysed.process.pid = 7;
  analysed.result = CaptureResult::kOk;
  HeapFiller& filler = analysed.fillers.emplace_back();
  filler.name = "dict\x1b[2J";
  filler.bytes = 64u << 20;
  EXPECT_THAT(line_of(analysed), AllOf(StartsWith("ANALYSIS   shop/cart: go pid 7 on request"),
                                       EndsWith(": ok, 64.0 MiB in dict\\x1b[2J")));
  filler.error_bytes = 2u << 20;
  EXPECT_THAT(line_of(analysed), EndsWith(": ok, about 64.0 MiB +- 2.00 MiB in dict\\x1b[2J"));
  HeapHolder& holder = analysed.holders.emplace_back();
  holder.share = 0.9;
  holder.chain = {"main.sessions"};
  EXPECT_THAT(line_of(analysed), EndsWith(": ok, 90 % kept by main.sessions"));
  analysed.why_no_owner = "rooted 41 % of 60 samples";
  EXPECT_THAT(line_of(analysed), EndsWith(": ok, owner not found: rooted 41 % of 60 samples"));
}

TEST(EventLine, a_collector_growth_and_a_loss_have_their_figures) {
  CollectorSampled reading;
  reading.process.pid = 7;
  reading.queue_sizes = {{"debug", 0}, {"otlp", 139}};
  reading.limiter_refused = 5;
  EXPECT_EQ(line_of(reading), "COLLECTOR  shop/cart: pid 7, 139 queued for exporter otlp, memory_limiter refused 5");
  GrowthProfile growth;
  growth.process.pid = 7;
  growth.grown_bytes = 64u << 20;
  growth.samples = 2048;
  growth.lost = 3;
  EXPECT_EQ(line_of(growth), "GROWTH     shop/cart: pid 7 grew by 64.0 MiB: 2048 samples, 3 lost");
  EventsLost lost;
  lost.stage = "ringbuf_kill";
  lost.total = 4;
  EXPECT_EQ(line_of(lost), "LOST       4 so far at stage ringbuf_kill");
}

TEST(EventLine, a_run_says_what_it_watches_and_where_incidents_go) {
  EXPECT_THAT(watching_line("/d", " --data-dir /d", "127.0.0.1:9435", {}),
              HasSubstr("WATCHING   every memory cgroup of this node; incidents go to /d/incidents (oomwitness "
                        "incidents --data-dir /d, "
                        "oomwitness show latest --data-dir /d); metrics on "
                        "http://127.0.0.1:9435/metrics"));
  EXPECT_THAT(watching_line("/d", "", "", {}), ::testing::EndsWith("show latest)"));
}

}  // namespace
}  // namespace oomw::cli
