// SPDX-License-Identifier: Apache-2.0
#include "facts/profile_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/codec.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One stack of one function, 100 bytes in 2 objects.
pprof::Profile heap_of(const std::string& function, const std::string& file) {
  pprof::Profile profile;
  profile.sample_types = {
      {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  profile.functions = {{1, function, function, file, 0}};
  profile.locations = {{1, 0, 1, {{1, 1}}}};
  profile.samples = {{{1}, {3, 150, 2, 100}, {}}};
  return profile;
}

const std::string kOtlpFunction = "go.opentelemetry.io/collector/receiver/otlpreceiver.handleTraces";

TEST(ProfileFacts, a_go_profile_names_its_runtime_its_figures_and_its_components) {
  const auto facts = facts_of_profile(pprof::write(heap_of(kOtlpFunction, "/src/otlp.go")));
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts->inuse_bytes, 100u);
  EXPECT_EQ(facts->sample_count, 1u);
  EXPECT_EQ(facts->of, RuntimeKind::kGo);
  ASSERT_THAT(facts->components, SizeIs(1));
  EXPECT_EQ(facts->components[0].id, "otlp");
  EXPECT_EQ(facts->components[0].held_bytes, 100u);
}

TEST(ProfileFacts, a_profile_of_another_runtime_has_no_components_whatever_its_names) {
  const auto facts = facts_of_profile(pprof::write(heap_of(kOtlpFunction, "/src/malloc.cc")));
  ASSERT_TRUE(facts.has_value());
  EXPECT_EQ(facts->of, std::nullopt);
  EXPECT_THAT(facts->components, IsEmpty());
}

TEST(ProfileFacts, what_is_not_a_heap_profile_is_refused_with_its_types) {
  pprof::Profile cpu = heap_of("main.main", "/src/main.go");
  cpu.sample_types = {{"samples", "count"}, {"cpu", "nanoseconds"}, {"a", "b"}, {"c", "d"}};
  const auto facts = facts_of_profile(pprof::write(cpu));
  ASSERT_FALSE(facts.has_value());
  EXPECT_THAT(facts.error().message, HasSubstr("samples, cpu"));
}

}  // namespace
}  // namespace oomw
