// SPDX-License-Identifier: Apache-2.0
#include "export/prometheus.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "base/version.h"
#include "events/lost_stage.h"

namespace oomw {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFamilies[] = {"oomwitness_oom_kills_total",
                                     "oomwitness_captures_total",
                                     "oomwitness_capture_duration_seconds",
                                     "oomwitness_capture_lead_seconds",
                                     "oomwitness_memstats_left_out_total",
                                     "oomwitness_reader_jobs_total",
                                     "oomwitness_reader_starts_total",
                                     "oomwitness_container_memory_usage_bytes",
                                     "oomwitness_container_memory_limit_bytes",
                                     "oomwitness_container_memory_nonreclaimable_bytes",
                                     "oomwitness_container_memory_growth_bytes_per_second",
                                     "oomwitness_container_seconds_to_limit",
                                     "oomwitness_container_reclaim_stall_seconds_total",
                                     "oomwitness_container_reclaim_calls_total",
                                     "oomwitness_container_reclaim_zero_yield_calls_total",
                                     "oomwitness_pod_reclaim_stall_seconds_total",
                                     "oomwitness_pod_reclaim_calls_total",
                                     "oomwitness_pod_reclaim_zero_yield_calls_total",
                                     "oomwitness_events_lost_total",
                                     "oomwitness_share_exceeded_total",
                                     "oomwitness_bpf_program_run_seconds_total",
                                     "oomwitness_bpf_program_runs_total",
                                     "oomwitness_feature_rung",
                                     "oomwitness_incidents_written_total",
                                     "oomwitness_oom_kills_folded_total",
                                     "oomwitness_oom_kills_retired_total",
                                     "oomwitness_incidents_pruned_total",
                                     "oomwitness_oom_kills_by_cause_total",
                                     "oomwitness_age_pruning_held",
                                     "oomwitness_clock_jumps_total",
                                     "oomwitness_incidents_waiting",
                                     "oomwitness_oom_kills_merged_total",
                                     "oomwitness_oom_kills_repeated_total",
                                     "oomwitness_incident_write_errors_total",
                                     "oomwitness_incident_write_duration_seconds",
                                     "oomwitness_kernel_oom_kills_unobserved_total",
                                     "oomwitness_tracked_cgroups",
                                     "oomwitness_tracked_processes",
                                     "oomwitness_data_dir_writable",
                                     "oomwitness_build_info",
                                     "process_cpu_seconds_total",
                                     "process_resident_memory_bytes"};

// A sample line: series, one space, value.
bool has_sample(const std::string& text, const std::string& series, const std::string& value) {
  return ("\n" + text).find("\n" + series + " " + value + "\n") != std::string::npos;
}

// Series names with labels, in order of appearance.
std::vector<std::string> series_in(const std::string& text) {
  std::vector<std::string> series;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && line[0] != '#') series.emplace_back(line.substr(0, line.rfind(' ')));
  }
  return series;
}

// Without the brace behind them.
std::string labels_of(const char* k8s_namespace, const char* pod, const char* container) {
  return fmt::format(R"({{k8s_namespace_name="{}",k8s_pod_name="{}",k8s_container_name="{}")", k8s_namespace, pod,
                     container);
}

ContainerMetrics make_container(std::string name) {
  ContainerMetrics container;
  container.k8s_namespace = "ns";
  container.pod = "p";
  container.container = std::move(name);
  return container;
}

TEST(PrometheusText, every_family_is_there_before_anything_happened) {
  const std::string text = to_prometheus_text({});
  for (const char* family : kFamilies) {
    EXPECT_THAT(text, HasSubstr("# HELP " + std::string(family) + " "));
    EXPECT_THAT(text, HasSubstr("# TYPE " + std::string(family) + " "));
  }
}

TEST(PrometheusText, a_pods_own_cgroup_has_no_kill_counter) {
  MetricsSnapshot snapshot;
  snapshot.containers = {make_container(""), make_container("app")};
  snapshot.containers[0].limit_bytes = 7;
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_TRUE(has_sample(text, "oomwitness_container_memory_limit_bytes" + labels_of("ns", "p", "") + "}", "7"));
  EXPECT_THAT(text, HasSubstr("oomwitness_oom_kills_total" + labels_of("ns", "p", "app")));
  EXPECT_THAT(text, Not(HasSubstr("oomwitness_oom_kills_total" + labels_of("ns", "p", ""))));
}

