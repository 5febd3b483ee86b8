// SPDX-License-Identifier: Apache-2.0
#include "facts/operation_profile.h"

#include <gtest/gtest.h>

#include "events/memory_part.h"
#include "facts/contents_pprof.h"
#include "pprof/top.h"
#include "unit/pprof/sample_profile.h"

namespace oomw {
namespace {

std::int64_t cum_of(const pprof::Profile& profile, const std::string& function) {
  for (const pprof::TopRow& row : pprof::top(profile, "inuse_space").rows) {
    if (row.function == function) return row.cum;
  }
  return -1;
}

TEST(OperationProfile, EachStackHasItsOperationAtTheRoot) {
  pprof::Profile profile = pprof::sample_profile();
  profile.functions[0].name = "net/http.HandlerFunc.ServeHTTP";  // was main.main
  const std::int64_t total = pprof::top(profile, "inuse_space").total;
  const pprof::Profile rooted = rooted_by_operation(profile);
  EXPECT_EQ(pprof::top(rooted, "inuse_space").total, total);
  EXPECT_EQ(cum_of(rooted, "endpoint main.serve"), total);
  EXPECT_EQ(cum_of(rooted, "main.leak"), cum_of(profile, "main.leak"));
}

TEST(OperationProfile, StacksWithoutAnOperationStayAsTheyAre) {
  const pprof::Profile profile = pprof::sample_profile();  // all below main.main
  const pprof::Profile rooted = rooted_by_operation(profile);
  EXPECT_EQ(rooted.functions.size(), profile.functions.size());
  EXPECT_EQ(rooted.samples[0].location_ids, profile.samples[0].location_ids);
}

TEST(OperationProfile, SummedEachStackIsItsOperationAlone) {
  pprof::Profile profile = pprof::sample_profile();
  profile.functions[0].name = "net/http.HandlerFunc.ServeHTTP";
  const pprof::Top served = pprof::top(summed_by_operation(profile), "inuse_space");
  ASSERT_EQ(served.rows.size(), 1U);
  EXPECT_EQ(served.rows[0].function, "endpoint main.serve");
  EXPECT_EQ(served.rows[0].flat, served.total);
  const pprof::Top none = pprof::top(summed_by_operation(pprof::sample_profile()), "inuse_space");
  ASSERT_EQ(none.rows.size(), 1U);
  EXPECT_EQ(none.rows[0].function, "(no operation)");
}

TEST(OperationProfile, LabelOfASampleIsItsOperation) {
  pprof::Profile profile = pprof::sample_profile();
  profile.samples[0].labels.push_back({kOperationLabel, "job refill\x1b", 0, ""});
  profile.samples[1].labels.push_back({kOperationLabel, "no kind of operation", 0, ""});
  const pprof::Top top = pprof::top(summed_by_operation(profile), "inuse_space");
  ASSERT_EQ(top.rows.size(), 2U);
  EXPECT_EQ(top.rows[0].function, "job refill\\x1b");
  EXPECT_EQ(top.rows[0].flat, 100);
  EXPECT_EQ(top.rows[1].function, "(no operation)");
}

// By the rules for Go it would be "job main.Session".
TEST(OperationProfile, ContentsOfAProcessHaveNone) {
  HeapAnalysed found;
  found.of = RuntimeKind::kJvm;
  found.parts = {{std::string(memory_part::kJavaHeap), "jvm", 100, ""}};
  found.fillers = {{"type", "main.Session", "", 80, 5, 0.8}};
  const pprof::Top top = pprof::top(summed_by_operation(contents_profile(found, {7})));
  ASSERT_EQ(top.rows.size(), 1U);
  EXPECT_EQ(top.rows[0].function, "(no operation)");
}

TEST(OperationProfile, GroupsAreTheNewRoots) {
  EXPECT_EQ(operation_group_of("endpoint main.report").name, "endpoint main.report");
  EXPECT_EQ(operation_group_of("component receiver/otlp").name, "component receiver/otlp");
  EXPECT_EQ(operation_group_of("main.report").name, "");
}

TEST(OperationProfile, OfARealCollectorTheRootsAreComponents) {
  const pprof::Profile rooted = rooted_by_operation(pprof::fixture_profile(pprof::kCollectorKill));
  bool is_there = false;
  for (const pprof::Function& function : rooted.functions) is_there |= function.name.starts_with("component ");
  EXPECT_TRUE(is_there);
}

}  // namespace
}  // namespace oomw
