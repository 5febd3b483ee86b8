// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_metrics.h"

#include <future>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

namespace oomw {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kStart{1'000}, kReadAt{2'000};

ContainerUsage whole_usage() {
  ContainerUsage usage;
  usage.container.runtime = "containerd";
  usage.container.name = "web";
  usage.container.pod_name = "web-1";
  usage.container.pod_namespace = "shop";
  usage.pod.emplace().node = "n1";
  usage.cgroup_path = "/kubepods/web";
  usage.time = kReadAt;
  usage.usage_bytes = 90;
  usage.limit_bytes = 100;
  usage.nonreclaimable_bytes = 80;
  usage.growth_bytes_per_second = -2.5;
  usage.seconds_to_limit = 4.0;
  return usage;
}

json json_of(const ContainerUsage& usage, const std::vector<ProcessUsage>& processes = {}) {
  return json::parse(to_otlp_json(otlp_metrics_of(usage, processes, kStart, {"prod", "host"})));
}

std::vector<std::string> names_of(const json& resource_metrics) {
  std::vector<std::string> names;
  for (const json& metric : resource_metrics["scopeMetrics"][0]["metrics"]) names.push_back(metric["name"]);
  return names;
}

TEST(OtlpMetricsOf, a_pods_container_has_the_names_of_the_conventions) {
  const json found = json_of(whole_usage());
  EXPECT_THAT(names_of(found), ElementsAre("container.memory.usage", "k8s.container.memory.limit.current",
                                           "oomwitness.memory.nonreclaimable", "oomwitness.memory.growth",
                                           "oomwitness.memory.time_to_limit"));
  EXPECT_THAT(found["resource"].dump(), HasSubstr(R"({"key":"k8s.node.name","value":{"stringValue":"n1"}})"));
  const json usage = found["scopeMetrics"][0]["metrics"][0];
  EXPECT_EQ(usage, json::parse(R"({"name":"container.memory.usage","unit":"By","sum":{"aggregationTemporality":2,
      "dataPoints":[{"startTimeUnixNano":"1000","timeUnixNano":"2000","asInt":"90","attributes":[]}]}})"));
  const json growth = found["scopeMetrics"][0]["metrics"][3];
  EXPECT_EQ(growth["gauge"]["dataPoints"][0]["asDouble"], -2.5);
}

TEST(OtlpMetricsOf, what_is_not_known_has_no_metric) {
  ContainerUsage usage;
  usage.cgroup_path = "/plain";
  usage.limit_bytes = 100;
  usage.seconds_to_limit = std::numeric_limits<double>::infinity();
  EXPECT_THAT(names_of(json_of(usage)), ElementsAre("oomwitness.memory.limit"));
  EXPECT_THAT(json_of(usage)["resource"].dump(), HasSubstr("/plain"));
}

TEST(OtlpMetricsOf, each_process_is_a_point_of_one_metric_and_its_name_is_made_printable) {
  const json found = json_of(ContainerUsage(), {{{{42, 7}, "a\x1b"}, 10, 30}, {{{43, 7}, "b"}, ~std::uint64_t{0}, 1}});
  EXPECT_THAT(names_of(found), ElementsAre("process.memory.usage", "process.memory.virtual"));
  const json points = found["scopeMetrics"][0]["metrics"][0]["sum"]["dataPoints"];
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0]["attributes"], json::parse(R"([{"key":"process.pid","value":{"intValue":"42"}},
      {"key":"process.executable.name","value":{"stringValue":"a\\x1b"}}])"));
  EXPECT_EQ(points[1]["asInt"], "9223372036854775807");
}