TEST(PrometheusText, a_container_whose_kills_are_counted_elsewhere_is_not_shown_at_zero) {
  MetricsSnapshot snapshot;
  snapshot.containers = {make_container("app"), make_container("hidden")};
  snapshot.containers[1].has_hidden_kills = true;
  snapshot.kills[{"", "", "_other", "container"}] = 3;
  snapshot.kills_folded = 3;
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_THAT(text, HasSubstr("oomwitness_oom_kills_total" + labels_of("ns", "p", "app")));
  EXPECT_THAT(text, Not(HasSubstr("oomwitness_oom_kills_total" + labels_of("ns", "p", "hidden"))));
  EXPECT_TRUE(
      has_sample(text, "oomwitness_oom_kills_total" + labels_of("", "", "_other") + R"(,scope="container"})", "3"));
  EXPECT_TRUE(has_sample(text, "oomwitness_oom_kills_folded_total", "3"));
}

TEST(PrometheusText, known_label_sets_start_at_zero) {
  const std::string text = to_prometheus_text({});
  EXPECT_TRUE(has_sample(text, R"(oomwitness_captures_total{method="http",result="ok",reason=""})", "0"));
  for (const std::string_view stage : lost_stage_names()) {
    EXPECT_TRUE(has_sample(text, R"(oomwitness_events_lost_total{stage=")" + std::string(stage) + "\"}", "0"));
  }
  EXPECT_TRUE(has_sample(text, R"(oomwitness_share_exceeded_total{what="spool"})", "0"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_share_exceeded_total{what="log_lines"})", "0"));
  EXPECT_TRUE(has_sample(text, "oomwitness_incidents_written_total", "0"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_oom_kills_by_cause_total{cause="leak"})", "0"));
  EXPECT_TRUE(has_sample(text, "oomwitness_capture_lead_seconds_count", "0"));
}

TEST(PrometheusText, what_happened_replaces_the_zero) {
  MetricsSnapshot snapshot;
  snapshot.captures.totals[{"http", "ok", ""}] = 3;
  snapshot.lost["ringbuf_kill"] = 2;
  snapshot.share_exceeded[ShareKind::kSpool] = 4;
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_TRUE(has_sample(text, R"(oomwitness_captures_total{method="http",result="ok",reason=""})", "3"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_events_lost_total{stage="ringbuf_kill"})", "2"));
  EXPECT_FALSE(has_sample(text, R"(oomwitness_events_lost_total{stage="ringbuf_kill"})", "0"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_share_exceeded_total{what="spool"})", "4"));
}

TEST(PrometheusText, kills_by_systemd_oomd_are_shown_where_it_can_run) {
  MetricsSnapshot snapshot;
  EXPECT_THAT(to_prometheus_text(snapshot), Not(HasSubstr("oomwitness_systemd_oomd")));
  snapshot.oomd_kills = 0;
  EXPECT_TRUE(has_sample(to_prometheus_text(snapshot), "oomwitness_systemd_oomd_kills_total", "0"));
}

TEST(PrometheusText, the_kubernetes_api_is_shown_where_it_is_asked) {
  MetricsSnapshot snapshot;
  EXPECT_THAT(to_prometheus_text(snapshot), Not(HasSubstr("oomwitness_kubernetes_")));
  snapshot.kubernetes.emplace();
  snapshot.kubernetes->state = "watching";
  snapshot.kubernetes->errors["tls"] = 2;
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_TRUE(has_sample(text, R"(oomwitness_kubernetes_state{state="watching"})", "1"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_kubernetes_state{state="waiting"})", "0"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_kubernetes_errors_total{kind="tls"})", "2"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_kubernetes_events_total{result="posted"})", "0"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_kubernetes_disagreements_total{kind="kill_not_in_status"})", "0"));
  EXPECT_TRUE(
      has_sample(text, R"(oomwitness_kubernetes_disagreements_withdrawn_total{kind="kill_not_in_status"})", "0"));
}

TEST(PrometheusText, kills_have_their_labels) {
  MetricsSnapshot snapshot;
  snapshot.kills[{"ns", "pod-0", "app", "ancestor"}] = 7;
  EXPECT_TRUE(has_sample(to_prometheus_text(snapshot),
                         "oomwitness_oom_kills_total" + labels_of("ns", "pod-0", "app") + R"(,scope="ancestor"})",
                         "7"));
}

TEST(PrometheusText, living_container_has_a_kill_counter_at_zero_so_that_increase_sees_its_first) {
  MetricsSnapshot snapshot;
  snapshot.containers.push_back(make_container("a"));
  const std::string name = "oomwitness_oom_kills_total" + labels_of("ns", "p", "a") + R"(,scope="container"})";
  EXPECT_TRUE(has_sample(to_prometheus_text(snapshot), name, "0"));
  snapshot.kills[{"ns", "p", "a", "container"}] = 2;
  EXPECT_TRUE(has_sample(to_prometheus_text(snapshot), name, "2"));
}

TEST(PrometheusText, containers_known_values_are_shown_and_unknown_ones_absent) {
  MetricsSnapshot snapshot;
  snapshot.containers.push_back(make_container("a"));
  snapshot.containers[0].usage_bytes = 256ull << 30;
  snapshot.containers[0].growth_bytes_per_second = -1.5;
  snapshot.containers[0].reclaim_zero_yield_calls = 4;
  const std::string text = to_prometheus_text(snapshot);
  const std::string labels = labels_of("ns", "p", "a") + "}";
  EXPECT_TRUE(has_sample(text, "oomwitness_container_memory_usage_bytes" + labels, "274877906944"));
  EXPECT_TRUE(has_sample(text, "oomwitness_container_memory_growth_bytes_per_second" + labels, "-1.5"));
  EXPECT_TRUE(has_sample(text, "oomwitness_container_reclaim_zero_yield_calls_total" + labels, "4"));
  EXPECT_THAT(text, Not(HasSubstr("oomwitness_container_memory_limit_bytes{")));
}

TEST(PrometheusText, histogram_counts_are_cumulative_and_end_in_infinity) {
  MetricsSnapshot snapshot;
  auto& histogram = snapshot.captures.lead_seconds;
  histogram.observe(0.001);  // on a bound: counts below it
  histogram.observe(7);
  histogram.observe(1e6);
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_TRUE(has_sample(text, R"(oomwitness_capture_lead_seconds_bucket{le="0.001"})", "1"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_capture_lead_seconds_bucket{le="5"})", "1"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_capture_lead_seconds_bucket{le="10"})", "2"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_capture_lead_seconds_bucket{le="+Inf"})", "3"));
  EXPECT_TRUE(has_sample(text, "oomwitness_capture_lead_seconds_count", "3"));
  EXPECT_TRUE(has_sample(text, "oomwitness_capture_lead_seconds_sum", "1000007.001"));
}

TEST(PrometheusText, programs_and_rungs_are_labelled) {
  MetricsSnapshot snapshot;
  snapshot.program_runs["on_rss_stat"] = 9;
  snapshot.program_run_seconds["on_rss_stat"] = 0.25;
  snapshot.feature_rung["oom_kill"] = "tp_btf";
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_TRUE(has_sample(text, R"(oomwitness_bpf_program_runs_total{program="on_rss_stat"})", "9"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_bpf_program_run_seconds_total{program="on_rss_stat"})", "0.25"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_feature_rung{feature="oom_kill",rung="tp_btf"})", "1"));
}

