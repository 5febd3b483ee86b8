// SPDX-License-Identifier: Apache-2.0
#include "web/site/live_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace oomw {
namespace {

ContainerMetrics container(const std::string& name, std::uint64_t usage_mib, std::uint64_t limit_mib) {
  ContainerMetrics made;
  made.k8s_namespace = "shop";
  made.pod = name + "-0";
  made.container = name;
  made.usage_bytes = usage_mib << 20;
  made.limit_bytes = limit_mib << 20;
  return made;
}

TEST(NowJson, has_those_with_little_time_first_then_the_fullest_and_says_why_each_is_near) {
  MetricsSnapshot snapshot;
  snapshot.containers = {container("half", 50, 100),  container("full", 99, 100), container("small", 1, 100),
                         container("leaks", 20, 100), container("slow", 49, 100), container("next", 37, 100),
                         container("hour", 1, 100)};
  snapshot.containers[2].suspected_leak = false;
  snapshot.containers[3].suspected_leak = true;
  snapshot.containers[4].seconds_to_limit = 3600;
  snapshot.containers[5].seconds_to_limit = 26;
  snapshot.containers[6].seconds_to_limit = 3599;
  snapshot.containers.emplace_back().container = "unlimited";
  const nlohmann::json now = nlohmann::json::parse(now_json(snapshot));
  EXPECT_EQ(now["with_a_limit"], 7);
  std::vector<std::string> rows;
  for (const auto& one : now["containers"]) rows.push_back(one["container"].get<std::string>() + one["near"].dump());
  EXPECT_THAT(rows, ::testing::ElementsAre("next\"time\"", "hour\"time\"", "full\"use\"", "half\"use\"", "slownull",
                                           "leaks\"leak\"", "smallnull"));
}

TEST(NowJson, has_time_left_and_suspicion_and_null_for_what_is_not_known) {
  MetricsSnapshot snapshot;
  snapshot.containers = {container("cart", 90, 100), container("search", 80, 100)};
  snapshot.containers[0].growth_bytes_per_second = 1e6;
  snapshot.containers[0].seconds_to_limit = 42;
  snapshot.containers[0].suspected_leak = true;
  snapshot.containers[0].growing = {"list", 1, 2, 3};
  const nlohmann::json now = nlohmann::json::parse(now_json(snapshot))["containers"];
  EXPECT_EQ(now[0]["namespace"], "shop");
  EXPECT_EQ(now[0]["pod"], "cart-0");
  EXPECT_EQ(now[0]["usage_bytes"], 90u << 20);
  EXPECT_EQ(now[0]["limit_bytes"], 100u << 20);
  EXPECT_EQ(now[0]["growth_bytes_per_second"], 1e6);
  EXPECT_EQ(now[0]["seconds_to_limit"], 42);
  EXPECT_EQ(now[0]["suspected_leak"], true);
  const nlohmann::json growing = {{"name", "list"}, {"first_bytes", 1}, {"last_bytes", 2}, {"seconds", 3.0}};
  EXPECT_EQ(now[0]["growing"], growing);
  for (const char* key : {"growth_bytes_per_second", "seconds_to_limit", "suspected_leak", "growing"}) {
    EXPECT_TRUE(now[1][key].is_null()) << key;
  }
}

TEST(NowJson, of_a_full_node_is_bounded_and_says_how_many_there_are) {
  MetricsSnapshot snapshot;
  for (int i = 0; i < 700; ++i) snapshot.containers.push_back(container("c" + std::to_string(i), 1, 100));
  const nlohmann::json now = nlohmann::json::parse(now_json(snapshot));
  EXPECT_EQ(now["with_a_limit"], 700);
  EXPECT_EQ(now["containers"].size(), 500u);
}

TEST(NowJson, a_container_that_is_gone_is_not_near_its_limit) {
  MetricsSnapshot snapshot;
  snapshot.containers = {container("gone", 99, 100), container("here", 90, 100)};
  snapshot.containers[0].is_removed = true;
  const nlohmann::json now = nlohmann::json::parse(now_json(snapshot));
  EXPECT_EQ(now["with_a_limit"], 1);
  EXPECT_EQ(now["containers"][0]["container"], "here");
}

TEST(NowJson, names_that_are_not_utf8_stay_json) {
  MetricsSnapshot snapshot;
  snapshot.containers = {container("\xff\xfe\"}", 1, 2)};
  snapshot.containers[0].growing.name = "\xff\"<";
  EXPECT_FALSE(nlohmann::json::parse(now_json(snapshot), nullptr, false).is_discarded());
}

TEST(HealthJson, has_what_works_and_what_was_lost) {
  MetricsSnapshot snapshot;
  snapshot.ready = true;
  snapshot.lost["ringbuf_kill"] = 3;
  snapshot.feature_rung = {{"oom_kill", "fentry"}, {"reclaim", "raw_tp"}};
  snapshot.feature_lost["reclaim"] = "the cgroup; no tp_btf: CAP_BPF\x1b";
  snapshot.failing_sinks["otlp_metrics"] = "connect: refused";
  snapshot.kernel_oom_kills_unobserved = 2;
  snapshot.incidents_written = 5;
  snapshot.process_resident_bytes = 20u << 20;
  const nlohmann::json health = nlohmann::json::parse(health_json(snapshot));
  EXPECT_EQ(health["ready"], true);
  EXPECT_EQ(health["lost"]["ringbuf_kill"], 3);
  EXPECT_EQ(health["features"]["oom_kill"], nlohmann::json({{"rung", "fentry"}, {"lost", ""}}));
  EXPECT_EQ(health["features"]["reclaim"]["lost"], "the cgroup; no tp_btf: CAP_BPF\\x1b");
  EXPECT_EQ(health["failing_sinks"]["otlp_metrics"], "connect: refused");
  EXPECT_EQ(health["kills"]["unobserved"], 2);
  EXPECT_EQ(health["incidents"]["written"], 5);
  EXPECT_EQ(health["resident_bytes"], 20u << 20);
}

}  // namespace
}  // namespace oomw
