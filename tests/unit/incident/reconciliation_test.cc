// SPDX-License-Identifier: Apache-2.0
#include "incident/reconciliation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;

using MemStats = std::map<std::string, std::uint64_t>;

constexpr std::uint64_t kMiB = 1u << 20;

// 100 MiB used up: 80 by the victim, of which a walk shows 70 (50 live), 10 by others, 8 cached, 1 kernel.
Incident incident_of_known_parts() {
  Incident incident = test::sample_incident();
  incident.usage_bytes = 100 * kMiB;
  incident.victims[0].rss->anon_bytes = 80 * kMiB;
  incident.memory_stat = {{"anon", 90 * kMiB}, {"file", 8 * kMiB}, {"shmem", 2 * kMiB}, {"kernel", kMiB}};
  incident.captures[2] = test::sample_capture("oom_kill", 0, 100 * kMiB, 70 * kMiB);
  incident.captures[2].method = "at_kill";
  incident.captures[2].live_bytes = 50 * kMiB;
  incident.captures[2].file = "capture-03-at_kill.pb.gz";
  return incident;
}

std::uint64_t part(const Reconciliation& reconciliation, const std::string& key) {
  for (const MemoryPart& each : reconciliation.parts) {
    if (each.key == key) return each.bytes;
  }
  return 0;
}

TEST(Reconcile, parts_and_the_unexplained_make_up_what_was_counted) {
  const auto result = reconcile(incident_of_known_parts());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_heap_live"), 50 * kMiB);
  EXPECT_EQ(part(*result, "go_heap_other"), 20 * kMiB);
  EXPECT_EQ(part(*result, "go_beside_heap"), 10 * kMiB);
  EXPECT_EQ(part(*result, "other_processes"), 10 * kMiB);
  EXPECT_EQ(part(*result, "page_cache"), 6 * kMiB);
  EXPECT_EQ(part(*result, "tmpfs"), 2 * kMiB);
  EXPECT_EQ(part(*result, "kernel"), kMiB);
  EXPECT_EQ(result->unexplained_bytes, static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(result->parts.front().source, "capture-03-at_kill.pb.gz");
}

TEST(Reconcile, a_profile_claims_no_more_than_its_process_held) {
  Incident incident = incident_of_known_parts();
  incident.captures[2].inuse_bytes = 120 * kMiB;
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_heap_live") + part(*result, "go_heap_other"), 80 * kMiB);
  EXPECT_EQ(part(*result, "go_beside_heap"), 0u);
}

TEST(Reconcile, an_http_profile_shows_what_was_live_and_nothing_younger) {
  Incident incident = incident_of_known_parts();
  incident.captures[2].method = "http";
  incident.captures[2].live_bytes.reset();
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_heap_live"), 70 * kMiB);
  EXPECT_EQ(part(*result, "go_heap_other"), 0u);
  EXPECT_EQ(part(*result, "go_not_in_profile"), 10 * kMiB);
  EXPECT_EQ(part(*result, "go_beside_heap"), 0u);
}

// What an endpoint told 2 s before: of the 10 MiB beside the heap 4 are free, 1 is stacks and 2 the runtime's.
MemStats known_memstats() {
  return {{"HeapAlloc", 66 * kMiB}, {"HeapInuse", 67 * kMiB}, {"HeapIdle", 8 * kMiB}, {"HeapReleased", 5 * kMiB},
          {"StackInuse", kMiB},     {"MSpanSys", 0},          {"MCacheSys", 0},       {"BuckHashSys", kMiB},
          {"GCSys", kMiB},          {"OtherSys", 0},          {"NextGC", 90 * kMiB}};
}

TEST(Reconcile, memstats_tell_what_go_held_beside_its_heap) {
  Incident incident = incident_of_known_parts();
  incident.captures[1].time = test::before_kill(2'000);
  incident.captures[1].memstats = known_memstats();
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_heap_live"), 50 * kMiB);
  EXPECT_EQ(part(*result, "go_heap_other"), 20 * kMiB);
  EXPECT_EQ(part(*result, "go_heap_free"), 4 * kMiB);
  EXPECT_EQ(part(*result, "go_stacks"), kMiB);
  EXPECT_EQ(part(*result, "go_runtime"), 2 * kMiB);
  EXPECT_EQ(part(*result, "go_outside"), 3 * kMiB);
  EXPECT_EQ(part(*result, "go_beside_heap"), 0u);
  EXPECT_THAT(reconciliation_section(result), HasSubstr("MemStats with capture-02-http.pb.gz, 2.0 s before"));
}

TEST(Reconcile, memstats_beside_an_http_profile_tell_its_garbage_too) {
  Incident incident = incident_of_known_parts();
  incident.captures[2].method = "http";
  incident.captures[2].inuse_bytes = 50 * kMiB;
  incident.captures[2].memstats = known_memstats();
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_heap_live"), 50 * kMiB);
  EXPECT_EQ(part(*result, "go_heap_other"), 16 * kMiB);
  EXPECT_EQ(part(*result, "go_not_in_profile"), 7 * kMiB);
  EXPECT_EQ(part(*result, "go_outside"), 0u);
}

TEST(Reconcile, memstats_that_lie_claim_no_more_than_the_process_held) {
  Incident incident = incident_of_known_parts();
  for (auto& [name, value] : incident.captures[1].memstats = known_memstats()) value = UINT64_MAX;
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_heap_live") + part(*result, "go_heap_other") + part(*result, "go_stacks"), 80 * kMiB);
  EXPECT_EQ(result->unexplained_bytes, static_cast<std::int64_t>(kMiB));
}

TEST(Reconcile, memstats_of_another_process_or_a_later_time_are_not_taken) {
  Incident incident = incident_of_known_parts();
  incident.captures[0].memstats = incident.captures[1].memstats = known_memstats();
  incident.captures[0].pid = 7;
  incident.captures[1].time = test::before_kill(-10);
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "go_beside_heap"), 10 * kMiB);
  EXPECT_EQ(part(*result, "go_stacks"), 0u);
}

TEST(Reconcile, a_victim_without_profile_is_a_part_of_its_own) {
  Incident incident = incident_of_known_parts();
  incident.captures.clear();
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "victims_anon"), 80 * kMiB);
}

TEST(Reconcile, parts_that_claim_too_much_are_said_to) {
  Incident incident = incident_of_known_parts();
  incident.memory_stat["file"] = 50 * kMiB;
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_LT(result->unexplained_bytes, 0);
  EXPECT_THAT(reconciliation_section(result), HasSubstr("claim more"));
}

TEST(Reconcile, another_cgroups_limit_is_not_taken_apart) {
  Incident incident = incident_of_known_parts();
  incident.scope = "ancestor";
  EXPECT_FALSE(reconcile(incident).has_value());
  EXPECT_EQ(reconciliation_section(std::nullopt), "");
}

TEST(Reconcile, kernels_without_a_sum_of_their_own_memory_have_its_parts) {
  Incident incident = incident_of_known_parts();
  incident.memory_stat.erase("kernel");
  incident.memory_stat["slab"] = 2 * kMiB;
  incident.memory_stat["kernel_stack"] = kMiB;
  const auto result = reconcile(incident);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(part(*result, "kernel"), 3 * kMiB);
}

}  // namespace
}  // namespace oomw
