// SPDX-License-Identifier: Apache-2.0
#include "captures/collector_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "captures/metrics_text.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for_each_metric(text, [&](const MetricSample& sample) { names.emplace_back(sample.name); });
  return names;
}

CollectorSampled figures(std::string_view text) { return collector_figures_of(text).value_or(CollectorSampled{}); }

TEST(MetricsText, well_formed_lines_are_samples_and_others_are_passed_over) {
  EXPECT_THAT(names_in("# HELP a b\n# TYPE a gauge\na 1\r\nb{} 2\nc{x=\"y\"} 3 1700000000000\n"
                       "\n{x=\"y\"} 4\nd{x=\"y 5\ne{x=y} 6\nf{x=\"y\"}\ng x\nh 7z\ni -1e+06\nj +Inf\nk NaN"),
              ElementsAre("a", "b", "c", "i", "j", "k"));
}

TEST(MetricsText, labels_are_unescaped) {
  for_each_metric(R"(a{one="x\"\\\n,}",two="",} 2.5)", [](const MetricSample& sample) {
    ASSERT_NE(sample.label("one"), nullptr);
    EXPECT_EQ(*sample.label("one"), "x\"\\\n,}");
    EXPECT_EQ(*sample.label("two"), "");
    EXPECT_EQ(sample.label("three"), nullptr);
    EXPECT_EQ(sample.value, 2.5);
  });
}

TEST(MetricsText, lines_and_label_sets_beyond_the_bounds_are_passed_over) {
  std::string labels;
  for (std::size_t i = 0; i <= kMaxMetricLabels; ++i) labels += "l" + std::to_string(i) + "=\"v\",";
  EXPECT_THAT(names_in("a{" + labels + "} 1\nb{x=\"" + std::string(kMaxMetricLine, 'v') + "\"} 1\nc 1"),
              ElementsAre("c"));
}

// As the Collector 0.152 serves it, shortened.
constexpr const char* kReading = R"(# TYPE otelcol_exporter_queue_size gauge
otelcol_exporter_queue_capacity{data_type="traces",exporter="otlp/backend"} 100000
otelcol_exporter_queue_size{data_type="traces",exporter="otlp/backend"} 4.2e+01
otelcol_exporter_queue_size{data_type="logs",exporter="otlp/backend"} 8
otelcol_exporter_queue_size{data_type="traces",exporter="debug"} 0
otelcol_processor_accepted_spans{processor="memory_limiter"} 4000
otelcol_processor_refused_spans{processor="memory_limiter/strict"} 20
otelcol_processor_refused_spans{processor="other"} 7
otelcol_receiver_refused_spans{receiver="otlp",transport="http"} 5
otelcol_receiver_refused_log_records{receiver="otlp",transport="grpc"} 6
otelcol_process_memory_rss 4.0685568e+07
)";

TEST(CollectorMetrics, queues_limiter_and_receivers_are_read) {
  const CollectorSampled reading = figures(kReading);
  EXPECT_THAT(reading.queue_sizes, ElementsAre(Pair("debug", 0), Pair("otlp/backend", 50)));
  EXPECT_THAT(reading.queue_capacities, ElementsAre(Pair("otlp/backend", 100'000)));
  EXPECT_THAT(reading.receiver_refused, ElementsAre(Pair("otlp", 11)));
  EXPECT_EQ(reading.limiter_accepted, 4000);
  EXPECT_EQ(reading.limiter_refused, 20);
}

TEST(CollectorMetrics, names_of_other_versions_and_suffixes_count) {
  const CollectorSampled reading = figures(
      "otelcol_exporter_queue_size_batches{exporter=\"a\"} 1\n"
      "otelcol_processor_memory_limiter_accepted_spans_total 2\n"
      "otelcol_processor_memory_limiter_refused_metric_points_total 3\n"
      "otelcol_receiver_refused_metric_points_total{receiver=\"b\"} 4\n");
  EXPECT_THAT(reading.queue_sizes, ElementsAre(Pair("a", 1)));
  EXPECT_EQ(reading.limiter_accepted, 2);
  EXPECT_EQ(reading.limiter_refused, 3);
  EXPECT_THAT(reading.receiver_refused, ElementsAre(Pair("b", 4)));
}

TEST(CollectorMetrics, limiter_that_refused_nothing_says_zero_and_none_says_nothing) {
  EXPECT_EQ(figures("otelcol_processor_accepted_spans{processor=\"memory_limiter\"} 1").limiter_refused, 0);
  EXPECT_EQ(figures("otelcol_processor_accepted_spans{processor=\"batch\"} 1").limiter_refused, std::nullopt);
}

TEST(CollectorMetrics, text_of_others_is_no_collectors) {
  EXPECT_FALSE(collector_figures_of("go_goroutines 7\n"));
  EXPECT_FALSE(collector_figures_of("<html>otelcol_exporter_queue_size</html>"));
  EXPECT_FALSE(collector_figures_of(""));
}

TEST(CollectorMetrics, amounts_that_cannot_be_are_left_out) {
  EXPECT_THAT(figures("otelcol_exporter_queue_size{exporter=\"a\"} NaN\n"
                      "otelcol_exporter_queue_size{exporter=\"b\"} -1\n"
                      "otelcol_exporter_queue_size{exporter=\"c\"} +Inf\n")
                  .queue_sizes,
              IsEmpty());
}

TEST(CollectorMetrics, cpu_time_is_that_of_one_process) {
  EXPECT_EQ(collector_cpu_seconds("otelcol_process_cpu_seconds_total{a=\"b\"} 12.5\n"), 12.5);
  EXPECT_EQ(collector_cpu_seconds("otelcol_process_cpu_seconds 1\notelcol_process_cpu_seconds{job=\"x\"} 1\n"),
            std::nullopt);
  EXPECT_EQ(collector_cpu_seconds("process_cpu_seconds_total 1\n"), std::nullopt);
}

TEST(CollectorMetrics, names_are_bounded_in_number_and_length_and_harmless_to_print) {
  std::string text = "otelcol_exporter_queue_size{exporter=\"" + std::string(kMaxCollectorIdBytes + 1, 'x') + "\"} 1\n";
  text += "otelcol_exporter_queue_size{exporter=\"\x1b[31m\"} 1\n";
  for (int i = 0; i < 100; ++i) text += "otelcol_exporter_queue_size{exporter=\"e" + std::to_string(i) + "\"} 1\n";
  const CollectorSampled reading = figures(text);
  EXPECT_THAT(reading.queue_sizes, SizeIs(kMaxCollectorIds));
  for (const auto& [id, size] : reading.queue_sizes) EXPECT_EQ(id.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace oomw
