// SPDX-License-Identifier: Apache-2.0
// An incident knows the kill before of its workload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;

// Each run of a container has a cgroup and an id of its own; the pod stays, or is another of the same controller.
ContainerIdentified run_of(std::uint64_t cgroup, const std::string& pod, const std::string& container = "web") {
  ContainerIdentified e = identified(cgroup, "run" + std::to_string(cgroup), container);
  e.identity.pod_uid = "uid-" + pod;
  e.identity.pod_name = pod;
  e.identity.pod_namespace = "shop";
  return e;
}

class KilledAgainTest : public CorrelatorFixture {
 protected:
  KilledAgainTest()
      : CorrelatorFixture({created(2, 0, "/a"), created(3, 0, "/b"), created(4, 0, "/c"), created(5, 0, "/d"),
                           run_of(2, "cart-7d9f8c4b5-x2x5z"), run_of(3, "cart-7d9f8c4b5-x2x5z"),
                           run_of(4, "cart-7d9f8c4b5-b4b4b"), run_of(5, "cart-7d9f8c4b5-b4b4b", "db")}) {}

  Incident kill_in(std::uint64_t cgroup, std::int64_t ms) {
    apply(killed(static_cast<std::int32_t>(100 + cgroup), 5, cgroup, cgroup, ms));
    const auto ready = take(ms + 5);
    EXPECT_EQ(ready.size(), 1U);
    return ready.empty() ? Incident{} : ready.front();
  }
};

TEST_F(KilledAgainTest, after_a_restart_in_the_same_pod_and_in_a_replica) {
  const Incident first = kill_in(2, 1'000);
  EXPECT_FALSE(first.earlier.has_value());
  EXPECT_EQ(first.answer->again, "");
  const Incident second = kill_in(3, 61'000);
  ASSERT_TRUE(second.earlier.has_value());
  EXPECT_EQ(second.earlier->id, first.id);
  EXPECT_EQ(second.earlier->kills, 1U);
  EXPECT_EQ(second.answer->again,
            "Killed again, 60 s after the kill before: kill 2 of this workload on record. Nobody was named then, "
            "either.");
  const Incident third = kill_in(4, 121'000);
  ASSERT_TRUE(third.earlier.has_value());
  EXPECT_EQ(third.earlier->id, second.id);
  EXPECT_EQ(third.earlier->kills, 2U);
}

TEST_F(KilledAgainTest, but_not_after_the_kill_of_another_container_of_the_pod) {
  (void)kill_in(4, 1'000);
  EXPECT_FALSE(kill_in(5, 61'000).earlier.has_value());
}

TEST_F(KilledAgainTest, after_a_kill_that_an_earlier_run_wrote) {
  EarlierKill known;
  known.id = "20261121T030405Z-1a2b3c4d";
  known.time = WallTime{kWallOffset - 3'600'000'000'000};
  known.code = "main.put (main.go:44)";
  correlator_.remember("shop/cart/web", known);
  const Incident incident = kill_in(2, 1'000);
  ASSERT_TRUE(incident.earlier.has_value());
  EXPECT_EQ(incident.earlier->id, known.id);
  EXPECT_THAT(incident.answer->again, ::testing::HasSubstr("Then main.put (main.go:44) was named."));
}

}  // namespace
}  // namespace oomw