// A thread that sends, and what it was given.
class OtlpMetricsTest : public ::testing::Test {
 protected:
  std::unique_ptr<OtlpMetrics> make(bool is_json = true) {
    return std::make_unique<OtlpMetrics>(
        is_json, [this](const std::string& body) { return take(body); }, OtlpMapping{"prod", "host"},
        [](const ContainerUsage::Process& process) {
          return process.key.pid == 1 ? std::nullopt : std::optional(ProcessUsage{process, 10, 20});
        },
        std::make_shared<std::atomic<bool>>(false), clock_);
  }
  Delivery take(const std::string& body) {
    const Delivery answer = answer_ ? answer_() : Delivery::sent();
    const std::lock_guard lock(mutex_);
    bodies_.push_back(body);
    changed_.notify_all();
    return answer;
  }
  std::vector<std::string> bodies_after(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return bodies_.size() >= count; });
    return bodies_;
  }
  // Until what became of the requests is counted.
  static OtlpMetricsStats stats_after(const OtlpMetrics& metrics, std::uint64_t requests) {
    while (true) {
      const OtlpMetricsStats stats = metrics.stats();
      std::uint64_t sum = 0;
      for (const auto& [reason, count] : stats.requests) sum += count;
      if (sum >= requests) return stats;
      std::this_thread::yield();
    }
  }
  static MemoryReport report_of(std::size_t containers, const std::string& path = "/c") {
    MemoryReport report;
    ContainerUsage usage = whole_usage();
    usage.cgroup_path = path;
    report.containers.assign(containers, usage);
    return report;
  }

  SystemClock clock_;
  std::function<Delivery()> answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> bodies_;
};

TEST_F(OtlpMetricsTest, a_report_is_one_request_and_a_process_that_is_gone_is_left_out) {
  MemoryReport report = report_of(2);
  report.containers[0].processes = {{{1, 7}, "gone"}, {{2, 7}, "here"}};
  report.containers_left_out = 3;
  report.processes_left_out = 4;
  const auto metrics = make();
  metrics->offer(std::move(report));
  const OtlpMetricsStats stats = stats_after(*metrics, 1);
  const json body = json::parse(bodies_after(1).front());
  EXPECT_EQ(body["resourceMetrics"].size(), 2u);
  EXPECT_THAT(body.dump(), HasSubstr("here"));
  EXPECT_THAT(body.dump(), Not(HasSubstr("gone")));
  EXPECT_EQ(stats.requests.at(DeliveryReason::kNone), 1u);
  EXPECT_EQ(std::pair(stats.containers_left_out, stats.processes_left_out), std::pair(3ul, 4ul));
}

TEST_F(OtlpMetricsTest, protobuf_of_several_containers_is_one_message) {
  const auto metrics = make(false);
  metrics->offer(report_of(3));
  const std::string body = bodies_after(1).front();
  protozero::pbf_reader request(body);
  std::size_t containers = 0;
  while (request.next(1)) {
    request.skip();
    ++containers;
  }
  EXPECT_EQ(containers, 3u);
}

TEST_F(OtlpMetricsTest, a_large_report_goes_in_several_requests) {
  const auto metrics = make(false);
  metrics->offer(report_of(4'000));
  for (const std::string& body : bodies_after(3)) EXPECT_LT(body.size(), OtlpMetrics::kMaxRequest + 4'096);
}

TEST_F(OtlpMetricsTest, the_first_request_that_fails_is_the_reports_last) {
  answer_ = [] { return Delivery::retry(DeliveryReason::kConnect, "refused"); };
  const auto metrics = make(false);
  metrics->offer(report_of(4'000));
  (void)stats_after(*metrics, 1);
  metrics->offer(report_of(1));
  EXPECT_EQ(stats_after(*metrics, 2).requests.at(DeliveryReason::kConnect), 2u);
  EXPECT_LT(bodies_after(2)[1].size(), 4'096u);
}

TEST_F(OtlpMetricsTest, the_newest_report_waits_while_one_is_on_its_way_and_the_others_are_counted) {
  std::promise<void> begun, released;
  auto release = released.get_future().share();
  bool is_first = true;
  answer_ = [&] {
    if (std::exchange(is_first, false)) {
      begun.set_value();
      release.wait();
    }
    return Delivery::sent();
  };
  const auto metrics = make();
  metrics->offer(report_of(1, "/first"));
  begun.get_future().wait();
  metrics->offer(report_of(1, "/replaced"));
  metrics->offer(report_of(1, "/newest"));
  released.set_value();
  const std::vector<std::string> bodies = bodies_after(2);
  EXPECT_THAT(bodies, ElementsAre(HasSubstr("/first"), HasSubstr("/newest")));
  EXPECT_EQ(metrics->stats().reports_left_out, 1u);
}

}  // namespace
}  // namespace oomw