TEST(PrometheusText, build_info_has_the_version) {
  EXPECT_THAT(to_prometheus_text({}), HasSubstr("oomwitness_build_info{version=\"" + std::string(kVersion) + "\""));
}

// Every label that some way of scraping puts on its targets is free.
TEST(PrometheusText, each_sample_names_its_node_and_no_label_is_one_of_the_target) {
  MetricsSnapshot snapshot;
  snapshot.node = "n\"1";
  snapshot.containers = {make_container("app")};
  snapshot.pods = {{"ns", "p"}};
  snapshot.process_memory.emplace().processes = {{"ns", "p", "app", "x", {42, 7}, 1, 2}};
  const std::string text = to_prometheus_text(snapshot);
  for (const std::string& series : series_in(text)) EXPECT_THAT(series, HasSubstr(R"({k8s_node_name="n\"1")"));
  for (const char* label :
       {"job", "instance", "namespace", "pod", "container", "node", "endpoint", "cluster", "service"}) {
    EXPECT_THAT(text, Not(ContainsRegex("[{,]" + std::string(label) + "=")));
  }
  EXPECT_TRUE(has_sample(text, R"(oomwitness_tracked_cgroups{k8s_node_name="n\"1"})", "0"));
}

TEST(PrometheusText, hostile_names_neither_break_lines_nor_forge_series) {
  MetricsSnapshot snapshot;
  const std::string forged = "x\"} 1\noomwitness_oom_kills_total 99\n";
  snapshot.kills[{"", "", forged, "container"}] = 1;
  snapshot.kills[{"", "", std::string("\xff\0\\", 3), "container"}] = 2;
  const std::string text = to_prometheus_text(snapshot);
  EXPECT_FALSE(has_sample(text, "oomwitness_oom_kills_total", "99"));
  EXPECT_EQ(text, to_valid_utf8(text));
  EXPECT_EQ(text.find('\0'), std::string::npos);
}

TEST(PrometheusText, no_series_appears_twice_whatever_the_names) {
  MetricsSnapshot snapshot;
  for (const char* name : {"same", "same", "\xff", "\xfe"}) snapshot.containers.push_back(make_container(name));
  for (ContainerMetrics& container : snapshot.containers) container.usage_bytes = 1;
  const auto series = series_in(to_prometheus_text(snapshot));
  EXPECT_EQ(std::set<std::string>(series.begin(), series.end()).size(), series.size());
}

TEST(PrometheusText, processes_are_shown_where_they_are_asked_for_and_whatever_their_names) {
  MetricsSnapshot snapshot;
  EXPECT_THAT(to_prometheus_text(snapshot), Not(HasSubstr("process_memory")));
  ProcessMemoryMetrics& metrics = snapshot.process_memory.emplace();
  metrics.processes = {{"ns", "p", "app", "x\"}\n", {42, 7}, 4096, 8192}, {"ns", "p", "app", "y", {43, 7}, 1, 2}};
  metrics.processes_left_out = 3;
  const std::string text = to_prometheus_text(snapshot);
  const std::string labels = labels_of("ns", "p", "app") + R"(,process_pid="43",process_executable_name="y"})";
  EXPECT_TRUE(has_sample(text, "process_memory_usage_bytes" + labels, "1"));
  EXPECT_TRUE(has_sample(text, "process_memory_virtual_bytes" + labels, "2"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_processes_left_out{what="container"})", "0"));
  EXPECT_TRUE(has_sample(text, R"(oomwitness_processes_left_out{what="process"})", "3"));
  EXPECT_THAT(text, HasSubstr("# TYPE process_memory_usage_bytes gauge\n"));
  std::size_t hostile = 0;
  for (const std::string& series : series_in(text)) hostile += series.find("process_pid=\"42\"") != std::string::npos;
  EXPECT_EQ(hostile, 2u);
}

TEST(PrometheusText, trends_are_shown_where_they_are_kept_and_a_leak_only_where_it_was_judged) {
  MetricsSnapshot snapshot;
  ContainerMetrics leaky, calm, unknown;
  leaky.container = "leaky";
  leaky.suspected_leak = true;
  calm.container = "calm";
  calm.suspected_leak = false;
  unknown.container = "unknown";
  snapshot.containers = {leaky, calm, unknown};
  EXPECT_THAT(to_prometheus_text(snapshot), Not(HasSubstr("trend")));
  snapshot.trend.emplace();
  snapshot.trend->readings["ok"] = 7;
  snapshot.trend->bytes = 4096;
  snapshot.trend->brought_forward = 3;
  snapshot.trend->contents_cpu_seconds = 0.25;
  const std::string text = to_prometheus_text(snapshot);
  const std::string name =
      R"(oomwitness_container_suspected_leak{k8s_namespace_name="",k8s_pod_name="",k8s_container_name=)";
  EXPECT_TRUE(has_sample(text, name + "\"leaky\"}", "1"));
  EXPECT_TRUE(has_sample(text, name + "\"calm\"}", "0"));
  EXPECT_THAT(text, Not(HasSubstr(name + "\"unknown\"}")));
  EXPECT_TRUE(has_sample(text, "oomwitness_trend_readings_total{result=\"ok\"}", "7"));
  EXPECT_TRUE(has_sample(text, "oomwitness_trend_memory_bytes", "4096"));
  EXPECT_TRUE(has_sample(text, "oomwitness_trend_cpu_seconds_total{of=\"heaps\"}", "0"));
  EXPECT_TRUE(has_sample(text, "oomwitness_trend_cpu_seconds_total{of=\"contents\"}", "0.25"));
  EXPECT_TRUE(has_sample(text, "oomwitness_trend_readings_brought_forward_total", "3"));
  EXPECT_THAT(text, HasSubstr("# TYPE oomwitness_trend_readings_brought_forward_total counter\n"));
}

}  // namespace
}  // namespace oomw
