// SPDX-License-Identifier: Apache-2.0
#include "cli/read/event_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/incident_summary.h"
#include "unit/incident/sample_incident.h"

namespace oomw::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

ContainerIdentity only_ids() {
  ContainerIdentity identity;
  identity.runtime = "docker";
  identity.id = std::string(4, '0') + std::string(60, 'a');
  return identity;
}

TEST(EventLine, an_incident_names_who_was_killed_where_and_why) {
  Incident incident = oomw::testing::sample_incident();
  incident.container = ContainerIdentity{};
  incident.container.unit = "leaky.service";
  incident.victims.resize(1);
  incident.victims[0].comm = "hog\x1b[2J";
  incident.victims[0].process.pid = 77;
  incident.victim_count = 3;
  incident.verdict = IncidentVerdict{"spike", 0.8};
  const std::string line = incident_line(incident, "/data/i");
  EXPECT_THAT(line, HasSubstr(" leaky.service: killed hog\\x1b[2J (pid 77) and 2 more, cause spike (80 %)"));
  EXPECT_THAT(line, EndsWith(" [/data/i]"));
  incident.answer = IncidentAnswer{"Sudden growth in hog\x1b[2J.", "spike", 0.8, {}, "Bound it."};
  EXPECT_THAT(incident_line(incident, "/data/i"),
              EndsWith(", heap profile covers 38 %. Sudden growth in hog\\x1b[2J. Bound it. [/data/i]"));
}

TEST(EventLine, an_incident_without_victims_or_a_verdict_says_what_it_knows) {
  Incident incident = oomw::testing::sample_incident();
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

TEST(EventLine, a_run_says_what_it_watches_and_where_incidents_go) {
  EXPECT_THAT(
      watching_line("/d", "127.0.0.1:9435", {}),
      HasSubstr("WATCHING   every memory cgroup of this node; incidents go to /d/incidents (oomwitness incidents, "
                "oomwitness show latest); metrics on http://127.0.0.1:9435/metrics"));
  EXPECT_THAT(watching_line("/d", "", {}), Not(HasSubstr("metrics")));
}

}  // namespace
}  // namespace oomw::cli
