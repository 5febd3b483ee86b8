// SPDX-License-Identifier: Apache-2.0
#include "incident/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "correlate/collector_memory.h"
#include "incident/queue_text.h"
#include "report/collector_report.h"
#include "support/builders.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

CollectorSampled reading(std::int64_t second, std::uint64_t slow_queue, std::int32_t pid = 7) {
  CollectorSampled sampled;
  sampled.time = {second * 1'000'000'000};
  sampled.process = {pid, 5};
  sampled.queue_sizes = {{"otlp/backend", slow_queue}, {"otlp/other", 3}};
  sampled.queue_capacities = {{"otlp/backend", 1000}};
  sampled.limiter_accepted = 10;
  sampled.limiter_refused = 0;
  return sampled;
}

IncidentCollector collector_at(std::vector<CollectorSampled> readings, std::int64_t kill_second = 20) {
  return collector_of(readings, {kill_second * 1'000'000'000}, 0).value_or(IncidentCollector{});
}

TEST(Collector, exporter_whose_queue_grew_most_keeps_the_memory) {
  const IncidentCollector collector = collector_at({reading(10, 100), reading(18, 600)});
  const CollectorExporter* keeper = keeper_of(collector);
  ASSERT_NE(keeper, nullptr);
  EXPECT_EQ(keeper->id, "otlp/backend");
  EXPECT_EQ(keeper->growth, 500);
  EXPECT_EQ(keeper->queue_capacity, 1000);
  EXPECT_EQ(collector.lead_seconds, 2);
  EXPECT_EQ(collector.span_seconds, 8);
}

TEST(Collector, queues_that_did_not_grow_keep_nothing) {
  EXPECT_EQ(keeper_of(collector_at({reading(10, 100), reading(18, 90)})), nullptr);
}

TEST(Collector, a_queue_that_its_consumers_take_at_once_keeps_nothing) {
  EXPECT_EQ(keeper_of(collector_at({reading(10, 0), reading(18, 10)})), nullptr);
  EXPECT_NE(keeper_of(collector_at({reading(10, 0), reading(18, 11)})), nullptr);
}

TEST(Collector, one_reading_shows_the_fullest_queue_and_no_growth) {
  const IncidentCollector collector = collector_at({reading(18, 600)});
  const CollectorExporter* keeper = keeper_of(collector);
  ASSERT_NE(keeper, nullptr);
  EXPECT_EQ(keeper->id, "otlp/backend");
  EXPECT_EQ(keeper->growth, std::nullopt);
}

TEST(Collector, without_readings_there_is_none) { EXPECT_FALSE(collector_of({}, {1}, 0)); }

TEST(CollectorMemory, keeps_the_first_and_the_newest_readings_of_a_process) {
  CollectorMemory memory;
  for (int second = 1; second <= 20; ++second) memory.add(reading(second, 1));
  const auto kept = memory.of({7, 5}, {30'000'000'000});
  ASSERT_THAT(kept, SizeIs(CollectorMemory::kMaxReadings));
  EXPECT_EQ(kept.front().time.ns, 1'000'000'000);
  EXPECT_EQ(kept.back().time.ns, 20'000'000'000);
}

TEST(CollectorMemory, knows_no_later_reading_and_no_other_process) {
  CollectorMemory memory;
  memory.add(reading(1, 1));
  memory.add(reading(9, 1));
  EXPECT_THAT(memory.of({7, 5}, {5'000'000'000}), SizeIs(1));
  EXPECT_THAT(memory.of({7, 6}, {50'000'000'000}), IsEmpty());
  EXPECT_THAT(memory.of({7, 0}, {50'000'000'000}), SizeIs(2)) << "start time not known: the pid counts";
}

TEST(CollectorMemory, is_bounded_and_the_one_unheard_of_longest_goes) {
  CollectorMemory memory;
  const auto most = static_cast<std::int32_t>(CollectorMemory::kMaxProcesses);
  for (std::int32_t pid = 1; pid <= most; ++pid) memory.add(reading(pid, 1, pid));
  memory.add(reading(500, 1, 1));
  memory.add(reading(501, 1, most + 1));
  EXPECT_EQ(memory.size(), CollectorMemory::kMaxProcesses);
  EXPECT_THAT(memory.of({1, 5}, {600'000'000'000}), SizeIs(2));
  EXPECT_THAT(memory.of({2, 5}, {600'000'000'000}), IsEmpty());
}

Incident collector_incident() {
  Incident incident = test::sample_incident();
  incident.collector = collector_at({reading(10, 100), reading(18, 600)});
  incident.collector->components = {
      {"receiver", "otlp", "go.opentelemetry.io/collector/receiver/otlpreceiver", 900, 0.9},
      {"processor", "batch", "x", 50, 0.05}};
  incident.collector->components_file = "capture-01-http.pb.gz";
  return incident;
}

TEST(CollectorJson, comes_back_as_it_was_written) {
  const Incident incident = collector_incident();
  const auto read = incident_from_json(to_json(incident));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->collector);
  EXPECT_EQ(read->collector->components, incident.collector->components);
  EXPECT_EQ(read->collector->exporters->size(), 2u);
  EXPECT_EQ(read->collector->exporters->front().growth, 500);
  EXPECT_EQ(read->collector->limiter_refused, 0);
  EXPECT_EQ(read->collector->read_at, incident.collector->read_at);
  EXPECT_EQ(to_json(*read), to_json(incident));
}

TEST(CollectorJson, what_is_not_known_is_null_with_a_note) {
  Incident incident = test::sample_incident();
  incident.collector.emplace();
  const std::string json = to_json(incident);
  EXPECT_THAT(json, HasSubstr("\"components\": null"));
  EXPECT_THAT(json, HasSubstr("\"exporters\": null"));
  EXPECT_THAT(json, HasSubstr("collector.components: "));
  EXPECT_THAT(json, HasSubstr("collector.metrics: "));
  EXPECT_EQ(to_json(incident_from_json(json).value_or(Incident{})), json);
}

TEST(CollectorJson, other_programs_have_no_such_member) {
  EXPECT_THAT(to_json(test::sample_incident()), Not(HasSubstr("\"collector\"")));
}

TEST(CollectorReport, names_who_allocated_and_who_keeps) {
  const std::string text = collector_section(*collector_incident().collector);
  EXPECT_THAT(text, HasSubstr("**Allocated by receiver otlp**: 900 B (90 % of the profile)"));
  EXPECT_THAT(text, HasSubstr("**Kept by exporter otlp/backend**"));
  EXPECT_THAT(text, HasSubstr("grew by 500 in the 8.0 s up to its last reading, to 600 of 1000"));
  EXPECT_THAT(text, HasSubstr("Its memory_limiter refused nothing"));
  EXPECT_THAT(text, HasSubstr("| otlp/backend | 600 | 1000 | 500 |"));
}

// With `sizer: bytes`. Where so many requests might fit, the amount stays a bare number.
TEST(CollectorReport, a_queue_that_must_be_measured_in_bytes_is_printed_with_its_unit) {
  CollectorExporter exporter{"otlp/backend", 48 << 20, 64 << 20, -(12 << 20)};
  EXPECT_EQ(queue_text(exporter, 160 << 20), "48.0 MiB of 64.0 MiB, -12.0 MiB more than at first");
  EXPECT_EQ(queue_text(exporter, std::nullopt), "50331648 of 67108864, -12582912 more than at first");
  exporter = {"otlp/backend", 139, 100'000'000, std::nullopt};
  EXPECT_EQ(queue_text(exporter, 160 << 20), "139 of 100000000");

  IncidentCollector collector = collector_at({reading(10, 1)});
  collector.exporters->front() = {"otlp/backend", 48 << 20, 64 << 20, 12 << 20};
  const std::string text = collector_section(collector, 160 << 20);
  EXPECT_THAT(text, HasSubstr("to 48.0 MiB of 64.0 MiB, and"));
  EXPECT_THAT(text, HasSubstr("| otlp/backend | 48.0 MiB | 64.0 MiB | 12.0 MiB |"));
}

TEST(CollectorReport, hostile_names_are_escaped) {
  IncidentCollector collector = collector_at({reading(10, 1)});
  collector.exporters->front().id = "a|<b>\n# x";
  EXPECT_THAT(collector_section(collector), Not(HasSubstr("<b>")));
  EXPECT_THAT(collector_section(collector), Not(HasSubstr("\n# x")));
}

}  // namespace
}  // namespace oomw
