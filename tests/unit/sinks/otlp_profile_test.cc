// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_profile.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "base/text.h"

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

// The elements of each table, undecoded.
std::map<unsigned, std::vector<std::string>> tables_of(const std::string& dictionary) {
  std::map<unsigned, std::vector<std::string>> tables;
  protozero::pbf_reader reader(dictionary);
  while (reader.next()) {
    const unsigned table = reader.tag();
    tables[table].push_back(reader.get_string());
  }
  return tables;
}

std::vector<std::int32_t> stack_of(const std::string& message) {
  std::vector<std::int32_t> indices;
  protozero::pbf_reader reader(message);
  while (reader.next(1)) {
    const auto range = reader.get_packed_int32();
    indices.assign(range.begin(), range.end());
  }
  return indices;
}

// Value by stack.
std::map<std::int32_t, std::int64_t> samples_of(const std::string& profile) {
  std::map<std::int32_t, std::int64_t> samples;
  protozero::pbf_reader reader(profile);
  while (reader.next(2)) {
    protozero::pbf_reader sample = reader.get_message();
    std::int32_t stack = 0;
    while (sample.next()) {
      if (sample.tag() == 1) {
        stack = sample.get_int32();
      } else {
        const auto values = sample.get_packed_int64();
        samples[stack] += *values.begin();
      }
    }
  }
  return samples;
}

pprof::Profile heap() {
  pprof::Profile profile;
  profile.sample_types = {{"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  profile.functions = {{11, "main.leak", "", "main.go", 0}, {12, "main.main", "", "", 0}};
  profile.locations = {{21, 0, 0, {{11, 7}}}, {22, 0, 0, {{12, 3}}}};
  profile.samples = {{{21, 22}, {1, 100}, {}}, {{22}, {2, 30}, {}}, {{21, 22}, {3, 5}, {}}, {{22, 22}, {9, 0}, {}}};
  return profile;
}

TEST(OtlpProfileOf, bytes_in_use_by_stack_and_tables_that_begin_with_a_zero_value) {
  const OtlpProfile made = otlp_profile_of(heap());
  auto tables = tables_of(made.dictionary);
  for (unsigned table = 1; table <= 7; ++table) EXPECT_EQ(tables[table].at(0), "") << table;
  EXPECT_EQ(tables[2].size(), 3u);  // locations
  EXPECT_EQ(tables[3].size(), 3u);  // functions
  EXPECT_THAT(tables[5], testing::IsSupersetOf({"main.leak", "main.go", "main.main", "inuse_space", "bytes"}));
  ASSERT_EQ(tables[7].size(), 3u);  // stacks
  EXPECT_THAT(stack_of(tables[7][1]), ElementsAre(1, 2));
  EXPECT_THAT(stack_of(tables[7][2]), ElementsAre(2));
  EXPECT_THAT(samples_of(made.profile), UnorderedElementsAre(Pair(1, 105), Pair(2, 30)));
}

TEST(OtlpProfileOf, names_that_are_no_text_and_places_that_are_not_there_do_no_harm) {
  pprof::Profile profile = heap();
  profile.functions[0].name = "\xff\xfe";
  profile.samples = {{{99, 21}, {1, 1}, {}}, {{99}, {1, 2}, {}}, {{}, {}, {}}};
  profile.locations[0].lines = {{77, 1}};
  const OtlpProfile made = otlp_profile_of(profile);
  auto tables = tables_of(made.dictionary);
  EXPECT_THAT(stack_of(tables[7].at(1)), ElementsAre(1));
  EXPECT_THAT(samples_of(made.profile), UnorderedElementsAre(Pair(0, 2), Pair(1, 1)));
  for (const std::string& text : tables[5]) EXPECT_EQ(text, to_valid_utf8(text));
  EXPECT_EQ(otlp_profile_of({}).profile, "");
}

TEST(OtlpProfileRequest, has_the_id_that_the_log_record_names) {
  const std::string request = otlp_profile_request({}, "", "", {5}, "an-id");
  protozero::pbf_reader reader(request);
  ASSERT_TRUE(reader.next(1));
  protozero::pbf_reader resource = reader.get_message();
  ASSERT_TRUE(resource.next(2));
  protozero::pbf_reader scope = resource.get_message();
  ASSERT_TRUE(scope.next(2));
  protozero::pbf_reader profile = scope.get_message();
  ASSERT_TRUE(profile.next(3));
  EXPECT_EQ(profile.get_fixed64(), 5u);
  ASSERT_TRUE(profile.next(7));
  const std::string id = profile.get_string();
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(otlp_profile_id("an-id").size(), 32u);
  EXPECT_NE(otlp_profile_id("an-id"), otlp_profile_id("another"));
}

}  // namespace
}  // namespace oomw
