// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_files.h"

#include <gtest/gtest.h>

#include "events/contents_file.h"
#include "support/builders.h"

namespace oomw {
namespace {

IncidentAnalysis analysis(const char* file) {
  IncidentAnalysis one;
  one.of = "cpython";
  one.files = {{file, "7-analysis.pb.gz"}};
  return one;
}

TEST(IncidentFiles, a_heap_profile_comes_before_what_fills_the_memory) {
  Incident incident = test::sample_incident();
  incident.analyses = {analysis(kContentsBeforeFile), analysis(kContentsFile)};
  EXPECT_EQ(best_profile_file(incident), "capture-02-http.pb.gz");
  EXPECT_EQ(earlier_profile_file(incident, "capture-02-http.pb.gz"), "capture-01-http.pb.gz");
  incident.captures.clear();
  EXPECT_EQ(best_profile_file(incident), kContentsFile);
  EXPECT_EQ(earlier_profile_file(incident, kContentsFile), kContentsBeforeFile);
}

// A Go program whose mappings or C code filled its memory: its heap says nothing of that.
TEST(IncidentFiles, growth_stands_for_a_heap_that_is_little_of_the_memory) {
  Incident incident = test::sample_incident();
  incident.growth.emplace().file = kGrowthFile;
  incident.coverage_ratio = 0.6;
  EXPECT_EQ(best_profile_file(incident), "capture-02-http.pb.gz");
  incident.coverage_ratio = 0.02;
  EXPECT_EQ(best_profile_file(incident), kGrowthFile);
  incident.growth->file.clear();
  EXPECT_EQ(best_profile_file(incident), "capture-02-http.pb.gz");
}

TEST(IncidentFiles, growth_stands_for_an_incident_with_nothing_else) {
  Incident incident = test::bare_incident();
  incident.growth.emplace();
  EXPECT_EQ(best_profile_file(incident), "");
  incident.growth->file = kGrowthFile;
  EXPECT_EQ(best_profile_file(incident), kGrowthFile);
  for (const char* file : {kContentsFile, kHoldersProfile}) {
    incident.analyses = {analysis(file)};
    EXPECT_EQ(best_profile_file(incident), file);
  }
}

TEST(IncidentFiles, without_a_profile_there_is_none_and_nothing_to_compare) {
  Incident incident = test::bare_incident();
  EXPECT_EQ(best_profile_file(incident), "");
  EXPECT_EQ(earlier_profile_file(incident, ""), "");
  incident.analyses = {analysis(kContentsFile)};
  EXPECT_EQ(earlier_profile_file(incident, kContentsFile), "");
  EXPECT_EQ(earlier_profile_file(incident, "growth.pb.gz"), "");
}

}  // namespace
}  // namespace oomw
