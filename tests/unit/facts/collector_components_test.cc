// SPDX-License-Identifier: Apache-2.0
#include "facts/collector_components.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "facts/component_group.h"
#include "unit/pprof/sample_profile.h"

namespace oomw {
namespace {

using pprof::profile_of_stacks;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string named(std::string_view function) {
  const auto component = component_of_function(function);
  return component ? component->kind + " " + component->id + " " + component->module : "";
}

TEST(CollectorComponents, functions_of_the_core_and_of_contrib_are_named_by_their_package) {
  EXPECT_EQ(named("go.opentelemetry.io/collector/receiver/otlpreceiver.handleTraces"),
            "receiver otlp go.opentelemetry.io/collector/receiver/otlpreceiver");
  EXPECT_EQ(named("go.opentelemetry.io/collector/receiver/otlpreceiver/internal/trace.(*Receiver).Export"),
            "receiver otlp go.opentelemetry.io/collector/receiver/otlpreceiver");
  EXPECT_EQ(named("go.opentelemetry.io/collector/processor/batchprocessor.(*shard[...]).processItem"),
            "processor batch go.opentelemetry.io/collector/processor/batchprocessor");
  EXPECT_EQ(named("github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor.f.func1"),
            "processor tailsampling "
            "github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor");
  EXPECT_EQ(named("go.opentelemetry.io/collector/exporter/exporterhelper/internal/queue.(*memoryQueue[...]).Offer"),
            "exporter exporterhelper go.opentelemetry.io/collector/exporter/exporterhelper");
}

TEST(CollectorComponents, other_distributions_count_where_they_name_packages_alike) {
  EXPECT_EQ(named("example.org/otel/connector/spanmetricsconnector.(*c).Export"),
            "connector spanmetrics example.org/otel/connector/spanmetricsconnector");
  EXPECT_EQ(named("example.org/shop/processor/cart.Run"), "");
  EXPECT_EQ(named("main.receiver"), "");
}

TEST(CollectorComponents, grouped_extensions_are_named_by_the_inner_package) {
  EXPECT_EQ(named("github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage.open"),
            "extension filestorage "
            "github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage");
}

TEST(CollectorComponents, type_parameters_name_no_component) {
  EXPECT_EQ(named("sync.(*Pool[go.opentelemetry.io/collector/receiver/otlpreceiver.T]).Get"), "");
}

TEST(CollectorComponents, otlp_over_grpc_is_the_receivers_before_it_is_called) {
  const std::string otlp = "receiver otlp go.opentelemetry.io/collector/receiver/otlpreceiver";
  EXPECT_EQ(named("go.opentelemetry.io/collector/pdata/internal/otelgrpc.traceServiceExportHandler"), otlp);
  EXPECT_EQ(named("go.opentelemetry.io/collector/pdata/internal/data/protogen/collector/logs/"
                  "v1._LogsService_Export_Handler"),
            otlp);
  EXPECT_EQ(named("go.opentelemetry.io/collector/pdata/internal/otelgrpc.(*traceServiceClient).Export"), "");
}

TEST(CollectorComponents, hostile_names_end_nowhere) {
  for (const char* name : {"", "/", "receiver/", "receiver//", "a/receiver", "receiver/xreceiver", "[", "./.", "//."}) {
    (void)component_of_function(name);
  }
  EXPECT_EQ(named("go.opentelemetry.io/collector/receiver/"), "");
}

const std::string kReceiver = "go.opentelemetry.io/collector/receiver/otlpreceiver.handleTraces";
const std::string kBatch = "go.opentelemetry.io/collector/processor/batchprocessor.add";
const std::string kProcessorHelper = "go.opentelemetry.io/collector/processor/processorhelper.f";
const std::string kExporterHelper = "go.opentelemetry.io/collector/exporter/exporterhelper/internal/queue.f";

TEST(CollectorComponents, innermost_component_of_each_stack_takes_its_bytes) {
  const auto components =
      collector_components_of(profile_of_stacks({{{"json.Read", kReceiver, "net/http.serve"}, 600},
                                                 {{"append", kBatch, kProcessorHelper, kReceiver}, 300},
                                                 {{"main.main"}, 100}}));
  ASSERT_THAT(components, SizeIs(2));
  EXPECT_EQ(components[0].id, "otlp");
  EXPECT_EQ(components[0].held_bytes, 600);
  EXPECT_DOUBLE_EQ(components[0].ratio, 0.6);
  EXPECT_EQ(components[1].id, "batch");
  EXPECT_EQ(components[1].held_bytes, 300);
}

TEST(CollectorComponents, helper_counts_only_where_nothing_better_is_on_the_stack) {
  const auto components =
      collector_components_of(profile_of_stacks({{{kProcessorHelper, kReceiver}, 50}, {{kExporterHelper}, 20}}));
  ASSERT_THAT(components, SizeIs(2));
  EXPECT_EQ(components[0].kind + " " + components[0].id, "receiver otlp");
  EXPECT_EQ(components[1].kind + " " + components[1].id, "exporter exporterhelper");
}

TEST(CollectorComponents, program_that_is_no_collector_has_none) {
  EXPECT_THAT(collector_components_of(profile_of_stacks({{{"main.leak", "main.main"}, 100}})), IsEmpty());
  EXPECT_THAT(collector_components_of(pprof::Profile{}), IsEmpty());
}

TEST(CollectorComponents, negative_values_and_unknown_locations_are_passed_over) {
  pprof::Profile profile = profile_of_stacks({{{kReceiver}, -5}, {{kReceiver}, 7}});
  profile.samples[1].location_ids.insert(profile.samples[1].location_ids.begin(), 999);
  const auto components = collector_components_of(profile);
  ASSERT_THAT(components, SizeIs(1));
  EXPECT_EQ(components[0].held_bytes, 7);
}

TEST(ComponentGroup, a_component_is_named_by_kind_and_type_and_a_helper_is_marked) {
  const auto otlp = component_group_of("go.opentelemetry.io/collector/receiver/otlpreceiver.(*otlpReceiver).Start");
  EXPECT_EQ(otlp.name, "receiver/otlp");
  EXPECT_FALSE(otlp.is_helper);
  EXPECT_TRUE(component_group_of("go.opentelemetry.io/collector/exporter/exporterhelper.NewTraces").is_helper);
  EXPECT_EQ(component_group_of("net/http.(*conn).serve").name, "");
}

}  // namespace
}  // namespace oomw
