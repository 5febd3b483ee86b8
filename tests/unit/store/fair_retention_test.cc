// SPDX-License-Identifier: Apache-2.0
#include "store/fair_retention.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr std::int64_t kStep = 1'000'000'000;

class FairRetentionTest : public ::testing::Test {
 protected:
  // Times are in the order of the calls, a second apart.
  std::string add(const std::string& tenant, const std::string& workload, std::uint32_t evidence = 100,
                  std::uint64_t bytes = 1) {
    const WallTime time{static_cast<std::int64_t>(++now_) * kStep};
    const std::string name = std::to_string(now_);
    incidents_.push_back(
        {name, time, bytes, {tenant, workload.empty() ? "" : tenant + "/" + workload, evidence, time}});
    return name;
  }
  // Names that stay.
  std::set<std::string> keep(const Retention& retention, std::optional<WallTime> now = std::nullopt) {
    std::set<std::string> names;
    for (const KeptIncident& incident : incidents_) names.insert(incident.name);
    for (const Loss& loss : choose_losses(incidents_, retention, now)) names.erase(incidents_[loss.index].name);
    return names;
  }

  int now_ = 0;
  std::vector<KeptIncident> incidents_;
};

TEST_F(FairRetentionTest, nothing_is_dropped_within_the_bounds) {
  for (int i = 0; i < 5; ++i) add("shop", "cart");
  EXPECT_TRUE(choose_losses(incidents_, {.count = 5}, WallTime{now_ * kStep}).empty());
}

TEST_F(FairRetentionTest, a_crash_loop_does_not_evict_the_neighbour) {
  const std::string neighbour = add("bank", "ledger", 1);
  for (int i = 0; i < 10'000; ++i) add("shop", "cart", 900);
  EXPECT_TRUE(keep({.count = 9'000}).contains(neighbour));
  EXPECT_TRUE(keep({.count = 9'000}).contains(std::to_string(now_)));
}

TEST_F(FairRetentionTest, first_best_and_newest_of_a_workload_stay) {
  const std::string first = add("shop", "cart");
  for (int i = 0; i < 10; ++i) add("shop", "cart");
  const std::string best = add("shop", "cart", 2'000);
  for (int i = 0; i < 10; ++i) add("shop", "cart");
  const std::string newest = add("shop", "cart");
  EXPECT_EQ(keep({.count = 3}), (std::set{first, best, newest}));
  EXPECT_EQ(keep({.count = 2}), (std::set{best, newest})) << "the first goes first";
  EXPECT_EQ(keep({.count = 1}), std::set{newest}) << "someone is about to open it";
  EXPECT_TRUE(keep({.count = 0}).empty());
}

TEST_F(FairRetentionTest, the_workload_with_the_most_loses_until_it_is_level) {
  for (int i = 0; i < 10; ++i) add("shop", "cart");
  for (int i = 0; i < 5; ++i) add("shop", "db");
  const std::set<std::string> kept = keep({.count = 10});
  EXPECT_EQ(std::ranges::count_if(kept, [](const std::string& name) { return std::stoi(name) <= 10; }), 5);
}

TEST_F(FairRetentionTest, many_workloads_of_one_tenant_do_not_evict_another_tenants_only_incident) {
  const std::string neighbour = add("bank", "ledger", 1);
  for (int i = 0; i < 300; ++i) add("evil", "job" + std::to_string(i), 2'000);
  const std::set<std::string> kept = keep({.count = 200});
  EXPECT_EQ(kept.size(), 200u);
  EXPECT_TRUE(kept.contains(neighbour));
  EXPECT_TRUE(kept.contains("301")) << "of the tenant's own the oldest go";
  EXPECT_FALSE(kept.contains("2"));
}

TEST_F(FairRetentionTest, beyond_bytes_the_workload_with_the_most_bytes_loses) {
  for (int i = 0; i < 20; ++i) add("shop", "small", 100, 10);
  for (int i = 0; i < 6; ++i) add("shop", "large", 100, 1'000);
  const std::set<std::string> kept = keep({.bytes = 4'200});
  EXPECT_EQ(kept.size(), 24u);
  EXPECT_TRUE(kept.contains("1"));
  EXPECT_FALSE(kept.contains("22"));
  EXPECT_EQ(keep({.bytes = 1}), std::set{std::to_string(now_)}) << "the newest stays whatever its size";
}

TEST_F(FairRetentionTest, unreadable_ones_go_first) {
  const std::string neighbour = add("bank", "ledger");
  const std::string broken = add("", "", 0);
  for (int i = 0; i < 8; ++i) add("shop", "cart");
  const std::set<std::string> kept = keep({.count = 9});
  EXPECT_FALSE(kept.contains(broken));
  EXPECT_TRUE(kept.contains(neighbour));
}

TEST_F(FairRetentionTest, age_takes_all_that_are_older_unless_the_clock_is_in_doubt) {
  for (int i = 0; i < 5; ++i) add("shop", "cart");
  const WallTime now{now_ * kStep};
  EXPECT_EQ(keep({.age = std::chrono::seconds(2)}, now), (std::set<std::string>{"3", "4", "5"}));
  EXPECT_EQ(keep({.age = std::chrono::seconds(2)}, std::nullopt).size(), 5u);
  EXPECT_EQ(keep({.count = 3, .age = std::chrono::seconds(2)}, std::nullopt).size(), 3u) << "the count still holds";
}

TEST_F(FairRetentionTest, the_reason_is_the_bound_and_the_rest_waits_for_the_next_call) {
  for (int i = 0; i < 10; ++i) add("shop", "cart");
  const auto losses =
      choose_losses(incidents_, {.count = 4, .age = std::chrono::seconds(7)}, WallTime{now_ * kStep}, 4);
  ASSERT_EQ(losses.size(), 4u);
  EXPECT_EQ(to_string(losses[1].reason), "age");
  EXPECT_EQ(to_string(losses[2].reason), "count");
}

}  // namespace
}  // namespace oomw
